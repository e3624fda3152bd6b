package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/steps"
)

// consolePlan is the plan that init writes, with what a console can ask about.
func consolePlan(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if code, _, errs := command(t, "init", "--engine", "embedded", dir); code != 0 {
		t.Fatal(errs)
	}
	path := filepath.Join(dir, "plan.hcl")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, `
variable "sizes" {
  default = [16, 32]
}
variable "token" {
  sensitive = true
}
locals {
  twice = [for s in var.sizes : s * 2]
  sent  = { chat = workload.chat, "a b" = null }
}
`...)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// asked types lines into the console of a plan.
func asked(t *testing.T, c *console, plan, lines string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	c.app = &app{prints: prints{stdout: &out, stderr: &errs}}
	err = c.run(strings.NewReader(lines), plan, []load.Given{{Var: "token=correct horse"}})
	return out.String(), errs.String(), err
}

func TestConsoleEvaluates(t *testing.T) {
	plan := consolePlan(t)
	for line, want := range map[string]string{
		"var.sizes":                   "[16, 32]",
		"local.twice[1] + 1":          "65",
		"local.sent":                  "{\n  \"a b\" = null\n  chat = workload.chat\n}",
		`upper("x")`:                  `"X"`,
		"var.token":                   "(sensitive)",
		`[1, "${var.token}!"]`:        `[1, (sensitive)]`,
		"engine.embedded.tiny":        "engine.embedded.tiny",
		"{}":                          "{}",
		"# nothing":                   "",
		"exit\nvar.none":              "",
		".feature":                    "none",
		".feature kv_cache\n.feature": "kv_cache",
		"chat.tg.gain >= 0.1 and chat.ttft <= 20": "The rule is valid. It is decided after measuring; --run latest takes the newest run.",
		`feature["kv_cache"].engine.memory_gb`:    "Known after measuring; --run latest takes it from the newest run.",
		`feature["kv_cache"].levels.kernels`:      "Known after measuring; --run latest takes it from the newest run.",
	} {
		out, errs, err := asked(t, &console{}, plan, line+"\n")
		if err != nil || errs != "" || strings.TrimSpace(out) != want {
			t.Errorf("%s: %v\ngot  %q\nwant %q\n%s", line, err, out, want, errs)
		}
	}
}

func TestConsoleShowsMistakes(t *testing.T) {
	plan := consolePlan(t)
	for line, want := range map[string]string{
		"var.size":               "    1 │ var.size\n      │ ^^^^^^^^\n",
		"upper(vra.x)":           "    1 │ upper(vra.x)\n      │       ^^^\n",
		"chat.tgg > 1":           "    1 │ chat.tgg > 1\n      │ ^^^^^^^^\n",
		"levels.kernels == 'x'":  "    1 │ levels.kernels == 'x'\n      │                   ^^^\n",
		"1 +":                    "console:1:",
		"((((":                   "console:1:",
		strings.Repeat("(", 300): "Error: Nested too deep",
		".halp":                  ".help lists them",
		`"${nope}" < 1`:          "console:1:",
	} {
		out, errs, err := asked(t, &console{}, plan, line+"\nvar.sizes\n")
		if err != errShown || !strings.Contains(errs, want) || strings.TrimSpace(out) != "[16, 32]" {
			t.Errorf("%s: %v\nwant %q in\n%s%s", line, err, want, errs, out)
		}
	}
	if _, errs, _ := asked(t, &console{}, plan, "parseint(var.token, 10)\n"); strings.Contains(errs, "correct horse") {
		t.Errorf("the secret is shown:\n%s", errs)
	}
}

func TestConsoleThroughTheCommandLine(t *testing.T) {
	plan := consolePlan(t)
	for want, args := range map[string][]string{
		"no feature \"x\"":    {"console", "--var", "token=correct horse", "--feature", "x", plan},
		"nothing was applied": {"console", "--var", "token=correct horse", "--run", "latest", plan},
	} {
		var out, errs bytes.Buffer
		if code := run(context.Background(), args, &out, &errs); code != 1 || !strings.Contains(errs.String(), want) {
			t.Errorf("%v: exit %d\n%s", args, code, errs.String())
		}
	}
}

// TestConsoleDecides looks at what is printed of evidence; that of real runs is
// gathered by package steps.
func TestConsoleDecides(t *testing.T) {
	var out bytes.Buffer
	c := &console{app: &app{prints: prints{stdout: &out, stderr: &out}}}
	c.loaded = load.Path(consolePlan(t), steps.Registry(), load.Options{Vars: map[string]string{"token": "correct horse"}})
	c.evidence = &gates.Evidence{Features: map[string]*gates.Feature{"kv_cache": {
		Levels: map[string]verdict.Verdict{"kernels": verdict.Pass}, Outcome: verdict.Fail,
		Broken: verdict.Invalid, Cause: fact("level smoke is fail"),
	}}}
	for _, line := range []string{"levels.kernels == 'pass'", "levels.kernels", `feature["kv_cache"].accepted`, "chat.tg.gain > 0"} {
		if !c.line(line) {
			t.Errorf("%s is a mistake", line)
		}
	}
	const want = `pass
  levels.kernels pass (as required)
    levels.kernels = pass
pass
    levels.kernels = pass
fail
  feature["kv_cache"].accepted is false
    feature["kv_cache"].accepted = false
invalid
  chat.tg.gain: level smoke is fail
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// fact is a fact of which only its words matter.
func fact(text string) verdict.Reason {
	return verdict.New(code.Broken, verdict.Text("error", text))
}

func facts(texts ...string) (reasons []verdict.Reason) {
	for _, text := range texts {
		reasons = append(reasons, fact(text))
	}
	return reasons
}
