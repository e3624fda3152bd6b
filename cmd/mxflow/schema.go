package main

import (
	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/steps"
)

func newSchemaCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of YAML plans, for editors",
		Long: `Prints the JSON Schema (2020-12) of YAML plans of this version. An editor with the
YAML language server reads it by the first line of a plan:

  # yaml-language-server: $schema=mxflow.schema.json

References, rules and cycles need the whole plan: mxflow validate checks them.`,
		Example: `  mxflow schema > mxflow.schema.json`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			text, err := load.JSONSchema(steps.Registry())
			if err != nil {
				return err
			}
			_, err = a.document().Write(append(text, '\n'))
			return err
		},
	}
}
