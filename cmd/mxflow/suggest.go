package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mxflow/mxflow/internal/shell"
	"github.com/mxflow/mxflow/plans/load"
)

// carried are the flags that say where the record is, what the plan is given and what is
// measured: a command to run next has those that the running one has.
var carried = []string{"state", "var", "var-file", "suite", "repo", "target", "rerun", "reuse", "sealed", "key"}

// suggest is a command line to run next, which works when it is pasted into the same shell: the
// words of a command, and what the running one was given that it takes too, the plan last. One that
// reads a record takes no variables: those of its newest run stand for them.
func (a *app) suggest(words ...string) string {
	line := append([]string{"mxflow"}, words...)
	next, _, err := a.running.Root().Find(words)
	if err != nil {
		panic(err) // of a command that there is not
	}
	own := a.running.Name() == "ab" || a.running.Name() == "bisect" // whose record is none of the plan's
	line = append(line, given(a.running.Flags(), func(name string) bool {
		if name == "state" && own || name == "key" && !a.running.Flags().Changed("sealed") {
			// else it is that of a signer
			return false
		}
		return slices.Contains(carried, name) && next.Flag(name) != nil && !slices.Contains(words, "--"+name)
	})...)
	if next.Flag("var") != nil && a.running.Flag("var") == nil {
		line = append(line, a.inputs...)
	}
	if plan := planAt(a.running); ofRecord(next) && plan >= 0 && plan < a.running.Flags().NArg() {
		line = append(line, a.running.Flags().Arg(plan))
	}
	for i := range line {
		line[i] = a.secrets.Text(line[i])
	}
	return shell.Line(line...)
}

// planAt is which argument of a command is the plan; -1 if none is.
func planAt(c *cobra.Command) int {
	return slices.IndexFunc(strings.Fields(c.Use)[1:], func(word string) bool { return strings.Contains(word, "PLAN") })
}

// given are the flags of a command line, of those to keep, as its words.
func given(flags *pflag.FlagSet, keep func(name string) bool) (words []string) {
	variables := false
	flags.Visit(func(f *pflag.Flag) {
		list, many := f.Value.(pflag.SliceValue)
		from, variable := f.Value.(variableFlag)
		switch {
		case !keep(f.Name), variable && variables:
		case variable: // of both flags, in their order: the last value of a variable wins
			variables = true
			for _, g := range *from.into {
				words = append(words, g.Words()...)
			}
		case many:
			for _, value := range list.GetSlice() {
				words = append(words, "--"+f.Name, value)
			}
		case f.Value.Type() == "bool":
			words = append(words, "--"+f.Name+map[string]string{"false": "=false"}[f.Value.String()])
		default:
			words = append(words, "--"+f.Name, f.Value.String())
		}
	})
	return words
}

// variableFlag is --var, or --var-file.
type variableFlag struct {
	into *[]load.Given
	file bool
}

func (v variableFlag) Set(text string) error {
	if v.file {
		*v.into = append(*v.into, load.Given{File: text})
		return nil
	}
	if name, _, ok := strings.Cut(text, "="); !ok || name == "" {
		return errors.New("write NAME=VALUE")
	}
	*v.into = append(*v.into, load.Given{Var: text})
	return nil
}

func (v variableFlag) Type() string   { return "variable" }
func (v variableFlag) String() string { return "" }
