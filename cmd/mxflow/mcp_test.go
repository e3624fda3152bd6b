package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/agents"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/internal/testing/scenario"
	"github.com/mxflow/mxflow/runtime"
)

// agent is a coding agent that has nothing but the tools of mxflow mcp.
type agent struct {
	*mcp.ClientSession
	t   testing.TB
	dir string
}

// newAgent serves a plan to an agent, sealed with what the flags allow.
func newAgent(t testing.TB, plan string, sealFlags ...string) *agent {
	t.Helper()
	a := &agent{t: t, dir: t.TempDir()}
	must.Write(t, filepath.Join(a.dir, "plan.hcl"), plan)
	if len(sealFlags) > 0 {
		out, err := a.command(append(append([]string{"seal"}, sealFlags...), "plan.hcl")...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "agent"}, nil).Connect(t.Context(),
		&mcp.CommandTransport{Command: a.command("mcp", "plan.hcl")}, nil)
	must.Do(t, err)
	t.Cleanup(func() { _ = session.Close() })
	a.ClientSession = session
	return a
}

func (a *agent) command(args ...string) *exec.Cmd {
	c := exec.Command(scenario.Program, args...)
	c.Dir, c.Env = a.dir, append(os.Environ(), "HOME="+a.dir, "XDG_CONFIG_HOME="+a.dir, "MXFLOW_SIGNING_KEY=")
	return c
}

// call is the answer of a tool, decoded into an A; the error is the tool's.
func call[A any](a *agent, tool string, args any) (answer A, err error) {
	a.t.Helper()
	res, err := a.CallTool(a.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return answer, err
	}
	text := res.Content[0].(*mcp.TextContent).Text
	if res.IsError {
		return answer, fmt.Errorf("%s: %s", tool, text)
	}
	if len(text) > 64<<10 {
		a.t.Errorf("%s answers with %d bytes", tool, len(text))
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		a.t.Fatalf("%s: %v in %s", tool, err, text)
	}
	return answer, nil
}

// answered is call where the tool has to work.
func answered[A any](a *agent, tool string, args any) A {
	a.t.Helper()
	answer, err := call[A](a, tool, args)
	must.Do(a.t, err)
	return answer
}

type object = map[string]any

func agentPlan(t testing.TB) string { return must.Read(t, "testdata/plans/agent.hcl") }

// planned is a part of what plan --json prints, stacked of status --json.
type planned struct {
	Launches int `json:"launches"`
	Least    int `json:"least_launches"`
}

type stacked struct {
	Stack    []string `json:"stack"`
	Verdicts []string `json:"verdicts"`
}

// ported is an agent that has written an honest feature into the plan and applied it, and what
// came of that.
func ported(t *testing.T) (*agent, stacked) {
	t.Helper()
	a := newAgent(t, agentPlan(t), "--by", "kim", "--knob", "moe", "--features", "1", "--launches",
		"40", "--hours", "1")
	plan := filepath.Join(a.dir, "plan.hcl")
	must.Write(t, plan, withPort(t, must.Read(t, plan), `MXFLOW_EMBEDDED_MOE = "routed", MXFLOW_EMBEDDED_PACE = "2ms"`))
	if limits := answered[agents.LimitsAnswer](a, "limits", object{}); len(limits.Moved) > 0 {
		t.Fatalf("%+v", limits.Moved)
	}
	if plan := answered[planned](a, "plan", object{"jq": "{launches, least_launches}"}); plan.Launches == 0 ||
		plan.Least == 0 {
		t.Errorf("plan: %+v", plan)
	}
	done := a.runs("qualify", object{"feature": "routed"})
	if done.State != "done" || done.Exit == nil || len(done.Nodes) == 0 || done.Nodes[0].Verdict != "pass" {
		t.Fatalf("qualify: %+v", done)
	}
	if done.Reward == nil || slices.ContainsFunc(done.Reward.Ports, pays) {
		t.Errorf("qualify pays: %+v", done.Reward)
	}
	if done = a.runs("apply", object{"target": []string{"routed"}}); done.State != "done" || done.Made == 0 {
		t.Fatalf("apply: %+v", done)
	}
	if r := done.Reward; r == nil || !r.Sealed || len(r.Ports) != 1 ||
		pays(r.Ports[0]) != (r.Ports[0].Verdict == verdict.Pass) {
		t.Errorf("apply pays: %+v", r)
	}
	return a, answered[stacked](a, "status",
		object{"jq": "{stack: [.stack.features[].feature], verdicts: [.decisions[].verdict]}"})
}

// withPort is agent.hcl as an agent edits it: a value of the knob, and a feature that is judged
// like the one that is there.
func withPort(t testing.TB, plan, env string) string {
	t.Helper()
	for _, c := range [][2]string{
		{"\n  value \"also_all\"", fmt.Sprintf(`
  value "routed" {
    env = { %s }
    must_see {
      log = ["*using kernel moe_routed_mxfp4*"]
    }
  }
`, env)},
		{"\n  feature \"control\"", `
  feature "routed" {
    set = { moe = "routed" }

    hypothesis {
      metric  = "chat.tg"
      expect  = "+5%"
      because = "most experts are not needed"
    }
    criterion "decode" {
      rule = "chat.tg.gain >= 0.2"
    }
  }
`},
	} {
		must.Contain(t, "agent.hcl has changed", plan, c[0])
		plan = strings.Replace(plan, c[0], c[1]+c[0], 1)
	}
	return plan
}

func pays(p runtime.Payment) bool { return p.Pays > 0 }

// TestAgentPorts: an agent brings an honest feature from the proposal to the stack.
func TestAgentPorts(t *testing.T) {
	if !inFull() {
		t.Skip("some thirty launches: set MXFLOW_TEST_LONG=1")
	}
	t.Parallel()
	began := time.Now()
	a, status := ported(t)
	for try := 1; try < 3 && slices.Contains(status.Verdicts, "inconclusive"); try++ {
		// tests of other packages run beside this one
		t.Logf("undecided, and tried again: %+v", status)
		began = time.Now()
		a, status = ported(t)
	}
	limits := answered[agents.LimitsAnswer](a, "limits", object{})
	if len(status.Stack) != 1 || status.Stack[0] != "routed" || limits.Spent.Launches == 0 ||
		len(limits.Proposed) != 1 {
		t.Errorf("status: %+v %+v", status, limits)
	}
	if why := answered[object](a, "explain",
		object{
			"of": []string{"routed"},
			"jq": "{verdict: .decision.verdict, reasons: (.decision.rules[0].reasons | length)}",
		}); why["verdict"] !=
		"pass" || why["reasons"] == 0.0 {
		t.Errorf("explain: %+v", why)
	}
	if took := time.Since(began); took > 2*time.Minute {
		t.Errorf("took %s", took)
	}
	if n := answered[float64](a, "compare",
		object{"of": []string{"baseline", "routed"}, "jq": "[.pairs[].deltas[]] | length"}); n == 0 {
		t.Error("compare: no metric")
	}
	if got, err := call[object](a, "compare", object{"of": []string{"baseline", "rooted"}}); err == nil ||
		!strings.Contains(err.Error(), "rooted") {
		t.Errorf("compare with what is not on record: %+v, %v", got, err)
	}
	if got, err := call[object](a, "show", object{"of": []string{"latest"}}); err == nil ||
		!strings.Contains(err.Error(), "name the part that is wanted with jq; it is .") {
		t.Errorf("a whole run: %+v, %v", got, err)
	}
	if n := answered[float64](a, "profile",
		object{"of": []string{"routed"}, "jq": "[.analysis.parts[].kernels[]] | length"}); n == 0 {
		t.Error("profile: no kernel")
	}
	t.Logf("from proposal to accepted in %s, %d launches", time.Since(began).Round(time.Second), limits.Spent.Launches)
}

// runs begins an apply and waits for its end.
func (a *agent) runs(tool string, args any) agents.JobAnswer {
	a.t.Helper()
	j := answered[agents.JobAnswer](a, tool, args)
	for j.State == "running" {
		j = answered[agents.JobAnswer](a, "progress", object{"wait_seconds": 60})
	}
	return j
}

// TestAgentIsRefused: what an agent must not do is no tool, or is refused with what moved.
func TestAgentIsRefused(t *testing.T) {
	a := newAgent(t, agentPlan(t), "--by", "kim", "--knob", "moe", "--features", "1")
	tools, err := a.ListTools(t.Context(), nil)
	must.Do(t, err)
	for _, tool := range tools.Tools {
		for _, forbidden := range []string{"waive", "rerun", "seal", "rule", "ledger"} {
			if strings.Contains(tool.Name, forbidden) {
				t.Errorf("there is a tool %s", tool.Name)
			}
		}
	}
	for name, c := range map[string]struct {
		tool   string
		args   object
		begins string // the beginning of its error
	}{
		"rerun":               {"apply", object{"rerun": []string{"all"}}, "validating"},
		"another plan":        {"validate", object{"plan": "/etc/passwd"}, "validating"},
		"a tool that is none": {"waive", object{"gate": "port"}, "unknown tool"},
	} {
		if got, err := call[object](a, c.tool, c.args); err == nil || !strings.Contains(err.Error(), c.begins) {
			t.Errorf("%s: %+v, %v, want an error with %q", name, got, err, c.begins)
		}
	}
	plan := filepath.Join(a.dir, "plan.hcl")
	kept := must.Read(t, plan)
	for was, c := range map[string]struct {
		is, path string
	}{
		// A rule that is changed stops the apply.
		">= 0.2": {is: ">= -0.9", path: "phase.port.feature.control.criterion.decode.rule"},
		// So does the default of a knob, which the baseline uses.
		`_PACE = "6ms" }`: {is: `_PACE = "6ms", SLOW = "1" }`, path: "knob.moe.value.all.env.SLOW"},
	} {
		must.Write(t, plan, strings.Replace(kept, was, c.is, 1))
		for tool, args := range map[string]object{"apply": {}, "qualify": {"feature": "control"}} {
			if got := answered[agents.RefusedAnswer](a, tool, args); len(got.Refused) != 1 ||
				got.Refused[0].Path != c.path || got.Refused[0].Line == 0 {
				t.Errorf("%s: %+v", tool, got)
			}
		}
		if got := answered[agents.LimitsAnswer](a, "limits", object{}); len(got.Moved) != 1 {
			t.Errorf("limits: %+v", got)
		}
	}
	// So does a feature more than the seal allows.
	more := strings.Replace(withPort(t, kept, `MXFLOW_EMBEDDED_MOE = "routed"`), "phase \"port\" {", `phase "port" {
  feature "more" {
    set = { moe = "routed" }
    criterion "decode" {
      rule = "chat.tg.gain >= 0.2"
    }
  }
`, 1)
	must.Write(t, plan, more)
	if got := answered[agents.RefusedAnswer](a, "apply", object{}); len(got.Refused) == 0 {
		t.Error("two features were proposed where the seal allows one")
	}
	must.Equal(t, "the plan was changed", must.Read(t, plan), more)
	// Without a seal there is nothing but reading.
	must.Do(t, os.Remove(filepath.Join(a.dir, "plan.seal")))
	if got, err := call[agents.JobAnswer](a, "apply", object{}); err == nil ||
		!strings.Contains(err.Error(), "no seal") {
		t.Errorf("%+v, %v", got, err)
	}
	answered[object](a, "validate", object{})
	if got := answered[[]string](a, "kinds", object{"jq": "[.[].name]"}); len(got) < 5 {
		t.Errorf("kinds: %v", got)
	}
	answered[object](a, "schema", object{"jq": ".properties.knob"})
	for tool, of := range map[string]object{
		"validate": {"of": []string{"/etc/passwd"}}, "explain": {}, "show": {"of": []string{"--all"}},
		"status": {"jq": ".["},
	} {
		if got, err := call[any](a, tool, of); err == nil {
			t.Errorf("%s %v: %v", tool, of, got)
		}
	}
}
