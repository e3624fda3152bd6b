package main

import (
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/scenario"
)

// ciJobs are the shell steps of the jobs that docs/reports.md shows, and the variables that
// steps have of their own.
func ciJobs(t *testing.T) (actions, gitlab []string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/reports.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(page), "```yaml\n")[1:] {
		text, _, _ := strings.Cut(part, "```")
		var workflow struct {
			Jobs map[string]struct {
				Steps []struct{ Uses, Run string }
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
				if step.Run != "" {
					actions = append(actions, step.Run)
				} else if step.Uses == "" {
					t.Errorf("a step does nothing:\n%s", text)
				}
			}
		}
		gitlab = append(gitlab, append(workflow.Ports.Script, workflow.Ports.After...)...)
	}
	return actions, gitlab
}

// ghStub is the command of GitHub as far as the workflow uses it: it lists the comment
// that was made, and writes down what is asked of it.
const ghStub = `#!/bin/sh
echo "$@" >> gh.log
case "$*" in
*--paginate*) test ! -e posted || echo 17 ;;
*POST*) touch posted ;;
esac
`

// TestCIPage runs the jobs of docs/reports.md step by step: a second run replaces the comment
// of the first, and measures nothing again.
func TestCIPage(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash")
	}
	actions, gitlab := ciJobs(t)
	if len(actions) != 4 || len(gitlab) != 4 {
		t.Fatalf("%d steps of Actions and %d of GitLab", len(actions), len(gitlab))
	}
	dir := t.TempDir()
	plan, err := os.ReadFile("testdata/plans/tiny.hcl")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"plan.hcl": string(plan), "gh": ghStub} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for i, steps := range [][]string{actions, actions, gitlab} {
		for _, step := range steps {
			// As Actions runs a step.
			c := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step)
			c.Dir = dir
			c.Env = append(os.Environ(), "PATH="+filepath.Dir(scenario.Program)+":"+dir+":"+os.Getenv("PATH"), "GITHUB_STEP_SUMMARY="+filepath.Join(dir, "summary"), "GITHUB_REPOSITORY=a/b", "PR=5", "NO_COLOR=1")
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("run %d: %v\n%s\n%s", i, err, step, out)
			}
		}
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	log := read("gh.log")
	if strings.Count(log, "POST repos/a/b/issues/5/comments -F body=@mxflow.md") != 1 || strings.Count(log, "PATCH repos/a/b/issues/comments/17 -F body=@mxflow.md") != 1 || !strings.Contains(log, `startswith("<!-- mxflow report: tiny -->")`) {
		t.Error(log)
	}
	if n := strings.Count(read("summary"), "### mxflow tiny: "); n != 2 {
		t.Errorf("%d summaries", n)
	}
	var junit struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
	}
	if err := xml.Unmarshal([]byte(read("mxflow.xml")), &junit); err != nil || junit.Tests == 0 || junit.Failures+junit.Errors > 0 {
		t.Errorf("%+v %v", junit, err)
	}
}
