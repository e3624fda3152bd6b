package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/runtime/export"
)

func newExportCommand(a *app) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "export [PLAN]",
		Short: "Write every launch in a format that other tools read",
		Long: `Writes the headline numbers of every launch that counts; launches are the replicates.

  csv        a row for each launch, a column for each metric: pandas, spreadsheets,
             Apache Otava (time column "time", the rows of one variant)
  benchstat  the text of Go benchmarks: benchstat -col /variant FILE`,
		Example: "  mxflow export --format csv > launches.csv\n" +
			"  mxflow export --format benchstat plan.hcl > bench.txt && benchstat -col /variant bench.txt",
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			write := export.Formats[format]
			switch {
			case format == "":
				return errors.New("--format is missing: use benchstat or csv")
			case write == nil:
				return fmt.Errorf("--format %s: use benchstat or csv", format)
			}
			st, err := a.reader(args)
			if err != nil {
				return err
			}
			defer st.Close()
			launches, err := export.Launches(st)
			if err != nil {
				return err
			}
			return write(a.stdout, launches)
		},
	}
	c.Flags().StringVar(&format, "format", "", "csv or benchstat (required)")
	return c
}
