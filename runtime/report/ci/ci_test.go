package ci

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// recorded is a state directory with a run of a plan of one feature and its gate. end is
// left out for a run that never ended.
func recorded(t *testing.T, feature, gate verdict.Verdict, end *ledger.End, more ...*ledger.Record) *store.Store {
	t.Helper()
	st := must.Get(store.Open(t.TempDir()))(t)
	t.Cleanup(func() { st.Close() })
	records := []*ledger.Record{{Type: "run", RunStart: &ledger.RunStart{
		Plan: "a--b <x>", PlanFile: "plan.hcl",
		Tool: "mxflow", Nodes: []string{"baseline", "feature.f", "phase.p"},
	}}}
	records = append(records, &ledger.Record{
		Type: "launch",
		Launch: &ledger.Launch{
			ID: "l", Session: "s", Purpose: ledger.ForBenchmark, Seconds: 1.25, Variant: "f", Block: "vllm.main",
			Started: noon.Add(-time.Hour), OK: true, Engine: map[string]string{"image": "vllm:1"},
			Trees: map[string]ledger.Tree{"vllm": {Commit: "3f1c2ab0d4e5f6a7b8c9"}},
		},
	})
	decide := func(node, kind string, v verdict.Verdict) {
		if v == "" {
			return
		}
		d := &ledger.Decision{
			Node: node, Kind: kind, Phase: "p", Attempt: 1, Verdict: v, MeasureKey: "m",
			DecisionKey: "d", Launches: []string{"l"},
		}
		if kind != ledger.KindQualify {
			d.Rules = []verdict.Rule{{
				Name: "a < b & \"c\"\x01", Expr: "chat.tg.gain >= 1 || x",
				Decides: true, Verdict: v,
			}}
			d.Reasons = verdict.Because(code.Of("broken", "{error}"), verdict.Text("error", "<script>|</testcase>"))
		}
		if kind == ledger.KindFeature {
			d.Feature = "f"
		} else if kind == ledger.KindQualify {
			d.Phase = ""
		}
		records = append(records, &ledger.Record{Type: "decision", Decision: d})
	}
	decide("baseline", ledger.KindQualify, verdict.Pass)
	decide("feature.f", ledger.KindFeature, feature)
	decide("phase.p", ledger.KindGate, gate)
	if end != nil {
		records = append(records, &ledger.Record{Type: "end", End: end})
	}
	for _, r := range append(records, more...) {
		r.Run, r.Time = "r1", noon
		must.Do(t, st.Append(r))
	}
	return st
}

func summary(st *store.Store) *report.Summary { return report.SummaryOf(st, nil, noon) }

func finished(v verdict.Verdict) *ledger.End {
	return &ledger.End{Verdict: v, Exit: v.ExitCode(), Reason: verdict.New(code.Finished)}
}

// TestJUnit: it is red exactly where an apply does not end with 0, and well-formed whatever people and engines write.
func TestJUnit(t *testing.T) {
	waiver := &ledger.Record{Type: "waiver", Waiver: &ledger.Waiver{
		Node: "phase.p", Attempt: 1, Verdict: verdict.Fail,
		Reason: "known", By: "kim", Expires: noon.Add(time.Hour),
	}}
	locked := finished(verdict.Fail)
	locked.Locked = map[string]verdict.Reason{"phase.p": verdict.New(code.Outcome).On("feature.f").Is(verdict.Fail)}
	targeted := finished(verdict.Pass)
	targeted.Locked = map[string]verdict.Reason{
		"phase.p":   verdict.New(code.NotTargeted),
		"feature.f": verdict.New(code.NotTargeted),
	}
	for name, c := range map[string]struct {
		feature, gate             verdict.Verdict
		end                       *ledger.End
		more                      []*ledger.Record
		failures, errors, skipped int
	}{
		"pass": {verdict.Pass, verdict.Pass, finished(verdict.Pass), nil, 0, 0, 0},
		"fail": {verdict.Fail, verdict.Fail, finished(verdict.Fail), nil, 2, 0, 0},
		"inconclusive": {
			verdict.Inconclusive, verdict.Inconclusive, finished(verdict.Inconclusive), nil,
			2, 0, 0,
		},
		"invalid":                   {verdict.Invalid, verdict.Invalid, finished(verdict.Invalid), nil, 0, 2, 0},
		"error":                     {verdict.Error, verdict.Error, finished(verdict.Error), nil, 0, 2, 0},
		"the gate does not need it": {verdict.Fail, verdict.Pass, finished(verdict.Pass), nil, 0, 0, 1},
		"waived": {
			verdict.Pass, verdict.Fail, finished(verdict.Fail),
			[]*ledger.Record{waiver},
			0,
			0, 1,
		},
		"locked":   {verdict.Fail, "", locked, nil, 1, 1, 0},
		"left out": {"", "", targeted, nil, 0, 0, 2},
		"interrupted": {
			verdict.Pass, "", &ledger.End{Exit: 130, Reason: verdict.New(code.Interrupted)},
			nil, 0, 2, 0,
		},
		"killed, and nothing behind": {verdict.Pass, verdict.Pass, nil, nil, 0, 1, 0},
	} {
		var page bytes.Buffer
		must.Do(t, JUnit(&page, summary(recorded(t, c.feature, c.gate, c.end, c.more...))))
		var got suites
		if err := xml.Unmarshal(page.Bytes(), &got); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, page.String())
		}
		var all elapsed
		for _, s := range got.Suites {
			var of elapsed
			for _, k := range s.Cases {
				of += k.Time
				if !strings.HasPrefix(k.Class, "a--b <x>.") || k.Out != "" && strings.HasSuffix(k.Name, k.Out) {
					t.Errorf("%s: %+v", name, k)
				}
				if strings.HasPrefix(k.Name, "feature.f") && c.feature != "" && k.Timestamp != "2026-01-02T11:00:00" {
					t.Errorf("%s: %s is of %s, not of its launch", name, k.Name, k.Timestamp)
				}
			}
			if s.Time != of {
				t.Errorf("%s: suite %s takes %v s, its cases %v s", name, s.Name, s.Time, of)
			}
			all += of
		}
		if got.Time != all || c.feature != "" && all != 1.25 {
			t.Errorf("%s: the suites take %v s, their cases %v s", name, got.Time, all)
		}
		if got.Failures != c.failures || got.Errors != c.errors || got.Skipped != c.skipped {
			t.Errorf("%s: %d failures, %d errors, %d skipped:\n%s", name, got.Failures, got.Errors,
				got.Skipped, page.String())
		}
	}
	empty := must.Get(store.Open(t.TempDir()))(t)
	defer empty.Close()
	if err := JUnit(&bytes.Buffer{}, summary(empty)); err == nil {
		t.Error("nothing at all is green")
	}
}

// TestGitHub: the marker is first and cannot end early, what failed is next, tables keep their columns, nothing of
// somebody else's is HTML, and a comment is never longer than GitHub takes.
func TestGitHub(t *testing.T) {
	var page bytes.Buffer
	must.Do(t, GitHub(&page, summary(recorded(t, verdict.Fail, verdict.Fail, finished(verdict.Fail)))))
	text := page.String()
	must.Contain(t, "the text", text,
		"<!-- mxflow report: a__b__x_ -->\n### mxflow a--b &lt;x>: Nothing accepted: f failed\n\nHead f: ",
		"\nHead f: vllm.main, vllm at 3f1c2ab0d4e5, image vllm:1.\n\n| Port | Verdict |", "\n| f | **fail** | ",
		"| p | **fail** |", "\nmxflow apply --state ", " plan.hcl\n```\n", "\n</details>\n",
	)
	if strings.Contains(text, "<script>") || strings.Contains(text, "gate p") {
		t.Error(text)
	}
	short := cut(strings.Repeat("| 1 | a row of a table |\n", 5000))
	if len(short) > 65536 || !strings.HasSuffix(short, "shows everything.\n") ||
		strings.Contains(short, "row of a ta\n") {
		t.Errorf("%d bytes", len(short))
	}
}

// TestGitHubHasAllDecided: no port with a decision is left out of the table, however many there are; of
// others the names are told.
func TestGitHubHasAllDecided(t *testing.T) {
	st := must.Get(store.Open(t.TempDir()))(t)
	defer st.Close()
	add := func(r *ledger.Record) {
		r.Run, r.Time = "r1", noon
		must.Do(t, st.Append(r))
	}
	start := &ledger.RunStart{Plan: "many", PlanFile: "plan.hcl"}
	for _, node := range []string{"done", "open"} {
		for i := range 3 * mostRows {
			start.Nodes = append(start.Nodes, fmt.Sprintf("feature.%s%d", node, i))
		}
	}
	add(&ledger.Record{Type: "run", RunStart: start})
	for i, node := range start.Nodes[:3*mostRows] {
		add(&ledger.Record{Type: "decision", Decision: &ledger.Decision{
			Node: node, Kind: ledger.KindFeature, Phase: "p", Feature: strings.TrimPrefix(node, "feature."), Attempt: 1,
			Verdict: verdict.Pass, Accepted: i > 0,
		}})
	}
	var page bytes.Buffer
	must.Do(t, GitHub(&page, summary(st)))
	text, _, _ := strings.Cut(page.String(), "<details>")
	if n := strings.Count(text, "\n| done"); n != 3*mostRows || strings.Count(text, " | accepted |") != n-1 ||
		strings.Count(text, "\n| open") != mostRows || !strings.Contains(text, "\nNot decided: open6, open7, ") {
		t.Error(text)
	}
}

// TestGitHubTellsOnce: the root cause of what a rule lacks is in the row of the gate, and
// the features and rules that it also stopped point there.
func TestGitHubTellsOnce(t *testing.T) {
	root := verdict.Say("broken", "{error}",
		verdict.Text("error", "launch 1 (baseline): the client woke up to 162 ms late, and 100ms is allowed"))
	cause := verdict.New(code.Level).On("benchmark").Is(verdict.Invalid).From(root)
	st := recorded(t, "", "", nil)
	for _, node := range []string{"feature.f", "phase.p"} {
		d := &ledger.Decision{Node: node, Kind: ledger.KindGate, Phase: "p", Attempt: 1, Verdict: verdict.Invalid}
		d.Rules = []verdict.Rule{{
			Name: "decode", Expr: "chat.tg.gain >= 0", Verdict: verdict.Invalid,
			Reasons: []verdict.Reason{cause},
		}}
		if node == "feature.f" {
			d.Kind, d.Feature = ledger.KindFeature, "f"
		}
		must.Do(t, st.Append(&ledger.Record{Type: "decision", Run: "r1", Time: noon, Decision: d}))
	}
	var page bytes.Buffer
	must.Do(t, GitHub(&page, summary(st)))
	text := page.String()
	if gates, _, _ := strings.Cut(text, "#### f"); strings.Count(text, "162 ms late") != 1 ||
		!strings.Contains(gates, "162 ms late") || strings.Count(text, ", see above") != 1 {
		t.Error(text)
	}
}

// TestCaseHasOneCause: what kept all rules from being tested is one case, with its cause.
func TestCaseHasOneCause(t *testing.T) {
	cause := verdict.New(code.Level).On("correctness").Is(verdict.Fail).
		From(verdict.Say("broken", "{error}", verdict.Text("error", "KL of decode 0.7 nats/token")))
	st := recorded(t, "", "", finished(verdict.Invalid))
	d := &ledger.Decision{
		Node: "feature.f", Kind: ledger.KindFeature, Phase: "p", Feature: "f", Attempt: 1,
		Verdict: verdict.Invalid, Levels: []ledger.Level{{Name: "correctness", Verdict: verdict.Fail}},
	}
	for _, path := range []string{"chat.tg.gain", "chat.pp.gain"} {
		d.Rules = append(d.Rules, verdict.Rule{
			Name: path, Decides: true, Verdict: verdict.Invalid,
			Reasons: []verdict.Reason{verdict.New(code.Missing).On(path).From(cause)},
		})
	}
	var page bytes.Buffer
	if err := st.Append(&ledger.Record{Type: "decision", Run: "r1", Time: noon, Decision: d}); err != nil ||
		JUnit(&page, summary(st)) != nil {
		t.Fatal(err)
	}
	if text := page.String(); !strings.Contains(text,
		`<error message="invalid: level correctness failed: KL of decode 0.7 nats/token" type="invalid">`) ||
		strings.Count(text, `name="feature.f`) != 1 {
		t.Error(text)
	}
}

// TestPullRequest: what is not on record is said to be missing.
func TestPullRequest(t *testing.T) {
	var page bytes.Buffer
	st := recorded(t, verdict.Pass, verdict.Pass, finished(verdict.Pass))
	if err := PullRequest(&page, summary(st), ""); err != nil ||
		!strings.Contains(page.String(), "nothing to claim") {
		t.Errorf("%v\n%s", err, page.String())
	}
	if page.Reset(); PullRequest(&page, summary(st), "f") != nil || strings.Count(page.String(), "\n## ") > 0 ||
		!strings.HasPrefix(page.String(), "## f: ") {
		t.Error(page.String())
	}
	if err := PullRequest(&page, summary(st), "g"); err == nil {
		t.Error("a claim for a feature that is not there")
	}
	if err := PullRequest(&page, summary(recorded(t, "", "", finished(verdict.Pass))), ""); err == nil {
		t.Error("a claim without a feature")
	}
	if got := accuracy(&ledger.Decision{
		Levels: []ledger.Level{{Name: "smoke", Verdict: verdict.Pass}},
	}); !strings.Contains(got, "missing") {
		t.Error(got)
	}
}
