package report

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/runtime/ledger"
)

var failed = verdict.New(code.Outcome).On("baseline").Is(verdict.Fail)

// TestLocked: what is locked stands in the plan's order, each under its phase, the features too, which do not name it.
func TestLocked(t *testing.T) {
	s := newStory(t)
	s.nodes = []string{"baseline", "phase.z.step.exec.build", "feature.kv.qualify", "feature.kv", "feature.b", "phase.z", "feature.a", "phase.y"}
	s.begin("r1")
	s.add(&ledger.Record{Type: "end", Run: "r1", End: &ledger.End{
		Verdict: verdict.Fail, Reason: verdict.New(code.Finished),
		Locked: map[string]verdict.Reason{
			"feature.a": failed, "feature.b": failed, "feature.kv": failed, "phase.y": failed, "phase.z": failed, "phase.z.step.exec.build": failed,
		},
	}})
	var got []string
	for _, l := range Locked(s.st) {
		got = append(got, l.Phase+":"+l.Node)
	}
	want := []string{"z:phase.z.step.exec.build", "z:feature.kv", "z:feature.b", "z:phase.z", "y:feature.a", "y:phase.y"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestRows: rows stand in the plan's order whatever was decided last, a node that was decided since it was locked is
// locked no more, and what the plan has no more stands behind all others and says so.
func TestRows(t *testing.T) {
	s := newStory(t)
	decide := func(node string, attempt int) {
		s.add(&ledger.Record{Type: "decision", Run: "r1", Decision: &ledger.Decision{Node: node, Kind: ledger.KindGate, Attempt: attempt, Verdict: verdict.Pass}})
	}
	rows := func(want ...string) {
		t.Helper()
		var got []string
		for _, r := range Rows(s.st) {
			text := r.Node + " open"
			switch {
			case r.Gone:
				text = r.Node + " gone"
			case !r.Locked.IsZero():
				text = r.Node + " locked"
			case r.Decided != nil:
				text = r.Node
			}
			got = append(got, text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	start := func(run string, nodes ...string) {
		s.add(&ledger.Record{Type: "run", Run: run, RunStart: &ledger.RunStart{Plan: "p", PlanFile: "p.hcl", Tool: "test", Nodes: nodes}})
	}
	start("r1", "phase.a", "phase.b", "phase.c", "phase.d", "phase.e", "phase.old")
	decide("phase.b", 1)
	decide("phase.old", 1)
	decide("phase.a", 1)
	rows("phase.a", "phase.b", "phase.c open", "phase.d open", "phase.e open", "phase.old")
	s.add(&ledger.Record{Type: "end", Run: "r1", End: &ledger.End{
		Verdict: verdict.Fail, Reason: verdict.New(code.Finished),
		Locked: map[string]verdict.Reason{"phase.c": failed, "phase.d": failed, "phase.e": verdict.New(code.NotTargeted)},
	}})
	rows("phase.a", "phase.b", "phase.c locked", "phase.d locked", "phase.e locked", "phase.old")
	start("r2", "phase.a", "phase.b", "phase.c", "phase.d", "phase.e", "phase.old")
	decide("phase.c", 1)
	// What --target left out of r1 is open in r2, which goes on.
	rows("phase.a", "phase.b", "phase.c", "phase.d locked", "phase.e open", "phase.old")
	start("r3", "phase.c", "phase.b", "phase.new", "phase.d", "phase.a")
	decide("phase.c", 2)
	rows("phase.c", "phase.b", "phase.new open", "phase.d locked", "phase.a", "phase.old gone")
	if gone := Gone(s.st); len(gone) != 1 || gone[0].Node != "phase.old" {
		t.Errorf("gone: %v", gone)
	}
	for _, d := range Standing(s.st) {
		if d.Node == "phase.old" {
			t.Error("phase.old stands")
		}
	}
}

// TestOverruled: a waiver and a retraction stand beside what was decided, never
// in its place, and one that does not hold any more is shown as such.
func TestOverruled(t *testing.T) {
	now, s := time.Now().UTC(), newStory(t)
	s.at = now.Add(-time.Hour)
	decided := func(node, kind string, v verdict.Verdict) *ledger.Decision {
		return &ledger.Decision{
			Node: node, Kind: kind, Phase: strings.TrimPrefix(node, "phase."), MeasureKey: "m", DecisionKey: "d", Attempt: 1, Verdict: v,
			Reasons: []verdict.Reason{verdict.Say("broken", "{error}", verdict.Text("error", "decode: slower"))},
		}
	}
	decide := func(d *ledger.Decision) { s.add(&ledger.Record{Type: "decision", Run: "r1", Decision: d}) }
	waive := func(node string, until time.Time) {
		s.add(&ledger.Record{Type: "waiver", Run: "r1", Waiver: &ledger.Waiver{Node: node, Attempt: 1, Verdict: verdict.Fail, Reason: "known", By: "kim", Expires: until}})
	}
	s.begin("r1")
	f := decided("feature.f", "feature", verdict.Pass)
	f.Feature, f.Accepted, f.Rules = "f", true, []ledger.Rule{{Name: "decode", Expr: "chat.tg.gain > 0", Verdict: verdict.Pass, Decides: true}}
	for _, d := range []*ledger.Decision{decided("phase.holds", "gate", verdict.Fail), decided("phase.ended", "gate", verdict.Fail), decided("phase.plain", "gate", verdict.Fail), f} {
		decide(d)
	}
	waive("phase.holds", now.Add(time.Hour))
	waive("phase.ended", now.Add(-time.Minute))
	gone := f.Withdraw(ledger.Retraction{Node: "feature.f", Reason: "cached prompts", By: "lee"})
	decide(gone)
	// A later apply decides it again over the same launches.
	decide(gone.Withdraw(*gone.Retraction))

	var states []string
	for _, o := range OverruledNow(s.st, now) {
		states = append(states, o.Node+" "+o.Word()+" "+o.State)
	}
	want := "phase.holds fail, waived waived|phase.ended fail waiver expired|feature.f invalid retracted"
	must.Equal(t, "overruled", strings.Join(states, "|"), want)
	page := markdown(t, s)
	must.Contain(t, "the page has no", page,
		"| holds | **fail, waived** | waived by kim until ", "known<br>decode: slower |",
		"| ended | **fail** | waiver by kim expired ",
		"| plain | **fail** | decode: slower |",
		"## f: invalid", "retracted by lee: cached prompts. The following was pass, accepted (attempt 1).",
		"| decode | – | `chat.tg.gain > 0` | – | pass |",
	)
}
