package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/gates/verdict"
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

// groups are the commands as people look for them; those in none are shown under "more".
var groups = []struct{ id, title, commands string }{
	{"start", "Start:", "init validate plan apply ab noise bisect bench"},
	{"read", "Read the results:", "status explain show compare report serve"},
	{"keep", "Keep plan and record:", "fmt waive audit seal"},
	{"more", "More:", ""},
}

func init() { cobra.EnableCommandSorting = false } // they are in the order in which they are learned

// addHelp puts the commands into groups and makes help, and errors about the command line,
// fit a terminal and say what to do.
func addHelp(root *cobra.Command, a *app) {
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, c := range root.Commands() {
			if strings.Contains(" "+g.commands+" ", " "+c.Name()+" ") || g.id == "more" && c.GroupID == "" {
				c.GroupID = g.id
			}
		}
	}
	root.Args, root.RunE = nil, func(c *cobra.Command, _ []string) error { return c.Help() }
	root.SetHelpCommandGroupID("more")
	root.SetCompletionCommandGroupID("more")
	explainArgs(root)
	addCompletions(a, root)
	root.SetUsageFunc(func(c *cobra.Command) error {
		_, err := fmt.Fprint(c.OutOrStderr(), usage(c, min(a.width(), helpColumns)))
		return err
	})
	root.SetHelpFunc(func(c *cobra.Command, _ []string) {
		fmt.Fprintf(c.OutOrStdout(), "%s\n%s", flow(cmp.Or(c.Long, c.Short), min(a.width(), helpColumns)),
			c.UsageString())
	})
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w\nTry: %s --help", explainFlag(c, err), c.CommandPath())
	})
	// Terraform's word for --rerun.
	root.SetGlobalNormalizationFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "replace" {
			name = "rerun"
		}
		return pflag.NormalizedName(name)
	})
}

// onlyGroups reports whether a command does nothing but have subcommands.
func onlyGroups(c *cobra.Command) bool {
	return c.HasSubCommands() && (c.Long == "" || !c.HasParent() || !c.Runnable())
}

// flow wraps the paragraphs of a text; indented lines stay as they are.
func flow(text string, width int) string {
	var b strings.Builder
	for part := range strings.SplitSeq(text, "\n\n") {
		if !strings.Contains("\n"+part, "\n ") {
			part = table.Wrap(part, width)
		}
		b.WriteString(part + "\n\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// usage is how a command is called: examples, subcommands and flags, each in their groups.
func usage(c *cobra.Command, width int) string {
	var b strings.Builder
	line := c.UseLine()
	if onlyGroups(c) {
		line = c.CommandPath() + " COMMAND"
	}
	b.WriteString("Usage: " + line + "\n")
	if c.Example != "" {
		b.WriteString("\nExamples:\n" + c.Example + "\n")
	}
	for _, g := range append(c.Groups(), &cobra.Group{Title: "Commands:"}) {
		title := "\n" + g.Title + "\n"
		for _, sub := range c.Commands() {
			if sub.GroupID == g.ID && sub.IsAvailableCommand() {
				fmt.Fprintf(&b, "%s  %-*s  %s\n", title, c.NamePadding()-1, sub.Name(), sub.Short)
				title = ""
			}
		}
	}
	b.WriteString(flagUsage(c, width))
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n%s COMMAND --help says more about one.\n", c.CommandPath())
	}
	return b.String()
}

// flagGroup is the annotation of a flag with the title that it is listed under.
const flagGroup = "mxflow_group"

// groupFlags lists flags of a command under a title, in the order in which they were declared.
func groupFlags(c *cobra.Command, title string, names ...string) {
	for _, name := range names {
		if err := c.Flags().SetAnnotation(name, flagGroup, []string{title}); err != nil {
			panic(err) // of a command that no test has listed
		}
	}
}

// notWith is the annotation of a flag with those that cannot be given with it.
const notWith = "mxflow_not_with"

func alternatives(c *cobra.Command, name string, others ...string) {
	_ = c.Flags().SetAnnotation(name, notWith, others)
}

// flagUsage lists a command's flags under their groups, those without one last.
func flagUsage(c *cobra.Command, width int) string {
	c.InitDefaultHelpFlag()
	c.LocalFlags() // which makes Flags have those of the parents
	c.Flags().SortFlags = false
	var titles []string
	rows, names := map[string][][2]string{}, 0
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "state" && !ofRecord(c) {
			return
		}
		title := strings.Join(f.Annotations[flagGroup], "")
		if title != "" && !slices.Contains(titles, title) {
			titles = append(titles, title)
		}
		takes, text := placeholder(f)
		name := strings.TrimRight("      --"+f.Name+" "+takes, " ")
		if f.Shorthand != "" {
			name = "  -" + f.Shorthand + ", " + name[len("      "):]
		}
		if d := strings.Trim(f.DefValue, "[]"); d != "" && d != "0" && d != "0s" && d != "false" {
			text += " (default " + d + ")"
		}
		rows[title] = append(rows[title], [2]string{name, text})
		names = max(names, lipgloss.Width(name))
	})
	var b strings.Builder
	for _, t := range append(titles, "") {
		if len(rows[t]) > 0 {
			b.WriteString("\n" + cmp.Or(t, map[bool]string{true: "Flags", false: "Other flags"}[len(titles) == 0]) +
				":\n")
		}
		for _, row := range rows[t] {
			gap := strings.Repeat(" ", names-lipgloss.Width(row[0])+3)
			text := table.Wrap(row[1], max(table.LeastColumn, width-names-3))
			b.WriteString(row[0] + gap + strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", names+3)) + "\n")
		}
	}
	return b.String()
}

// ofRecord reports whether a command reads or writes the record of a plan, and so knows --state.
func ofRecord(c *cobra.Command) bool { return !c.HasParent() || strings.Contains(c.Use, "PLAN") }

// flagTypes are what flags take, in help and in messages, by the types that pflag calls by names
// of its own.
var flagTypes = map[string]struct{ placeholder, takes string }{
	"int": {"N", "a whole number"}, "float64": {"N", "a number"},
	"intSlice":     {"N,…", "whole numbers with commas between them"},
	"float64Slice": {"N,…", "numbers with commas between them"},
	"duration":     {"TIME", "a time such as 30s or 5m"}, "bool": {"", "true or false"},
	"stringToString": {"", "of the form NAME=VALUE"},
}

// placeholder is what a flag takes, in capitals, and its text: a word of the text between
// backquotes, or else what its type takes.
func placeholder(f *pflag.Flag) (takes, text string) {
	takes, text = pflag.UnquoteUsage(f)
	if !strings.Contains(f.Usage, "`") {
		takes = flagTypes[f.Value.Type()].placeholder
	}
	return takes, text
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
		near := lang.Nearest(name, names)
		return fmt.Errorf("unknown flag: %s%s", name,
			verdict.Behind(". Did you mean ", near)+map[bool]string{true: "?"}[near != ""])
	}
	if bare, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		takes, _ := placeholder(bare.GetFlag())
		return fmt.Errorf("--%s has no value: --%[1]s %s", bare.GetFlag().Name, takes)
	}
	invalid, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	takes := flagTypes[invalid.GetFlag().Value.Type()].takes
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
		var both error
		c.Flags().Visit(func(f *pflag.Flag) {
			for _, other := range f.Annotations[notWith] {
				if c.Flags().Changed(other) {
					both = fmt.Errorf("--%s and --%s exclude each other: use one of them", f.Name, other)
				}
			}
		})
		if both != nil || check == nil {
			return both
		}
		switch more := append(slices.Clone(args), "", ""); {
		case check(c, args) == nil:
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
	known := map[string]bool{"state": true, "no-color": true, "help": true, "replace": true}
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
