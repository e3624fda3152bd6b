package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// TestOverruled: a waiver and a retraction stand beside what was decided, never
// in its place, and one that does not hold any more is shown as such.
func TestOverruled(t *testing.T) {
	now := time.Now().UTC()
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	decided := func(node, kind string, v verdict.Verdict) *ledger.Decision {
		return &ledger.Decision{Node: node, Kind: kind, Phase: strings.TrimPrefix(node, "phase."), MeasureKey: "m", DecisionKey: "d", Attempt: 1, Verdict: v, Reasons: []verdict.Reason{verdict.Say("broken",
			"{error}",
			verdict.Text("error", "decode: slower"))}}
	}
	record := func(r ledger.Record) {
		r.Time, r.Run = now.Add(-time.Hour), "r1"
		if err := s.Append(&r); err != nil {
			t.Fatal(err)
		}
	}
	waive := func(node string, until time.Time) {
		record(ledger.Record{Type: "waiver", Waiver: &ledger.Waiver{Node: node, Attempt: 1, Verdict: verdict.Fail, Reason: "known", By: "kim", Expires: until}})
	}
	record(ledger.Record{Type: "run", RunStart: &ledger.RunStart{Plan: "p"}})
	f := decided("feature.f", "feature", verdict.Pass)
	f.Feature, f.Accepted, f.Rules = "f", true, []ledger.Rule{{Name: "decode", Expr: "chat.tg.gain > 0", Verdict: verdict.Pass, Decides: true}}
	for _, d := range []*ledger.Decision{decided("phase.holds", "gate", verdict.Fail), decided("phase.ended", "gate", verdict.Fail), decided("phase.plain", "gate", verdict.Fail), f} {
		record(ledger.Record{Type: "decision", Decision: d})
	}
	waive("phase.holds", now.Add(time.Hour))
	waive("phase.ended", now.Add(-time.Minute))
	gone := f.Withdraw(ledger.Retraction{Node: "feature.f", Reason: "cached prompts", By: "lee"})
	record(ledger.Record{Type: "decision", Decision: gone})
	// A later apply decides it again over the same launches.
	record(ledger.Record{Type: "decision", Decision: gone.Withdraw(*gone.Retraction)})

	var states []string
	for _, o := range OverruledNow(s, now) {
		states = append(states, o.Node+" "+o.Word()+" "+o.State)
	}
	want := "phase.holds fail, waived waived|phase.ended fail waiver expired|feature.f invalid retracted"
	if got := strings.Join(states, "|"); got != want {
		t.Errorf("overruled are\n%s\nwant\n%s", got, want)
	}
	var page bytes.Buffer
	if err := Markdown(&page, s, nil); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| holds | **fail, waived** | waived by kim until ", "known<br>decode: slower |",
		"| ended | **fail** | waiver by kim expired ",
		"| plain | **fail** | decode: slower |",
		"## f: invalid", "retracted by lee: cached prompts. The following was pass, accepted (attempt 1).",
		"| decode | – | `chat.tg.gain > 0` | – | pass |",
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page has no %q:\n%s", want, page.String())
		}
	}
}
