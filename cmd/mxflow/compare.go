package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/report"
)

// compareOptions are the command line of mxflow compare.
type compareOptions struct {
	*app
	format string
}

func newCompareCommand(a *app) *cobra.Command {
	o := &compareOptions{app: a}
	c := &cobra.Command{
		Use:   "compare A B [PLAN]",
		Short: "Compare two runs or features on record",
		Long: `Prints each headline metric of A and B, the change with its 95% interval, p and
the number of launches. A and B are each

  kv_cache, baseline   a feature, or the baseline
  kv_cache@RUN         the same, as that run measured it
  RUN                  a run: its ID, its first characters, or latest
  REF, IMAGE           what an engine was built from or started in

The newest session that launched both is used; without one, the change includes
drift between the sessions. On different machines there is neither interval nor p.
Nothing is decided: a verdict takes a plan, or mxflow ab.`,
		Example: `  mxflow compare baseline kv_cache
  mxflow compare kv_cache@20261120T0 kv_cache@latest plan.hcl --format md`,
		Args: cobra.RangeArgs(2, 3),
		RunE: o.run,
	}
	markdownFlag(c.Flags(), &o.format)
	a.jsonFlag(c.Flags())
	return c
}

func (o *compareOptions) run(_ *cobra.Command, args []string) error {
	if o.format == "" {
		o.fold()
	} else {
		o.file()
	}
	st, err := o.reader(args[2:])
	if err != nil {
		return err
	}
	defer st.Close()
	pairs, err := report.PairsOf(st, args[0], args[1])
	if err != nil {
		return err
	}
	o.show(map[string]any{"pairs": pairs}, func() {
		for i, p := range pairs {
			if i > 0 {
				fmt.Fprintln(o.stdout)
			}
			o.pair(p)
		}
	})
	return nil
}

// pair prints the metrics of two runs or features.
func (o *compareOptions) pair(p report.Pair) {
	// The sessions are in the title: in column heads they would take a terminal's width.
	fmt.Fprintf(o.stdout, "%s\n\n", p.Title())
	old, new := p.Old.Variant, p.New.Variant
	if old == new {
		old, new = p.Old.Session, p.New.Session
	}
	t, notes := report.ComparisonTable(p.Metrics, old, new), []string(nil)
	for _, n := range p.Notes {
		notes = append(notes, report.Inert(verdict.Sentence(n)))
	}
	if o.format != "" {
		fmt.Fprint(o.stdout, t.Markdown())
	} else {
		o.screen().Table(t.Head, t.Rows)
		fmt.Fprintln(o.stdout)
	}
	for _, n := range append(notes, report.ComparisonNotes(p.Metrics)...) {
		fmt.Fprintf(o.stdout, "- %s\n", n)
	}
}
