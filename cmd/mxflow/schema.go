package main

import (
	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/plans/cases"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/steps"
)

func newSchemaCommand(a *app) *cobra.Command {
	var ofCases bool
	c := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of YAML plans, for editors",
		Long: `Prints a JSON Schema (2020-12) of plans in YAML, with which editors complete and
check them while you write. It is made from what mxflow itself checks plans
against, so it fits this version: print it anew after an update.

What only the whole plan can tell (references, rules, cycles) is for validate.

In VS Code, and wherever the YAML language server runs, name it in the first line
of a plan:

  # yaml-language-server: $schema=mxflow.schema.json`,
		Example: "  mxflow schema > mxflow.schema.json\n  mxflow schema --cases > mxtest.schema.json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			text, err := load.JSONSchema(steps.Registry())
			if ofCases {
				text, err = cases.JSONSchema()
			}
			if err != nil {
				return err
			}
			_, err = a.stdout.Write(append(text, '\n'))
			return err
		},
	}
	c.Flags().BoolVar(&ofCases, "cases", false, "the schema of files of cases in YAML (*.mxtest.yaml) instead")
	return c
}
