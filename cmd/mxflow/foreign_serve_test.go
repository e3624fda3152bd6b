package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/enginetest/tinymodel"
	"github.com/mxflow/mxflow/engine/process"
)

// foreignStack is a folder in which a plan is applied to a real engine.
type foreignStack struct {
	t   *testing.T
	dir string
}

// mxflow runs a command on the plan and returns what it printed.
func (s foreignStack) mxflow(exit int, args ...string) string {
	s.t.Helper()
	cmd := exec.Command(program, append(args, "plan.hcl")...)
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), "HOME="+s.dir)
	out, err := cmd.CombinedOutput()
	s.t.Logf("mxflow %s\n%s", strings.Join(args, " "), out)
	if cmd.ProcessState.ExitCode() != exit {
		s.t.Fatalf("mxflow %s: %v, want exit status %d", strings.Join(args, " "), err, exit)
	}
	return string(out)
}

// stack asks that these are the accepted features, and the drafts what they come to.
func (s foreignStack) stack(want ...string) {
	s.t.Helper()
	var status struct {
		Stack struct {
			Features []struct{ Feature string }
			Knobs    map[string]string
		}
	}
	if err := json.Unmarshal([]byte(s.mxflow(0, "status", "--json")), &status); err != nil {
		s.t.Fatal(err)
	}
	var got []string
	for _, f := range status.Stack.Features {
		got = append(got, f.Feature)
	}
	drafts := map[bool]string{true: "eight", false: "two"}[len(want) > 0]
	if fmt.Sprint(got) != fmt.Sprint(want) || status.Stack.Knobs["drafts"] != drafts {
		s.t.Errorf("the stack is %v with %v, want %v with drafts = %s", got, status.Stack.Knobs, want, drafts)
	}
}

// serves starts an engine by a script that has all of these, and asks it a question.
func (s foreignStack) serves(script string, has ...string) {
	s.t.Helper()
	for _, part := range has {
		if !strings.Contains(script, part) {
			s.t.Errorf("the script has no %q:\n%s", part, script)
		}
	}
	port, release, err := process.FreePort()
	if err != nil {
		s.t.Fatal(err)
	}
	defer release()
	cmd := exec.Command("sh", "-c", script)
	cmd.Env = append(os.Environ(), fmt.Sprintf("MXFLOW_PORT=%d", port))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); _ = cmd.Wait() }()
	body := fmt.Sprintf(`{"prompt": %q, "max_tokens": 10, "temperature": 0}`, "The capital of France is")
	var said struct{ Choices []struct{ Text string } }
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		resp, err := http.Post(fmt.Sprintf("http://127.0.0.1:%d/v1/completions", port), "application/json", strings.NewReader(body))
		if err != nil {
			continue // it does not listen yet
		}
		err = json.NewDecoder(resp.Body).Decode(&said)
		resp.Body.Close()
		if err == nil && len(said.Choices) > 0 {
			break
		}
	}
	if len(said.Choices) == 0 || strings.TrimSpace(said.Choices[0].Text) != tinymodel.Answer(10) {
		s.t.Errorf("it answered %+v", said)
	}
}
