package report

import (
	"bytes"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

var update = flag.Bool("update", false, "write the goldens anew")

func TestStackIsInThePlansOrder(t *testing.T) {
	st := stacked(t).st
	s := AcceptedStack(st)
	if s.Sum() != "baseline + cache + moe" || KnobWords(s.Knobs) != "cache = on, head = f32, moe = routed" {
		t.Fatal(s.Sum(), s.Knobs)
	}
	if f := s.Features[1]; KnobWords(f.Set) != "moe = routed" || f.On != "baseline" || len(f.Gains) != 1 || f.Gains[0].String() != "chat.tg.gain +49.6 % (at least +46.2 %)" {
		t.Errorf("%+v, %v", f, f.Gains)
	}
}

// TestSetIsWhatDiffersFromTheParent: a part that puts a knob back to the
// baseline's value sets it all the same.
func TestSetIsWhatDiffersFromTheParent(t *testing.T) {
	s := stacked(t)
	s.begin("r2")
	both, _ := s.st.LaunchByID("s-2.accepted.1")
	back := s.launches("s-3", "back", set("cache=on"), 44, 45)
	s.feature("back", true, set("cache=on"), "accepted", []string{both.ID, "s-2.accepted.2"}, back, 0.1, 0.05)
	got := AcceptedStack(s.st)
	if got.Sum() != "baseline + cache + moe + back" || KnobWords(got.Knobs) != "cache = on, head = f32, moe = all" || KnobWords(got.Features[2].Set) != "moe = all" {
		t.Error(got.Sum(), got.Knobs, got.Features[2].Set)
	}
}

func TestRetractedIsNotInTheStack(t *testing.T) {
	s := stacked(t)
	s.add(&ledger.Record{Type: "decision", Run: "r1", Decision: &ledger.Decision{
		Node: "feature.cache", Kind: "feature", Phase: "p", Feature: "cache", Attempt: 2, Verdict: verdict.Invalid, Supersedes: true,
		Retraction: &ledger.Retraction{Node: "feature.cache", Attempt: 1, Verdict: verdict.Pass, Accepted: true, Reason: "wrong kernel", By: "a person"},
	}})
	if got := AcceptedStack(s.st); got.Sum() != "baseline + moe" {
		t.Error(got.Sum())
	}
}

func TestChosenAlternativeSetsWhatItDoes(t *testing.T) {
	s := stacked(t)
	s.begin("r2")
	base := []string{"s-1.baseline.1", "s-1.baseline.2"}
	own := s.launches("s-4", "spec[short]", set("head=mxfp4"), 25, 26)
	s.feature("spec", true, set("head=mxfp4"), "baseline", base, own, 0.2, 0.1, func(d *ledger.Decision) {
		d.Alternatives = []ledger.Alternative{
			{Name: "spec[long]", Set: map[string]string{"head": "other"}, Verdict: verdict.Fail},
			{Name: "spec[short]", Set: map[string]string{"head": "mxfp4"}, Verdict: verdict.Pass, Chosen: true},
		}
	})
	got := AcceptedStack(s.st)
	if last := got.Features[len(got.Features)-1]; last.Chosen != "spec[short]" || got.Knobs["head"] != "mxfp4" {
		t.Errorf("%+v", last)
	}
}

// TestPages compares the sections of the report with their golden.
func TestPages(t *testing.T) {
	st := stacked(t).st
	var out bytes.Buffer
	p := &page{w: &out, st: st, now: time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC)}
	p.stack()
	p.targets()
	p.hypotheses()
	p.interactions()
	if p.err != nil {
		t.Fatal(p.err)
	}
	const golden = "testdata/stack.md"
	if *update {
		if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || !bytes.Equal(out.Bytes(), want) {
		t.Errorf("%v\n%s", err, out.String())
	}
}
