package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/internal/testing/scenario"
)

// ghStub is the command of GitHub as far as the action uses it: it lists the comment that was
// made, and writes down what is asked of it.
const ghStub = `#!/bin/sh
echo "$@" >> gh.log
case "$*" in
*--paginate*) test ! -e posted || echo 17 ;;
*POST*) touch posted ;;
esac
`

// runner plays a self-hosted runner of GitHub Actions: it runs the scripts of action.yml in their
// order, and lists the actions that it uses.
type runner struct {
	dir string
	env []string
	// context is what expressions name.
	context map[string]string
}

// played is what came of an action.
type played struct {
	exit         int
	out, summary string
	uses         []string
	outputs      map[string]string
}

var expression = regexp.MustCompile(`\$\{\{ *([a-z_.]+) *\}\}`)

func (r runner) play(t *testing.T) (p played) {
	t.Helper()
	var action struct {
		Inputs  map[string]struct{ Default string }
		Outputs map[string]struct{ Value string }
		Runs    struct {
			Using string
			Steps []struct {
				Name, ID, If, Uses, Shell, Run string
				Env, With                      map[string]string
			}
		}
	}
	err := yaml.Unmarshal([]byte(must.Read(t, "../../action.yml")), &action)
	if err != nil || action.Runs.Using != "composite" {
		t.Fatal(action.Runs.Using, err)
	}
	context := maps.Clone(r.context)
	expand := func(text string) string {
		text = expression.ReplaceAllStringFunc(text, func(e string) string {
			name := expression.FindStringSubmatch(e)[1]
			value, known := context[name]
			parts := strings.Split(name, ".")
			if !known && (parts[0] != "steps" || context["steps."+parts[1]+".outcome"] == "") {
				t.Errorf("nothing is called %s", name)
			}
			return value
		})
		if strings.Contains(text, "${{") {
			t.Errorf("an expression that this runner cannot read: %s", text)
		}
		return text
	}
	for name, input := range action.Inputs {
		if _, given := context["inputs."+name]; !given {
			context["inputs."+name] = expand(input.Default)
		}
	}
	summary := filepath.Join(t.TempDir(), "summary")
	for i, step := range action.Runs.Steps {
		name := cmp.Or(step.Name, step.Uses)
		always, after, _ := strings.Cut(step.If, " && ")
		if after != "" && after != "steps.program.outcome == 'success'" || always != "" && always != "always()" {
			t.Fatalf("a condition that this runner cannot read: %s", step.If)
		}
		if p.exit != 0 && always == "" || after != "" && context["steps.program.outcome"] != "success" {
			context["steps."+step.ID+".outcome"] = "skipped"
			continue
		}
		if step.Uses != "" {
			for _, value := range step.With {
				expand(value)
			}
			p.uses = append(p.uses, step.Uses)
			continue
		}
		if step.Shell != "bash" || strings.Contains(step.Run, "${{") {
			t.Errorf("%s: shell %q, and what is in an expression would be run", name, step.Shell)
		}
		output := filepath.Join(t.TempDir(), fmt.Sprint("output", i))
		c := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step.Run)
		c.Dir = r.dir
		c.Env = append(os.Environ(), "NO_COLOR=1", "GITHUB_REPOSITORY=a/b")
		c.Env = append(c.Env, "GITHUB_STEP_SUMMARY="+summary, "GITHUB_OUTPUT="+output)
		c.Env = append(c.Env, r.env...)
		for key, value := range step.Env {
			c.Env = append(c.Env, key+"="+expand(value))
		}
		out, err := c.CombinedOutput()
		p.out += string(out)
		context["steps."+step.ID+".outcome"] = "success"
		if err != nil {
			context["steps."+step.ID+".outcome"] = "failure"
			if p.exit == 0 {
				p.exit = c.ProcessState.ExitCode()
			}
		}
		written, _ := os.ReadFile(output)
		for line := range strings.Lines(string(written)) {
			key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			context["steps."+step.ID+".outputs."+key] = value
		}
	}
	p.outputs = map[string]string{}
	for name, output := range action.Outputs {
		p.outputs[name] = expand(output.Value)
	}
	text, _ := os.ReadFile(summary)
	p.summary = string(text)
	return p
}

// gitlabJob is the script of the job of GitLab that docs/reports.md shows. Its workflow of Actions
// gives the action inputs that it has.
func gitlabJob(t *testing.T) (script []string) {
	t.Helper()
	var action struct{ Inputs map[string]any }
	must.Do(t, yaml.Unmarshal([]byte(must.Read(t, "../../action.yml")), &action))
	used := false
	for _, text := range blocks(t, "reports.md", "yaml") {
		var workflow struct {
			Jobs map[string]struct {
				Steps []struct {
					Uses string
					With map[string]string
				}
			}
			Ports struct {
				Script []string
				After  []string `yaml:"after_script"`
			}
		}
		if err := yaml.Unmarshal([]byte(text), &workflow); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		for _, job := range workflow.Jobs {
			for _, step := range job.Steps {
				if !strings.HasPrefix(step.Uses, "mxflow/mxflow@") {
					continue
				}
				used = true
				for name := range step.With {
					if _, is := action.Inputs[name]; !is {
						t.Errorf("the action has no input %s", name)
					}
				}
			}
		}
		script = append(script, append(workflow.Ports.Script, workflow.Ports.After...)...)
	}
	if !used || len(script) != 4 {
		t.Fatalf("the action is used: %v; %d steps of GitLab", used, len(script))
	}
	return script
}

// TestAction runs action.yml on a runner: a second run replaces the comment of the first, and measures
// nothing again; a gate that fails and a mistake are the action's exit status. The job of GitLab runs
// on the same record.
func TestAction(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash")
	}
	dir, bin := t.TempDir(), t.TempDir()
	read := func(name string) string { return must.Read(t, filepath.Join(dir, name)) }
	plan, gh := filepath.Join(dir, "plan.hcl"), filepath.Join(bin, "gh")
	whole := reconcilePlan + "variable \"least\" {\n  default = 0.1\n}\n" +
		strings.Replace(port("one", "", 130), ">= 0.1", ">= ${var.least}", 1)
	must.Write(t, plan, whole)
	must.Do(t, os.WriteFile(gh, []byte(ghStub), 0o755))
	r := runner{
		dir: dir,
		env: []string{"PATH=" + filepath.Dir(scenario.Program) + ":" + bin + ":" + os.Getenv("PATH")},
		context: map[string]string{
			"github.token": "secret", "github.action_path": dir, "github.action_ref": "", "github.run_id": "1",
			"github.run_attempt": "1", "github.event.pull_request.number": "5", "runner.name": "gpu-1",
			"runner.temp": t.TempDir(),
		},
	}
	expect := func(p played, exit int, said ...string) {
		t.Helper()
		if p.exit != exit || p.outputs["status"] != fmt.Sprint(exit) {
			t.Errorf("exit status %d, %v, want %d\n%s", p.exit, p.outputs, exit, p.out)
		}
		for _, text := range said {
			must.Contain(t, "the summary lacks", p.summary, text)
		}
		var uses []string
		for _, use := range p.uses {
			name, commit, _ := strings.Cut(use, "@")
			if uses = append(uses, name); len(commit) != 40 {
				t.Errorf("%s is no commit", use)
			}
		}
		want := []string{"actions/cache/restore", "actions/cache/save", "actions/upload-artifact"}
		if !slices.Equal(uses, want) {
			t.Errorf("uses %q, want %q", uses, want)
		}
	}
	launches := func() int {
		return strings.Count(read(".mxflow/ledger"), `"type":"launch"`)
	}

	p := r.play(t)
	expect(p, 0, "### mxflow reconciled: ")
	junit := must.Read(t, filepath.Join(p.outputs["report"], "junit.xml"))
	if !regexp.MustCompile(`<testsuites[^>]* tests="[1-9]\d*" failures="0" errors="0"`).MatchString(junit) {
		t.Error(junit)
	}
	if page := must.Read(t, filepath.Join(p.outputs["report"], "page.html")); !strings.HasPrefix(page,
		"<!doctype html>") {
		t.Errorf("page %.80q", page)
	}
	measured := launches()

	expect(r.play(t), 0, "### mxflow reconciled: ")
	log := read("gh.log")
	if strings.Count(log, "POST repos/a/b/issues/5/comments -F body=@") != 1 ||
		strings.Count(log, "PATCH repos/a/b/issues/comments/17 -F body=@") != 1 ||
		!strings.Contains(log, `startswith("<!-- mxflow report: reconciled -->")`) {
		t.Error(log)
	}
	if n := launches(); measured == 0 || n != measured {
		t.Errorf("%d launches, and %d after what did not change", measured, n)
	}

	// Its record is reproduced by the same action, beside it.
	export := exec.CommandContext(t.Context(), scenario.Program, "audit", "export", "--lock", "-o", "port.lock")
	if export.Dir = dir; export.Run() != nil {
		t.Fatal("no lock")
	}
	again := r
	again.context = maps.Clone(r.context)
	again.context["inputs.reproduce"] = "port.lock"
	expect(again.play(t), 0, "REPRODUCED: 2 of 2 decisions came out the same")
	if n := launches(); n != measured {
		t.Errorf("%d launches in the plan's own record, and %d after it was reproduced", measured, n)
	}

	for _, step := range gitlabJob(t) {
		c := exec.CommandContext(t.Context(), "sh", "-ec", step)
		c.Dir, c.Env = dir, append(append(os.Environ(), "NO_COLOR=1"), r.env...)
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s\n%s", err, step, out)
		}
	}
	if !strings.Contains(read("mxflow.xml"), "<testsuites") || !strings.Contains(read("RESULTS.md"), "reconciled") {
		t.Error("the job of GitLab wrote no reports")
	}

	// Who may not write a comment is told so, and has the verdict.
	must.Write(t, gh, "#!/bin/sh\nexit 1\n")
	strict := r
	strict.env = append(slices.Clone(r.env), "MXFLOW_VAR_least=1000")
	p = strict.play(t)
	expect(p, 2, "### mxflow reconciled: ")
	must.Contain(t, "no warning", p.out, "::warning::no comment was written")

	must.Write(t, plan, whole+"\nx")
	p = r.play(t)
	expect(p, 1, "mxflow started nothing of `plan.hcl` (exit status 1)")
	if strings.Contains(p.summary, "###") {
		t.Errorf("an earlier run's answer:\n%s", p.summary)
	}
	must.Write(t, plan, whole)
	none := r
	none.context = maps.Clone(r.context)
	none.context["inputs.plan"] = "none.hcl"
	if p := none.play(t); p.exit != 1 || len(p.uses) != 0 || !strings.Contains(p.out, "there is no plan none.hcl") {
		t.Errorf("%+v", p)
	}
}

// TestActionWatches: with flags of mxflow watch the action makes a night, and the report is of its record.
func TestActionWatches(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash")
	}
	dir := t.TempDir()
	must.Write(t, filepath.Join(dir, "plan.hcl"), `plan "watched" {}
engine "command" "bench" {
  process {
    command = ["sh", "{source}/bench.sh"]
  }
  metric "tg" {
    jq     = ".tg"
    unit   = "tok/s"
    better = "higher"
  }
  source "engine" {
    repo  = "engine"
    ref   = "main"
    build = [["true"]]
  }
}
protocol "script" {
  level "benchmark" { launches = 4 }
}
baseline {
  engine   = engine.command.bench
  protocol = protocol.script
}
`)
	engine := filepath.Join(dir, "engine")
	must.Write(t, filepath.Join(engine, "bench.sh"), `echo '{"tg": 100}'`)
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"add", "."},
		{"-c", "user.name=Test", "-c", "user.email=test@localhost", "commit", "-qm", "first"},
	} {
		if out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", engine}, args...)...).
			CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	r := runner{
		dir: dir,
		env: []string{"PATH=" + filepath.Dir(scenario.Program) + ":" + os.Getenv("PATH")},
		context: map[string]string{
			"github.token": "", "github.action_path": dir, "github.action_ref": "", "github.run_id": "1",
			"github.run_attempt": "1", "github.event.pull_request.number": "", "runner.name": "gpu-1",
			"runner.temp": t.TempDir(), "inputs.watch": "--ref main --write engine.pin",
		},
	}
	for _, outcome := range []string{"start", "nothing new"} {
		p := r.play(t)
		if p.exit != 0 || p.outputs["status"] != "0" {
			t.Fatalf("%s: %d\n%s", outcome, p.exit, p.out)
		}
		must.Contain(t, "the summary lacks", p.summary, "### mxflow watched: Main ")
		must.Contain(t, "the summary lacks", p.summary, ": "+outcome+"; last good is ")
	}
	if pin := must.Read(t, filepath.Join(dir, "engine.pin")); len(pin) != 41 {
		t.Errorf("pin %q", pin)
	}
}
