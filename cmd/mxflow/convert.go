package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/files"
	"github.com/mxflow/mxflow/plans/convert"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/steps"
)

func newConvertCommand(a *app) *cobra.Command {
	var to, out string
	c := &cobra.Command{
		Use:   "convert PLAN",
		Short: "Write a plan in the other syntax: HCL as YAML, YAML as HCL",
		Long: `Rewrites a plan file in the other syntax; both load to the same plan, with the
same digest. It works on the text: expressions are kept and not evaluated, and
files that the plan includes are left alone.

Comments keep their places, except within a list or map, where YAML has no place
for them. Lost are empty lines, the choice between # and //, the quoting style,
and YAML anchors: aliases and merges are written out.`,
		Example: "  mxflow convert plan.hcl > plan.yaml\n  mxflow convert plan.yaml --to hcl --out plan.hcl",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			path := args[0]
			write, other := convert.ToYAML, "yaml"
			if lang.IsYAML(path) {
				write, other = convert.ToHCL, "hcl"
			}
			switch {
			case to != "" && to != "hcl" && to != "yaml":
				return fmt.Errorf("--to %s: use hcl or yaml", to)
			case to != "" && to != other:
				return fmt.Errorf("--to %s: %s is %s already, by its name", to, path, to)
			}
			src, err := files.ReadBounded(path)
			if err != nil {
				return err
			}
			text, problems := write(path, src, steps.Registry())
			if problems != nil {
				_ = problems.WriteDiagnostics(a.stderr, a.width(), colours(a.stderr))
				return errShown
			}
			if out == "" {
				_, err = a.document().Write(text)
				return err
			}
			return files.WriteOnce("out", out, text)
		},
	}
	c.Flags().StringVar(&to, "to", "", "hcl or yaml (default: the other syntax)")
	c.Flags().StringVar(&out, "out", "", "write to this new file")
	return c
}
