package main

import (
	"bytes"
	"cmp"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/lipgloss"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/runtime/report"
)

// TestSingleDashes: Terraform's spelling is taken at every level of commands, and what
// is no flag of ours stays as it is.
func TestSingleDashes(t *testing.T) {
	for _, c := range []struct{ args, want []string }{
		{
			[]string{"apply", "-var", "a=b", "-json", "plan.hcl"},
			[]string{"apply", "--var", "a=b", "--json", "plan.hcl"},
		},
		{
			[]string{"audit", "replay", "-node", "x", "-suite=y"},
			[]string{"audit", "replay", "--node", "x", "--suite=y"},
		},
		{[]string{"apply", "-rerun=gemm", "-target", "x"}, []string{"apply", "--rerun=gemm", "--target", "x"}},
		{[]string{"engine", "check", "-keep-log", "plan.hcl"}, []string{"engine", "check", "--keep-log", "plan.hcl"}},
		{[]string{"audit", "-nodes", "-h"}, []string{"audit", "-nodes", "-h"}},
		{[]string{"apply", "--", "-var"}, []string{"apply", "--", "-var"}},
	} {
		if got := doubleDashes(newRootCommand(&app{}), c.args); !slices.Equal(got, c.want) {
			t.Errorf("%q became %q, want %q", c.args, got, c.want)
		}
	}
}

// TestEndingComesFirst: what decides how mxflow ends by a signal is there before
// anything else of mxflow, or of what is large, has begun.
func TestEndingComesFirst(t *testing.T) {
	_, trace := program(t, "", []string{"GODEBUG=inittrace=1"}, "version")
	var order []string
	for _, m := range regexp.MustCompile(`(?m)^init (\S+) @`).FindAllStringSubmatch(trace, -1) {
		order = append(order, m[1])
	}
	ending := slices.IndexFunc(order, func(name string) bool {
		return strings.HasSuffix(name, "cmd/mxflow/internal/ending")
	})
	signals := slices.Index(order, "os/signal")
	if signals < 0 || ending != signals+1 {
		t.Errorf("its init is number %d of %d and that of os/signal number %d: see the comment of the package",
			ending+1, len(order), signals+1)
	}
}

// The command line that stands in a plan asks for the same plan again.
// What cannot be written as JSON is no success without a word.
func TestUnwritten(t *testing.T) {
	for name, write := range map[string]func(*app, any){
		"a document": func(a *app, v any) { a.printJSON(v) },
		"a line":     func(a *app, v any) { a.printLine(v) },
	} {
		var errs bytes.Buffer
		a := &app{prints: prints{stdout: io.Discard, stderr: &errs}}
		write(a, map[string]float64{"gain": math.NaN()})
		if status := execute(t.Context(), a, []string{"version"}); status != verdict.ExitBroken ||
			!strings.Contains(errs.String(), "NaN") {
			t.Errorf("%s: exit status %d, %s", name, status, errs.String())
		}
	}
}

func TestABLine(t *testing.T) {
	root := newRootCommand(&app{})
	c, _, _ := root.Find([]string{"ab"})
	given := []string{
		"--a", "vllm serve m", "--b", "vllm serve m --x", "--claim", "-3%", "--answers", "0.9",
		"--timeout", "20m", "--accept", "packages,repo.vllm", "--launches", "6", "--dry-run", "--state", "my record",
	}
	must.Do(t, c.ParseFlags(given))
	const want = "mxflow ab --a 'vllm serve m' --accept packages --accept repo.vllm --answers 0.9 --b 'vllm serve m " +
		"--x' --claim -3% --timeout 20m0s"
	got, again := abLines(c.Flags(), "", []string{"--max-num-seqs", "4"})
	must.Equal(t, "the line of the plan", got, want+" -- --max-num-seqs 4")
	// What is asked again is asked of the same record, and more flags come before the servers' arguments.
	if got := again("--rerun"); got != strings.Replace(want, "--timeout", "--launches 6 --state 'my record' --timeout",
		1)+" --rerun -- --max-num-seqs 4" {
		t.Errorf("again: %s", got)
	}
}

// TestWaiveOptions: who and why stand in one line that can be printed.
func TestWaiveOptions(t *testing.T) {
	for _, c := range []struct{ reason, by, problem, want string }{
		{"known, mended in 0.12", "kim", "", "known, mended in 0.12"},
		{"  two\n  lines\t", "kim", "", "two lines"},
		{"", "kim", "--reason is missing", ""},
		{" \n", "kim", "--reason is missing", ""},
		{"known", " ", "--by is missing", ""},
		{"red \x1b[31m", "kim", "contains unprintable characters", ""},
		{"half \xff", "kim", "contains unprintable characters", ""},
		{strings.Repeat("x", 2001), "kim", "2001 bytes long", ""},
		{"known", strings.Repeat("x", 201), "201 bytes long", ""},
	} {
		s := waiveOptions{Override: report.Override{Reason: c.reason, By: c.by}}
		switch err := s.check(); {
		case c.problem == "" && (err != nil || s.Reason != c.want):
			t.Errorf("%q by %q: %q, %v", c.reason, c.by, s.Reason, err)
		case c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)):
			t.Errorf("%q by %q: %v, want %q", c.reason, c.by, err, c.problem)
		}
	}
}

// Two builds of one version differ in what ledger and reports name them by.
func TestBuildOf(t *testing.T) {
	info := func(module string, settings ...string) *debug.BuildInfo {
		out := &debug.BuildInfo{Main: debug.Module{Version: module}}
		for i := 0; i < len(settings); i += 2 {
			out.Settings = append(out.Settings, debug.BuildSetting{Key: settings[i], Value: settings[i+1]})
		}
		return out
	}
	const revision = "6c9b77f31a0255e1a5b0b5c4b6a1d7a9f4f0c3d2"
	for want, info := range map[string]*debug.BuildInfo{
		"devel": nil,
		"devel (6c9b77f31a02)": info("v0.0.0-20261129143000-6c9b77f31a02", "vcs.revision", revision,
			"vcs.modified", "false"),
		"devel (6c9b77f31a02, modified)": info("v0.1.0+dirty", "vcs.revision", revision, "vcs.modified", "true"),
		"0.1.0":                          info("v0.1.0", "-trimpath", "true"),
		"0.2.0-rc.1 (6c9b77f31a02)":      info("v0.2.0-rc.1", "vcs.revision", revision, "vcs.modified", "false"),
		"devel (v0.1.1-0.20261129143000-6c9b77f31a02)": info("v0.1.1-0.20261129143000-6c9b77f31a02"),
	} {
		b := buildOf(info)
		if got := b.name(cmp.Or(b.release(), "devel")); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	got := buildOf(info("", "-ldflags", "-s -w", "GOOS", "linux", "CGO_ENABLED", "0", "-tags", "")).Flags
	if want := []string{"-ldflags=-s -w", "CGO_ENABLED=0"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// ofCommand are flags whose meaning depends on the command.
var ofCommand = map[string]bool{
	"format":   true, // the forms that a command has
	"rerun":    true, // in ab, of everything: it has no nodes to name
	"launches": true, // maximum of an ab, or of all sealed applies
	"ref":      true, // one of a watch, two of an ab; as are image and pins
	"image":    true,
	"pins":     true,
	"all":      true, // launches of a run, or evidence of what stands
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
		must.Do(t, c.Help())
		if own := c.Use == "version" || c.Use == "bench URL"; own == strings.Contains(out.String(), "--state DIR") &&
			(own || ofRecord(c)) {
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
			takes, _ := pflag.UnquoteUsage(f)
			if _, plain := flagTypes[f.Value.Type()]; !plain && takes != strings.ToUpper(takes) {
				t.Errorf("%s: --%s %s: what it takes has no name in capitals: give its text a word between backquotes",
					c.CommandPath(), f.Name, takes)
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
}

// TestMeant: what is nearly a command or a flag is named, and what a flag takes instead of how
// it failed to parse.
func TestMeant(t *testing.T) {
	for args, want := range map[string]string{
		"aply plan.hcl":                `unknown command "aply" for "mxflow". Did you mean "apply"?`,
		"audit verfy":                  `Did you mean "verify"?`,
		"engine chek":                  `Did you mean "check"?`,
		"waive":                        "an argument is missing\nUsage: mxflow waive GATE [PLAN]",
		"status a b":                   `"b" is one argument too many`,
		"apply --targt x":              `unknown flag: --targt. Did you mean "--target"?`,
		"ab --a x --b y --tg x":        `--tg "x" is not a whole number`,
		"ab --tg 99999999999999999999": `--tg "99999999999999999999" is not a whole number that fits 64 bits`,
		"bench http://x --max-lag 3":   `--max-lag "3" is not a time such as 30s or 5m`,
		"plan --json=perhaps":          `--json "perhaps" is not true or false`,
		"bench http://x --pp a":        `--pp "a" is not whole numbers with commas between them`,
		"bench http://x --rate 1,x":    `--rate "1,x" is not numbers with commas between them`,
		"bench http://x --slo a":       `--slo: "a" is not a limit, such as 'p99 ttft <= 500ms'`,
		"seal --hours long":            `--hours "long" is not a number`,
		"apply --var a":                `--var "a": write NAME=VALUE`,
		"apply --target":               "--target has no value: --target NODE",
		"apply -q":                     "unknown flag: -q",
		"init --agent --yaml":          "[agent yaml] were all set",
		"bisect --dry-run --json":      "[dry-run json] were all set",
		"report --dir x --json":        "--dir and --json are different forms of the report: use one",
		"report --format=gitlab":       "use benchstat, csv, github, html, junit, md or pr",
	} {
		status, out, errs := mxflow(strings.Fields(args)...)
		if status != verdict.ExitUsage || !strings.Contains(out+errs, want) {
			t.Errorf("%s: status %d, %s%s\nwant %q", args, status, out, errs, want)
		}
	}
}

// TestPackaging writes what packages install beside the program, manual pages and shell completions,
// into the folder that MXFLOW_PACKAGING names, as .goreleaser.yaml asks. It is no command: half a
// megabyte of every program would be for those who package it.
func TestPackaging(t *testing.T) {
	folder := cmp.Or(os.Getenv("MXFLOW_PACKAGING"), t.TempDir())
	man, completions := filepath.Join(folder, "man"), filepath.Join(folder, "completions")
	for _, dir := range []string{man, completions} {
		must.Do(t, os.MkdirAll(dir, 0o755))
	}
	root := newRootCommand(&app{})
	root.DisableAutoGenTag = true // the date, which no build is to depend on
	must.Do(t, doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "mxflow"}, man))
	for name, write := range map[string]func(io.Writer) error{
		"mxflow.bash": func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"_mxflow":     root.GenZshCompletion,
		"mxflow.fish": func(w io.Writer) error { return root.GenFishCompletion(w, true) },
	} {
		var script bytes.Buffer
		if err := write(&script); err != nil || !strings.Contains(script.String(), "_mxflow") {
			t.Errorf("%s: %v, %d bytes", name, err, script.Len())
		}
		must.Do(t, os.WriteFile(filepath.Join(completions, name), script.Bytes(), 0o644))
	}
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		page, err := os.ReadFile(filepath.Join(man, name))
		if err != nil || !strings.Contains(string(page), c.Short) {
			t.Errorf("%s lacks %q: %v", name, c.Short, err)
		}
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				check(sub)
			}
		}
	}
	check(root)
}
