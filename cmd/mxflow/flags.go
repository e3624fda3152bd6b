package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/plans/load"
)

// varFlag adds --var name=value and --var-file to a subcommand, repeatable, in command
// line order: the last value of a variable wins.
func varFlag(c *cobra.Command, into *[]load.Given) {
	c.Flags().Func("var", "set a variable of the plan, as `name=value` (repeatable)", func(text string) error {
		if name, _, ok := strings.Cut(text, "="); !ok || name == "" {
			return errors.New("write name=value")
		}
		*into = append(*into, load.Given{Var: text})
		return nil
	})
	c.Flags().Func("var-file", "set variables from a `file` of lines name = value (repeatable)", func(path string) error {
		*into = append(*into, load.Given{File: path})
		return nil
	})
}

// suiteFlag adds --suite name to a subcommand.
func suiteFlag(c *cobra.Command, into *string) {
	c.Flags().StringVar(into, "suite", "", "send the workloads of this suite instead of those that benchmarks name")
}
