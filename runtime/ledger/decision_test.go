package ledger

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
)

// TestChoicesAreChecked: a decision with two winners, or with a word that is no
// verdict, is no record.
func TestChoicesAreChecked(t *testing.T) {
	for name, c := range map[string]struct {
		d    Decision
		want string
	}{
		"one winner":        {Decision{Alternatives: []Alternative{{Name: "a", Verdict: "pass", Chosen: true}, {Name: "b", Verdict: "fail"}}}, ""},
		"none":              {Decision{Alternatives: []Alternative{{Name: "a", Verdict: "invalid"}}, Confirmations: []Confirmation{{Engine: "vllm.big"}}}, ""},
		"two winners":       {Decision{Alternatives: []Alternative{{Name: "a", Verdict: "pass", Chosen: true}, {Name: "b", Verdict: "pass", Chosen: true}}}, "both a and b"},
		"a word":            {Decision{Alternatives: []Alternative{{Name: "a", Verdict: "great"}}}, "unknown verdict of alternative a"},
		"no word":           {Decision{Alternatives: []Alternative{{Name: "a"}}}, "unknown verdict of alternative a"},
		"a word of another": {Decision{Confirmations: []Confirmation{{Engine: "vllm.big", Verdict: "great"}}}, "unknown verdict on engine.vllm.big"},
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
			Node: "feature.x", Kind: KindFeature, MeasureKey: "m", Verdict: verdict.Pass, Launches: []string{"s-1.x.1"}, Attempt: 2,
			Statistics: &Statistics{FalsePass: 0.05}, Hypothesis: &Hypothesis{Metric: "chat.tg", Expect: "+10%"},
			Rules:   []Rule{{Name: "decode", Expr: "chat.tg.gain >= 0.1", Verdict: verdict.Pass, Inputs: []Input{{Value: new(float64)}}}},
			Reasons: []verdict.Reason{verdict.Say("kept", "kept as {n}", verdict.Int("n", 1))}, Evidence: []Evidence{{Feature: "x", Max: 4}},
		}
	}
	line := must.Get(json.Marshal(decided()))(t)
	for name, c := range map[string]struct {
		change func(*Decision)
		want   code.Kind
	}{
		"nothing":             {func(*Decision) {}, ""},
		"what it is recorded": {func(d *Decision) { d.Attempt, d.Seconds, d.Because = 3, 1, verdict.Say("first", "first") }, ""},
		"other words":         {func(d *Decision) { d.Reasons[0] = verdict.Say("kept", "it stays: {n}", verdict.Int("n", 1)) }, ""},
		"an empty list":       {func(d *Decision) { d.Levels, d.Variant = []Level{}, map[string]string{} }, ""},
		"the hypothesis":      {func(d *Decision) { d.Hypothesis.Expect = "+20%" }, "hypothesis_changed"},
		"a rule":              {func(d *Decision) { d.Rules[0].Expr = "chat.tg.gain >= 0.2" }, "rules_changed"},
		"the settings":        {func(d *Decision) { d.Statistics.FalsePass = 0.01 }, "rules_changed"},
		"the launches":        {func(d *Decision) { d.Launches = append(d.Launches, "s-1.x.2") }, "evidence_changed"},
		"what it rests on":    {func(d *Decision) { d.MeasureKey = "n" }, "evidence_changed"},
		"both":                {func(d *Decision) { d.MeasureKey, d.Rules[0].Expr = "n", "true" }, "rules_and_evidence_changed"},
		"a number":            {func(d *Decision) { *d.Rules[0].Inputs[0].Value = math.NaN() }, "rules_changed"},
		"another reason":      {func(d *Decision) { d.Reasons[0].Kind = "gone" }, "rules_changed"},
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
		"one was not kept":       {committed, []Draw{first, third}, -1},
		"none":                   {committed, []Draw{{}, {}}, -1},
		"of another run":         {other, []Draw{first}, 0},
		"not committed":          {"", []Draw{first}, 0},
		"twice":                  {committed, []Draw{first, first}, 1},
		"side by side":           {committed, []Draw{second, first, third}, -1},
		"the later one twice":    {committed, []Draw{second, first, second}, 2},
		"the earlier one twice":  {committed, []Draw{second, first, first}, 2},
		"another's earlier step": {committed, []Draw{third, {Seed: second.Seed, Step: 1}}, 1},
		"of another step":        {committed, []Draw{first, moved}, 1},
		"the commitment":         {committed, []Draw{{Seed: committed}}, 0},
		"a negative step":        {committed, []Draw{{Seed: committed, Step: -1}}, 0},
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
		{[]*Launch{launch("a1", "a", 1, 1), launch("b1", "b", 1, 2), launch("b2", "b", 2, 3), launch("a2", "a", 2, 4)}, "map[a1:1 a2:4 b1:2 b2:3]"},
		{[]*Launch{launch("a1", "a", 1, 1), launch("b1", "b", 1, 2), launch("b1r1", "b", 1, 3), launch("b1r2", "b", 1, 4), launch("b2", "b", 2, 5)}, "map[a1:1 b1:2 b1r1:2 b1r2:2 b2:3]"},
		{[]*Launch{launch("b1r1", "b", 1, 4), launch("c1", "c", 1, 3), launch("b1", "b", 1, 2), launch("a1", "a", 1, 1)}, "map[a1:1 b1:2 b1r1:2 c1:3]"},
	} {
		if got := fmt.Sprint(Numbers(c.launches)); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
