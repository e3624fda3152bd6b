package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

func newReportCommand(a *app) *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:     "report [PLAN]",
		Short:   "Write the results as Markdown",
		Long:    "Writes gates, features with their evidence, the accepted stack and every launch as one Markdown page.",
		Example: "  mxflow report plan.hcl > RESULTS.md\n  mxflow report --out docs/RESULTS.md",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			st, err := a.reader(args)
			if err != nil {
				return err
			}
			defer st.Close()
			if a.json && out != "" {
				return fmt.Errorf("--out is for the Markdown page; send --json where you want it with > %s", out)
			}
			if a.json {
				a.printJSON(standingJSON(st))
				return nil
			}
			if out == "" {
				return report.Markdown(a.stdout, st)
			}
			return replaceReport(out, st)
		},
	}
	c.Flags().StringVar(&out, "out", "", "file to write instead of standard output; an older report in it is replaced")
	a.jsonFlag(c, "print as JSON")
	return c
}

// replaceReport writes the page whole or not at all, and only over a page that
// was one of ours: a slip of the hand must not cost somebody their plan.
func replaceReport(out string, st *store.Store) error {
	old, err := os.ReadFile(out)
	switch {
	case err == nil && len(old) > 0 && !bytes.HasPrefix(old, []byte(report.Heading)):
		return fmt.Errorf("%s exists and is no report, so it is not overwritten. Choose another file", out)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the report cannot be written: %w", err)
	}
	var page bytes.Buffer
	if err := report.Markdown(&page, st); err != nil {
		return err
	}
	if err := replaceFile(out, page.Bytes()); err != nil {
		return fmt.Errorf("the report cannot be written: %w", err)
	}
	return nil
}
