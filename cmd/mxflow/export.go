package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/files"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/export"
)

func newExportCommand(a *app) *cobra.Command {
	var format, out, variant string
	c := &cobra.Command{
		Use:   "export [PLAN]",
		Short: "Write every launch in a format that other tools read",
		Long: `Writes the headline numbers of every launch that counts; launches are the replicates.

  csv         a row for each launch, a column for each metric: pandas, spreadsheets,
              Apache Otava (time column "time", one --variant at a time)
  benchstat   the text of Go benchmarks: benchstat -col /variant FILE
  prometheus  OpenMetrics text: the means of each variant's newest session, as gauges
  otel        OTLP JSON, a point for each launch: POST it to a collector at /v1/metrics
  mlflow      a file store in the new folder --out: mlflow ui --backend-store-uri DIR`,
		Example: "  mxflow export --format csv > launches.csv\n" +
			"  mxflow export --format benchstat plan.hcl > bench.txt && benchstat -col /variant bench.txt\n" +
			"  mxflow export --format mlflow --out mlruns",
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			write := export.Formats[format]
			switch {
			case format == "":
				return fmt.Errorf("--format is missing: use %s", verdict.Joined(exportFormats(), "or"))
			case write == nil && format != "mlflow":
				return fmt.Errorf("--format %s: use %s", format, verdict.Joined(exportFormats(), "or"))
			case format == "mlflow" && out == "":
				return errors.New("--format mlflow writes a folder: name a new one with --out")
			}
			st, err := a.reader(args)
			if err != nil {
				return err
			}
			defer st.Close()
			launches, err := export.Launches(st, variant)
			switch {
			case err != nil:
				return err
			case format == "mlflow":
				return export.MLflow(out, launches)
			case out == "":
				return write(a.stdout, launches)
			}
			var text bytes.Buffer
			if err := write(&text, launches); err != nil {
				return err
			}
			return files.WriteOnce("out", out, text.Bytes())
		},
	}
	c.Flags().StringVar(&format, "format", "", "csv, benchstat, prometheus, otel or mlflow (required)")
	c.Flags().StringVar(&variant, "variant", "", "export only this `NAME`: baseline, or a feature")
	c.Flags().StringVar(&out, "out", "", "new file (for mlflow, folder) instead of standard output")
	return c
}

func exportFormats() []string {
	return append(slices.Sorted(maps.Keys(export.Formats)), "mlflow")
}
