package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans/load"
)

// validateOptions are the command line of mxflow validate.
type validateOptions struct {
	*app
	given load.Options
}

func newValidateCommand(a *app) *cobra.Command {
	o := &validateOptions{app: a}
	c := &cobra.Command{
		Use:   "validate [PLAN]",
		Short: "Find every mistake in a plan before anything starts",
		Long: `Checks names, references, cycles and types, and compiles every rule. All mistakes
are reported at once, each with its line and what to do. Nothing is started or
written.`,
		Example: `  mxflow validate plan.hcl
  mxflow validate --var model=small plan.hcl`,
		Args: cobra.MaximumNArgs(1),
		RunE: o.run,
	}
	varFlag(c.Flags(), &o.given.Inputs)
	suiteFlag(c.Flags(), &o.given.Suite)
	a.jsonFlag(c.Flags())
	return c
}

func (o *validateOptions) run(_ *cobra.Command, args []string) error {
	path, err := o.planOf(args)
	if err != nil {
		return err
	}
	loaded, g, err := o.load(path, o.given)
	if err != nil {
		return err
	}
	p, features, rules := loaded.Plan, 0, 0
	for _, ph := range p.Phases {
		features += len(ph.Features)
		for _, f := range ph.Features {
			rules += len(f.Criteria)
		}
		if ph.Gate != nil {
			rules += len(ph.Gate.Rules)
		}
	}
	o.show(map[string]any{
		"valid": true, "diagnostics": loaded.DiagnosticsJSON(), "plan": p.Name, "digest": p.Digest(),
		"phases": len(p.Phases), "features": features, "rules": rules, "nodes": len(g.Nodes),
	}, func() {
		warned := ""
		if n := len(loaded.Diagnostics); n > 0 {
			warned = ", with " + verdict.Count(n, "warning")
		}
		fmt.Fprintf(o.stdout, "%s is valid%s: %s, %s, %s.\n", path, warned,
			verdict.Count(len(p.Phases), "phase"),
			verdict.Count(features, "feature"), verdict.Count(rules, "rule"))
	})
	return nil
}
