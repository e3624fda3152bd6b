package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/plans/load"
)

// jsonFlag gives a subcommand --json.
func (a *app) jsonFlag(c *cobra.Command, what string) {
	c.Flags().BoolVar(&a.json, "json", false, what)
}

// givenFlag collects --var and --var-file in the order of the command line, the
// last one of a variable wins.
type givenFlag struct {
	into *[]load.Given
	file bool
}

func (g *givenFlag) String() string { return "" }

func (g *givenFlag) Type() string {
	if g.file {
		return "file"
	}
	return "name=value"
}

func (g *givenFlag) Set(text string) error {
	if g.file {
		*g.into = append(*g.into, load.Given{File: text})
		return nil
	}
	*g.into = append(*g.into, load.Given{Var: text})
	return nil
}

// checkGiven refuses a --var without a name or a value.
func checkGiven(given []load.Given) error {
	for _, g := range given {
		if name, _, ok := strings.Cut(g.Var, "="); g.File == "" && (!ok || name == "") {
			return fmt.Errorf("--var %s: write name=value", g.Var)
		}
	}
	return nil
}

// varFlag gives a subcommand --var name=value and --var-file, as often as needed.
func varFlag(c *cobra.Command, into *[]load.Given) {
	c.Flags().Var(&givenFlag{into: into}, "var", "set a variable of the plan (repeatable)")
	c.Flags().Var(&givenFlag{into: into, file: true}, "var-file", "set variables from a file of lines name = value (repeatable)")
}

// suiteFlag gives a subcommand --suite name.
func suiteFlag(c *cobra.Command, into *string) {
	c.Flags().StringVar(into, "suite", "", "send the workloads of this suite in place of those that benchmarks name")
}
