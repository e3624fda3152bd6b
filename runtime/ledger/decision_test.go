package ledger

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
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
	line, err := json.Marshal(decided())
	if err != nil {
		t.Fatal(err)
	}
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
		if err := json.Unmarshal(line, recorded); err != nil {
			t.Fatal(err)
		}
		if c.change(now); now.Changed(recorded).Kind != c.want {
			t.Errorf("%s: %q, want %q", name, now.Changed(recorded).Kind, c.want)
		}
	}
	if why := decided().Changed(nil); why.Kind != "first" {
		t.Errorf("the first: %q", why.Kind)
	}
}
