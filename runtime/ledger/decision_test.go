package ledger

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
)

// TestChoicesAreChecked: a decision with two winners, or with a word that is no verdict, is no record.
func TestChoicesAreChecked(t *testing.T) {
	for name, c := range map[string]struct {
		d    Decision
		want string
	}{
		"one winner": {Decision{Alternatives: []Alternative{
			{Name: "a", Verdict: "pass", Chosen: true},
			{Name: "b", Verdict: "fail"},
		}}, ""},
		"none": {Decision{
			Alternatives:  []Alternative{{Name: "a", Verdict: "invalid"}},
			Confirmations: []Confirmation{{Engine: "vllm.big"}},
		}, ""},
		"two winners": {Decision{Alternatives: []Alternative{
			{Name: "a", Verdict: "pass", Chosen: true},
			{Name: "b", Verdict: "pass", Chosen: true},
		}}, "both a and b"},
		"a word": {
			Decision{Alternatives: []Alternative{{Name: "a", Verdict: "great"}}},
			"unknown verdict of alternative a",
		},
		"no word": {Decision{Alternatives: []Alternative{{Name: "a"}}}, "unknown verdict of alternative a"},
		"a word of another": {
			Decision{Confirmations: []Confirmation{{Engine: "vllm.big", Verdict: "great"}}},
			"unknown verdict on engine.vllm.big",
		},
	} {
		c.d.Node, c.d.Kind, c.d.Verdict, c.d.Attempt = "feature.x", "feature", "pass", 1
		err := (&Record{Type: "decision", Run: "r", Time: time.Now().UTC(), Decision: &c.d}).check()
		if err == nil && c.want == "" {
			continue
		}
		if err == nil || c.want == "" || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestChanged: a decision that says what the one on record says is none, in whichever
// words, and of another it is known what changed.
func TestChanged(t *testing.T) {
	decided := func() *Decision {
		return &Decision{
			Node: "feature.x", Kind: KindFeature, MeasureKey: "m", Verdict: verdict.Pass, Launches: []string{"s-1.x.1"},
			Attempt:    2,
			Statistics: &gates.Settings{FalsePass: 0.05}, Hypothesis: &Hypothesis{Metric: "chat.tg", Expect: "+10%"},
			Rules: []verdict.Rule{{
				Name: "decode", Expr: "chat.tg.gain >= 0.1", Verdict: verdict.Pass,
				Inputs: []verdict.Input{{Value: new(float64)}},
			}},
			Reasons: []verdict.Reason{verdict.Say("kept", "kept as {n}", verdict.Int("n", 1))},
			Evidence: []gates.Feature{
				{Name: "x", Max: 4, Candidate: gates.Arm{Launches: []gates.Launch{{ID: "s-1.x.1", Round: 1}}}},
			},
		}
	}
	line := must.Get(json.Marshal(decided()))(t)
	for name, c := range map[string]struct {
		change func(*Decision)
		want   code.Kind
	}{
		"nothing": {func(*Decision) {}, ""},
		"what it is recorded": {func(d *Decision) {
			d.Attempt, d.Seconds, d.Because = 3, 1, verdict.Say("first", "first")
		}, ""},
		"other words": {func(d *Decision) {
			d.Reasons[0] = verdict.Say("kept", "it stays: {n}", verdict.Int("n", 1))
		}, ""},
		"an empty list":    {func(d *Decision) { d.Levels, d.Variant = []Level{}, map[string]string{} }, ""},
		"the hypothesis":   {func(d *Decision) { d.Hypothesis.Expect = "+20%" }, "hypothesis_changed"},
		"a rule":           {func(d *Decision) { d.Rules[0].Expr = "chat.tg.gain >= 0.2" }, "rules_changed"},
		"the settings":     {func(d *Decision) { d.Statistics.FalsePass = 0.01 }, "rules_changed"},
		"the launches":     {func(d *Decision) { d.Launches = append(d.Launches, "s-1.x.2") }, "evidence_changed"},
		"what it rests on": {func(d *Decision) { d.MeasureKey = "n" }, "evidence_changed"},
		"both": {func(d *Decision) {
			d.MeasureKey, d.Rules[0].Expr = "n", "true"
		}, "rules_and_evidence_changed"},
		"a number":       {func(d *Decision) { *d.Rules[0].Inputs[0].Value = math.NaN() }, "rules_changed"},
		"another reason": {func(d *Decision) { d.Reasons[0].Kind = "gone" }, "rules_changed"},
	} {
		recorded, now := &Decision{}, decided()
		must.Do(t, json.Unmarshal(line, recorded))
		if c.change(now); now.Changed(recorded).Kind != c.want {
			t.Errorf("%s: %q, want %q", name, now.Changed(recorded).Kind, c.want)
		}
	}
	if why := decided().Changed(nil); why.Kind != "first" {
		t.Errorf("the first: %q", why.Kind)
	}
}

// TestDraws: a ledger takes each draw that its run committed itself to, once and in
// whatever order launches end that stood side by side, and no other.
func TestDraws(t *testing.T) {
	draws, committed := NewDraws()
	_, other := NewDraws()
	first, second, third := draws.Next(), draws.Next(), draws.Next()
	moved := third
	moved.Step = 2
	for name, c := range map[string]struct {
		committed string
		drawn     []Draw
		refused   int // of drawn; -1 for none
	}{
		"in order":               {committed, []Draw{first, second, third}, -1},
		"none":                   {committed, []Draw{{}, {}}, -1},
		"of another run":         {other, []Draw{first}, 0},
		"not committed":          {"", []Draw{first}, 0},
		"twice":                  {committed, []Draw{first, first}, 1},
		"side by side":           {committed, []Draw{second, first, third}, -1},
		"the earlier one twice":  {committed, []Draw{second, first, first}, 2},
		"another's earlier step": {committed, []Draw{third, {Seed: second.Seed, Step: 1}}, 1},
		"of another step":        {committed, []Draw{first, moved}, 1},
		"the commitment":         {committed, []Draw{{Seed: committed}}, 0},
		"more than are made":     {committed, []Draw{{Seed: "x", Step: maxDraws + 1}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			l := must.Get(Open(filepath.Join(t.TempDir(), "ledger"), nil))(t)
			defer l.Close()
			start := runStart("r")
			start.RunStart.Draws = c.committed
			must.Do(t, l.Append(start))
			for i, d := range c.drawn {
				made := launch("r", string(rune('a'+i)))
				made.Launch.Draw = d
				if err := l.Append(made); (err != nil) != (i == c.refused) {
					t.Errorf("draw %d: %v", i, err)
				}
			}
		})
	}
	if d := (*Draws)(nil).Next(); d != (Draw{}) {
		t.Errorf("%+v", d)
	}
}

// What is made again keeps its number, also where others were launched meanwhile.
func TestNumbers(t *testing.T) {
	launch := func(id, variant string, ordinal, order int) *Launch {
		return &Launch{ID: id, VariantKey: variant, Ordinal: ordinal, Order: order}
	}
	for _, c := range []struct {
		launches []*Launch
		want     string
	}{
		{nil, "map[]"},
		{
			[]*Launch{
				launch("a1", "a", 1, 1), launch("b1", "b", 1, 2), launch("b2", "b", 2, 3),
				launch("a2", "a", 2, 4),
			},
			"map[a1:1 a2:4 b1:2 b2:3]",
		},
		{[]*Launch{
			launch("a1", "a", 1, 1), launch("b1", "b", 1, 2), launch("b1r1", "b", 1, 3),
			launch("b1r2", "b", 1, 4), launch("b2", "b", 2, 5),
		}, "map[a1:1 b1:2 b1r1:2 b1r2:2 b2:3]"},
		{[]*Launch{
			launch("b1r1", "b", 1, 4), launch("c1", "c", 1, 3), launch("b1", "b", 1, 2),
			launch("a1", "a", 1, 1),
		}, "map[a1:1 b1:2 b1r1:2 c1:3]"},
	} {
		if got := fmt.Sprint(Numbers(c.launches)); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// gate is a decision about a gate that did not pass.
func gate(attempt int) *Record {
	return &Record{Type: "decision", Time: noon, Run: "r1", Decision: &Decision{
		Node: "phase.a", Kind: "gate", Phase: "a", MeasureKey: "m", DecisionKey: "d", Attempt: attempt,
		Verdict: verdict.Fail,
	}}
}

func waiver(attempt int) *Record {
	return &Record{Type: "waiver", Time: noon, Run: "r1", Waiver: &Waiver{
		Node: "phase.a", Attempt: attempt, Verdict: verdict.Fail,
		Reason: "known", By: "kim", Expires: noon.Add(time.Hour),
	}}
}

// overruled is a ledger in which a person waived what was decided.
func overruled() []*Record {
	a, g := decision("r1", "feature.a", 1), gate(1)
	return []*Record{runStart("r1"), a, g, waiver(1), gate(2)}
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
		"as it was given": {nil, noon, true, "waiver.covers"},
		"to its end":      {nil, w.Expires.Add(-1), true, "waiver.covers"},
		"at its end":      {nil, w.Expires, false, "waiver.expired"},
		"revoked":         {func(w *Waiver, _ *Decision) { w.Revoked = true }, noon, false, "waiver.revoked"},
		"another attempt": {func(_ *Waiver, d *Decision) { d.Attempt = 3 }, noon, false, "waiver.of_earlier"},
		"another verdict": {func(_ *Waiver, d *Decision) {
			d.Verdict = verdict.Invalid
		}, noon, false, "waiver.of_earlier"},
		"another gate":     {func(_ *Waiver, d *Decision) { d.Node = "phase.b" }, noon, false, ""},
		"it passed since":  {func(_ *Waiver, d *Decision) { d.Attempt, d.Verdict = 3, verdict.Pass }, noon, false, ""},
		"revoked long ago": {func(w *Waiver, d *Decision) { w.Revoked, d.Attempt = true, 3 }, noon, false, ""},
	} {
		d, w := *d, *w
		if c.change != nil {
			c.change(&w, &d)
		}
		must.Equal(t, name, w.Covers(&d, c.at), c.covers)
		got := w.Effect(&d, c.at)
		if name != "another gate" && got.Kind != c.bears {
			t.Errorf("%s: it bears %+v, want %q", name, got, c.bears)
		}
		args := map[code.Kind]string{
			"waiver.covers": "kim known 2026-01-02 13:00 UTC ", "waiver.expired": "kim known 2026-01-02 13:00 UTC ",
			"waiver.revoked": "kim known  ", "waiver.of_earlier": "kim   fail",
		}
		said := got.Values["by"].Text + " " + got.Values["reason"].Text + " " + got.Values["until"].Text + " " +
			string(got.Verdict)
		if want, ok := args[got.Kind]; ok &&
			(said != want || got.Kind == "waiver.of_earlier" && *got.Values["attempt"].Number != float64(w.Attempt)) {
			t.Errorf("%s: it bears %+v", name, got)
		}
	}
	var none *Waiver
	if none.Covers(d, noon) || !none.Effect(d, noon).IsZero() || w.Covers(nil, noon) {
		t.Error("what is not there covers something")
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
	for name, c := range map[string]struct {
		record  *Record
		problem string
	}{
		"no reason":    {w(func(w *Waiver) { w.Reason = " " }), "without a reason"},
		"nobody":       {w(func(w *Waiver) { w.By = "" }), "without a person"},
		"for ever":     {w(func(w *Waiver) { w.Expires = time.Time{} }), "must expire"},
		"expired":      {w(func(w *Waiver) { w.Expires = noon }), "but was recorded later"},
		"unknown gate": {w(func(w *Waiver) { w.Node = "phase.b" }), "has no decision"},
		"a feature": {
			w(func(w *Waiver) { w.Node = "feature.a"; w.Verdict = verdict.Fail }),
			"which is a feature",
		},
		"a pass":          {w(func(w *Waiver) { w.Verdict = verdict.Pass }), "only fail, inconclusive and invalid"},
		"an error":        {w(func(w *Waiver) { w.Verdict = verdict.Error }), "only fail, inconclusive and invalid"},
		"another attempt": {w(func(w *Waiver) { w.Attempt = 2 }), "newest decision is attempt 1"},
		"unknown verdict": {w(func(w *Waiver) { w.Verdict = "ok" }), "unknown verdict"},
		"no gate":         {w(func(w *Waiver) { w.Node = "" }), "without a gate"},
	} {
		l := must.Get(Open(t.TempDir()+"/ledger", nil))(t)
		must.Do(t, l.Append(all[:3]...))
		must.Refuse(t, name, l.Append(c.record), c.problem)
		// What was refused is forgotten: the whole goes in afterwards.
		must.Equal(t, name, l.Append(all[3:]...), nil)
		l.Close()
	}
}
