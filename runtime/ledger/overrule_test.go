package ledger

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
)

// gate is a decision about a gate that did not pass.
func gate(attempt int) *Record {
	return &Record{Type: "decision", Time: noon, Run: "r1", Decision: &Decision{
		Node: "phase.a", Kind: "gate", Phase: "a", MeasureKey: "m", DecisionKey: "d", Attempt: attempt, Verdict: verdict.Fail,
	}}
}

func waiver(attempt int) *Record {
	return &Record{Type: "waiver", Time: noon, Run: "r1", Waiver: &Waiver{
		Node: "phase.a", Attempt: attempt, Verdict: verdict.Fail,
		Reason: "known", By: "kim", Expires: noon.Add(time.Hour),
	}}
}

func retraction(of *Record, root string) *Record {
	return &Record{Type: "decision", Time: noon, Run: "r1", Decision: of.Decision.Withdraw(Retraction{Node: root, Reason: "wrong prompts", By: "kim"})}
}

// overruled is a ledger in which people overruled what was decided.
func overruled() []*Record {
	a, g := decision("r1", "feature.a", 1), gate(1)
	return []*Record{runStart("r1"), a, g, waiver(1), retraction(a, "feature.a"), retraction(g, "feature.a")}
}

func TestWaiverCovers(t *testing.T) {
	d := gate(2).Decision
	w := waiver(2).Waiver
	for name, c := range map[string]struct {
		change func(*Waiver, *Decision)
		at     time.Time
		covers bool
		bears  code.Kind
	}{
		"as it was given":  {nil, noon, true, "waiver.covers"},
		"to its end":       {nil, w.Expires.Add(-1), true, "waiver.covers"},
		"at its end":       {nil, w.Expires, false, "waiver.expired"},
		"revoked":          {func(w *Waiver, _ *Decision) { w.Revoked = true }, noon, false, "waiver.revoked"},
		"another attempt":  {func(_ *Waiver, d *Decision) { d.Attempt = 3 }, noon, false, "waiver.of_earlier"},
		"another verdict":  {func(_ *Waiver, d *Decision) { d.Verdict = verdict.Invalid }, noon, false, "waiver.of_earlier"},
		"another gate":     {func(_ *Waiver, d *Decision) { d.Node = "phase.b" }, noon, false, ""},
		"it passed since":  {func(_ *Waiver, d *Decision) { d.Attempt, d.Verdict = 3, verdict.Pass }, noon, false, ""},
		"revoked long ago": {func(w *Waiver, d *Decision) { w.Revoked, d.Attempt = true, 3 }, noon, false, ""},
	} {
		d, w := *d, *w
		if c.change != nil {
			c.change(&w, &d)
		}
		if got := w.Covers(&d, c.at); got != c.covers {
			t.Errorf("%s: covers is %v", name, got)
		}
		got := w.Effect(&d, c.at)
		if name != "another gate" && got.Kind != c.bears {
			t.Errorf("%s: it bears %+v, want %q", name, got, c.bears)
		}
		args := map[code.Kind]string{
			"waiver.covers": "kim known 2026-01-02 13:00 UTC ", "waiver.expired": "kim known 2026-01-02 13:00 UTC ",
			"waiver.revoked": "kim known  ", "waiver.of_earlier": "kim   fail",
		}
		said := got.Values["by"].Text + " " + got.Values["reason"].Text + " " + got.Values["until"].Text + " " + string(got.Verdict)
		if want, ok := args[got.Kind]; ok && (said != want || got.Kind == "waiver.of_earlier" && *got.Values["attempt"].Number != float64(w.Attempt)) {
			t.Errorf("%s: it bears %+v", name, got)
		}
	}
	var none *Waiver
	if none.Covers(d, noon) || !none.Effect(d, noon).IsZero() || w.Covers(nil, noon) {
		t.Error("what is not there covers something")
	}
}

// TestWithdraw: what takes the place of an outcome unlocks nothing, and names
// what was decided first however often it is withdrawn.
func TestWithdraw(t *testing.T) {
	d := decision("r1", "feature.a", 1).Decision
	d.Accepted = true
	once := d.Withdraw(Retraction{Node: "feature.z", Reason: "wrong prompts", By: "kim"})
	if !once.Withdrawn() || once.Retracted() || once.Accepted || once.Verdict != verdict.Invalid || once.Attempt != 2 || !once.Derived {
		t.Errorf("%+v", once)
	}
	was := verdict.Say("retraction.was", "previously {verdict}{accepted?, accepted} (attempt {attempt})",
		verdict.Int("attempt", 1), verdict.Text("accepted", "yes")).Is(verdict.Pass)
	want := []verdict.Reason{verdict.Say("retraction.below",
		"based on {subject}, which was retracted by {by}: {reason}",
		verdict.Text("by", "kim"), verdict.Text("reason", "wrong prompts")).On("feature.z"), was}
	if !reflect.DeepEqual(once.Reasons, want) {
		t.Errorf("reasons are %+v, want %+v", once.Reasons, want)
	}
	twice := once.Withdraw(Retraction{Node: "feature.a", Reason: "wrong itself", By: "lee"})
	if !twice.Retracted() || twice.Attempt != 3 || !twice.Retraction.Was().Equal(was) {
		t.Errorf("%+v", twice.Retraction)
	}
}

// TestOverruledRecords: what cannot be said later who decided and why, or is about
// something else than what was decided last, is no record.
func TestOverruledRecords(t *testing.T) {
	all := overruled()
	if _, data, _ := create(t, all...); len(data) == 0 {
		t.Fatal("nothing was written")
	}
	w := func(change func(*Waiver)) *Record {
		r := waiver(1)
		change(r.Waiver)
		return r
	}
	r := func(change func(*Decision)) *Record {
		again := retraction(all[1], "feature.a")
		change(again.Decision)
		return again
	}
	for name, c := range map[string]struct {
		record  *Record
		problem string
	}{
		"no reason":           {w(func(w *Waiver) { w.Reason = " " }), "without a reason"},
		"nobody":              {w(func(w *Waiver) { w.By = "" }), "without a person"},
		"for ever":            {w(func(w *Waiver) { w.Expires = time.Time{} }), "must expire"},
		"expired":             {w(func(w *Waiver) { w.Expires = noon }), "but was recorded later"},
		"no gate":             {w(func(w *Waiver) { w.Node = "" }), "without a gate"},
		"unknown gate":        {w(func(w *Waiver) { w.Node = "phase.b" }), "has no decision"},
		"a feature":           {w(func(w *Waiver) { w.Node = "feature.a"; w.Verdict = verdict.Fail }), "which is a feature"},
		"a pass":              {w(func(w *Waiver) { w.Verdict = verdict.Pass }), "only fail, inconclusive and invalid"},
		"an error":            {w(func(w *Waiver) { w.Verdict = verdict.Error }), "only fail, inconclusive and invalid"},
		"unknown verdict":     {w(func(w *Waiver) { w.Verdict = "ok" }), "unknown verdict"},
		"another attempt":     {w(func(w *Waiver) { w.Attempt = 2 }), "newest decision is attempt 1"},
		"retracted silently":  {r(func(d *Decision) { d.Retraction.Reason = "" }), "without a reason"},
		"retracted by nobody": {r(func(d *Decision) { d.Retraction.By = "" }), "without a person"},
		"retracted to a pass": {r(func(d *Decision) { d.Verdict = verdict.Pass }), "a withdrawn verdict must be invalid"},
		"accepted still":      {r(func(d *Decision) { d.Accepted = true }), "a withdrawn verdict must be invalid"},
		"of no node":          {r(func(d *Decision) { d.Retraction.Node = "" }), "without the node that caused it"},
		"of a later attempt":  {r(func(d *Decision) { d.Retraction.Attempt = 2 }), "only withdraw an earlier one"},
		"of another verdict":  {r(func(d *Decision) { d.Retraction.Verdict = verdict.Fail }), "newest decision is attempt 1 (pass)"},
		"unknown word":        {r(func(d *Decision) { d.Retraction.Verdict = "ok" }), "unknown verdict withdrawn"},
		"of what never was":   {r(func(d *Decision) { d.Node, d.Retraction.Node = "feature.b", "feature.b" }), "has no decision"},
		"because of a stander": {r(func(d *Decision) {
			d.Retraction.Node = "phase.a"
		}), "because of phase.a, which was not retracted"},
	} {
		l := must.Get(Open(t.TempDir()+"/ledger", nil))(t)
		must.Do(t, l.Append(all[:3]...))
		if err := l.Append(c.record); err == nil || !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: %v, want %q", name, err, c.problem)
		}
		// What was refused is forgotten: the whole goes in afterwards.
		if err := l.Append(all[3:]...); err != nil {
			t.Errorf("%s: what is right is refused after it: %v", name, err)
		}
		l.Close()
	}
}
