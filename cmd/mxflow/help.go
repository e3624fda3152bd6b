package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/plans/lang"
)

// helpColumns is how wide help is at most.
const helpColumns = 80

const longHelp = `mxflow decides whether a performance port helps: it starts the engine with and
without it, checks that the new kernel ran and that the answers are still the
model's, measures, and applies your pass/fail rules.

  mxflow ab --a … --b …      is B faster than A? Two commands, no plan
  mxflow init                write a starter plan, then edit it
  mxflow validate plan.hcl   find every mistake before anything starts
  mxflow plan plan.hcl       what would run, in order, and why
  mxflow apply plan.hcl      start the engine, measure, decide, unlock
  mxflow explain FEATURE     why a feature passed or failed
  mxflow report plan.hcl     the results, as Markdown, a page or for CI

PLAN is a file or a folder; without it, the plan of this folder.

Exit status of apply: 0 every gate passed, 1 refused before anything started, 2 a
gate failed or is invalid, 3 inconclusive, 4 the engine failed or could not be
started, or mxflow failed, 130 interrupted.`

func init() {
	cobra.EnableCommandSorting = false // they are in the order in which they are learned
	cobra.AddTemplateFuncs(template.FuncMap{"about": about, "flags": flagUsages, "groups": commandGroups})
}

// helpWidth is how wide a command's help is.
func helpWidth(c *cobra.Command) int {
	return min(helpColumns, table.WidthOf(c.OutOrStdout(), c.ErrOrStderr()))
}

// addHelp makes help, and errors about the command line, fit a terminal and say what to do.
func addHelp(root *cobra.Command, a *app) {
	root.Args, root.RunE = nil, func(c *cobra.Command, _ []string) error { return c.Help() }
	root.SetHelpCommandGroupID("more")
	root.SetCompletionCommandGroupID("more")
	explainArgs(root)
	addCompletions(a, root)
	root.SetUsageTemplate(usageTemplate)
	root.SetHelpTemplate("{{about .}}\n{{.UsageString}}")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w\nTry: %s --help", explainFlag(c, err), c.CommandPath())
	})
}

// onlyGroups reports whether a command does nothing but have subcommands.
func onlyGroups(c *cobra.Command) bool {
	return c.HasSubCommands() && (c.Long == "" || !c.HasParent() || !c.Runnable())
}

// about is what a command says of itself, in paragraphs; indented lines stay as they are.
func about(c *cobra.Command) string {
	var parts []string
	for part := range strings.SplitSeq(cmp.Or(c.Long, c.Short), "\n\n") {
		if !strings.Contains("\n"+part, "\n ") {
			part = table.Wrap(part, helpWidth(c))
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "\n\n") + "\n"
}

// usageTemplate is how a command is called: examples, subcommands and flags, each in their groups.
const usageTemplate = `Usage: {{.UseLine}}{{with .Example}}

Examples:
{{.}}{{end}}{{$all := .Commands}}{{range groups .}}{{$group := .}}

{{.Title}}{{range $all}}{{if and .IsAvailableCommand (eq .GroupID $group.ID)}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}
{{flags .}}{{if .HasAvailableSubCommands}}
{{.CommandPath}} COMMAND --help says more about one.
{{end}}`

// commandGroups are the groups of a command's subcommands; of one without any, what holds all.
func commandGroups(c *cobra.Command) []*cobra.Group {
	if all := c.Groups(); len(all) > 0 || !c.HasAvailableSubCommands() {
		return all
	}
	return []*cobra.Group{{Title: "Commands:"}}
}

// flagGroup is the annotation of a flag with the title that it is listed under, in the help of a
// command with twenty flags.
const flagGroup = "mxflow_group"

// addGroup gives a command flags that help lists under a title, in the order in which add declares them.
func addGroup(c *cobra.Command, title string, add func(*pflag.FlagSet)) {
	group := pflag.NewFlagSet(title, pflag.ContinueOnError)
	group.SortFlags = false
	add(group)
	group.VisitAll(func(f *pflag.Flag) { f.Annotations = map[string][]string{flagGroup: {title}} })
	c.Flags().AddFlagSet(group)
}

// flagUsages lists a command's flags under their groups, those without one last.
func flagUsages(c *cobra.Command) string {
	width := helpWidth(c)
	c.InitDefaultHelpFlag()
	c.LocalFlags() // which makes Flags have those of the parents
	c.Flags().SortFlags = false
	var titles []string
	sets := map[string]*pflag.FlagSet{}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		title := strings.Join(f.Annotations[flagGroup], "")
		if f.Name == "state" && !ofRecord(c) {
			return
		}
		if sets[title] == nil {
			titles, sets[title] = append(titles, title), pflag.NewFlagSet(title, pflag.ContinueOnError)
			sets[title].SortFlags = false
		}
		sets[title].AddFlag(f)
	})
	text, rest := "", "Flags"
	for _, title := range slices.DeleteFunc(titles, func(title string) bool { return title == "" }) {
		text, rest = text+"\n"+title+":\n"+sets[title].FlagUsagesWrapped(width), "Other flags"
	}
	return text + "\n" + rest + ":\n" + sets[""].FlagUsagesWrapped(width)
}

// ofRecord reports whether a command reads or writes the record of a plan, and so knows --state.
func ofRecord(c *cobra.Command) bool { return !c.HasParent() || strings.Contains(c.Use, "PLAN") }

// flagTypes are what flags take, by the types of their values.
var flagTypes = map[string]string{
	"int": "a whole number", "float64": "a number", "duration": "a time such as 30s or 5m", "bool": "true or false",
	"intSlice": "whole numbers with commas between them", "float64Slice": "numbers with commas between them",
	"stringToString": "of the form NAME=VALUE",
}

// explainFlag says what a flag takes instead of how its value was parsed, and which flag an
// unknown one was probably meant to be.
func explainFlag(c *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		name := "--" + unknown.GetSpecifiedName()
		if unknown.GetSpecifiedShortnames() != "" {
			name = "-" + unknown.GetSpecifiedName()
		}
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		return fmt.Errorf("unknown flag: %s.%s", name, lang.DidYouMean(name, names))
	}
	if bare, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		takes, _ := pflag.UnquoteUsage(bare.GetFlag())
		return fmt.Errorf("--%s has no value: --%[1]s %s", bare.GetFlag().Name, takes)
	}
	invalid, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	takes := flagTypes[invalid.GetFlag().Value.Type()]
	if takes == "" { // the command's own words
		return fmt.Errorf("--%s %q: %w", invalid.GetFlag().Name, invalid.GetValue(), errors.Unwrap(err))
	}
	if errors.Is(err, strconv.ErrRange) {
		takes += " that fits 64 bits"
	}
	return fmt.Errorf("--%s %q is not %s", invalid.GetFlag().Name, invalid.GetValue(), takes)
}

// explainArgs makes a wrong number of arguments, or an unknown subcommand, say what is wanted.
func explainArgs(c *cobra.Command) {
	var names []string
	for _, sub := range c.Commands() {
		explainArgs(sub)
		names = append(names, sub.Name())
	}
	check := c.Args
	c.Args = func(c *cobra.Command, args []string) error {
		if len(names) > 0 && len(args) > 0 {
			_, err := os.Stat(args[0]) // a plan may be called anything
			if near := lang.DidYouMean(args[0], names); onlyGroups(c) || near != "" && err != nil {
				of := c.CommandPath()
				return fmt.Errorf("unknown command %q for %q.%s\nTry: %s --help", args[0], of, near, of)
			}
		}
		switch more := append(slices.Clone(args), "", ""); {
		case check == nil, check(c, args) == nil:
			return nil
		case check(c, more[:len(args)+1]) == nil, check(c, more) == nil:
			return fmt.Errorf("an argument is missing\nUsage: %s", c.UseLine())
		}
		return fmt.Errorf("%q is one argument too many\nUsage: %s", args[len(args)-1], c.UseLine())
	}
}

// doubleDashes accepts Terraform's single-dash spellings (-var, -json, -replace) of our own
// flags.
func doubleDashes(root *cobra.Command, args []string) []string {
	known := map[string]bool{"state": true, "no-color": true, "help": true}
	var learn func(*cobra.Command)
	learn = func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) { known[f.Name] = true })
		for _, sub := range c.Commands() {
			learn(sub)
		}
	}
	learn(root)
	out := make([]string, len(args))
	for i, arg := range args {
		if arg == "--" {
			copy(out[i:], args[i:])
			break
		}
		out[i] = arg
		if strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") {
			name, _, _ := strings.Cut(arg[1:], "=")
			if len(name) > 1 && known[name] {
				out[i] = "-" + arg
			}
		}
	}
	return out
}
