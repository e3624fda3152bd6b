package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/lipgloss"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/try"
)

// ofCommand are flags whose meaning depends on the command.
var ofCommand = map[string]bool{
	"format":   true, // the forms that a command has
	"rerun":    true, // in ab, of everything: it has no nodes to name
	"launches": true, // maximum of an ab, or of all sealed applies
}

// TestHelp: the help of every command fits 80 columns, and has all that helps.
func TestHelp(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	var out bytes.Buffer
	a := &app{prints: prints{stdout: &out, stderr: &out}}
	root := newRootCommand(a)
	root.SetOut(&out)
	texts := map[string]string{}
	quoted, named := regexp.MustCompile(`'[^']*'`), regexp.MustCompile(` --([a-z-]+)`)
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		out.Reset()
		try.OK(t, c.Help())
		if own := c.Use == "version" || c.Use == "bench URL"; own == strings.Contains(out.String(), "--state DIR") && (own || ofRecord(c)) {
			t.Errorf("%s: --state is listed where it means nothing, or is not where it does", c.CommandPath())
		}
		if strings.Contains(out.String(), "version COMMAND") {
			t.Errorf("%s has no subcommands", c.CommandPath())
		}
		for line := range strings.Lines(out.String()) {
			if n := lipgloss.Width(strings.TrimRight(line, "\n")); n > 80 {
				t.Errorf("%s: %d columns: %s", c.CommandPath(), n, line)
			}
		}
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: Short is %q", c.CommandPath(), c.Short)
		}
		if c != root && c.Example == "" {
			t.Errorf("%s has no example", c.CommandPath())
		}
		if c.Parent() == root && c.GroupID == "" {
			t.Errorf("%s is in no group", c.CommandPath())
		}
		for line := range strings.Lines(c.Example) {
			own, _, _ := strings.Cut(quoted.ReplaceAllString(line, ""), ">")
			if !strings.HasPrefix(strings.TrimSpace(own), c.CommandPath()+" ") {
				continue // of another command
			}
			for _, flag := range named.FindAllStringSubmatch(own, -1) {
				if c.Flags().Lookup(flag[1]) == nil {
					t.Errorf("%s has no --%s: %s", c.CommandPath(), flag[1], line)
				}
			}
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if takes, _ := placeholder(f); f.Value.Type() != "bool" && (takes == "" || takes != strings.ToUpper(takes)) {
				t.Errorf("%s: --%s %s: what it takes has no name in capitals: give its text a word between backquotes", c.CommandPath(), f.Name, takes)
			}
			switch was, known := texts[f.Name]; {
			case f.Hidden || f.Name == "help" || ofCommand[f.Name] || c.DisableFlagParsing:
			case f.Usage == "":
				t.Errorf("%s: --%s has no text", c.CommandPath(), f.Name)
			case known && was != f.Usage:
				t.Errorf("%s: --%s is %q, elsewhere %q", c.CommandPath(), f.Name, f.Usage, was)
			default:
				texts[f.Name] = f.Usage
			}
		})
		for _, sub := range c.Commands() {
			if !sub.Hidden {
				walk(sub)
			}
		}
	}
	walk(root)
	for _, g := range groups {
		for name := range strings.FieldsSeq(g.commands) {
			if c, _, err := root.Find([]string{name}); err != nil || c.GroupID != g.id {
				t.Errorf("%s is not in group %s: %v", name, g.id, err)
			}
		}
	}
}

// TestMeant: what is nearly a command or a flag is named, and what a flag takes instead of how
// it failed to parse; Terraform's words are taken.
func TestMeant(t *testing.T) {
	for args, want := range map[string]string{
		"aply plan.hcl":                `unknown command "aply" for "mxflow". Did you mean "apply"?`,
		"audit verfy":                  `Did you mean "verify"?`,
		"engine chek":                  `Did you mean "check"?`,
		"waive":                        "an argument is missing\nUsage: mxflow waive GATE [PLAN]",
		"status a b":                   `"b" is one argument too many`,
		"apply --targt x":              "unknown flag: --targt. Did you mean --target?",
		"ab --a x --b y --tg x":        `--tg "x" is not a whole number`,
		"ab --tg 99999999999999999999": `--tg "99999999999999999999" is not a whole number that fits 64 bits`,
		"bench http://x --max-lag 3":   `--max-lag "3" is not a time such as 30s or 5m`,
		"plan --json=perhaps":          `--json "perhaps" is not true or false`,
		"bench http://x --pp a":        `--pp "a" is not whole numbers with commas between them`,
		"bench http://x --rate 1,x":    `--rate "1,x" is not numbers with commas between them`,
		"bench http://x --slo a":       `--slo "a" is not of the form NAME=VALUE`,
		"seal --hours long":            `--hours "long" is not a number`,
		"apply --var a":                `--var "a": write NAME=VALUE`,
		"apply --target":               "--target has no value: --target NODE",
		"apply -q":                     "unknown flag: -q",
		"init --agent --yaml":          "--agent and --yaml exclude each other: use one of them",
		"bisect --dry-run --json":      "--dry-run and --json exclude each other: use one of them",
		"plan -replace x y.hcl":        "y.hcl", // which is not there
		"report --dir x --json":        "--dir and --json are different forms of the report: use one",
		"report --format=gitlab":       "use benchstat, csv, github, html, junit, md or pr",
	} {
		status, out, errs := mxflow(strings.Fields(args)...)
		if status != verdict.ExitUsage || !strings.Contains(out+errs, want) {
			t.Errorf("%s: status %d, %s%s\nwant %q", args, status, out, errs, want)
		}
	}
}
