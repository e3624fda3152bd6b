package answers

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
)

// Reference answers are artifacts: a missing value must not come back as a number.
func TestJSON(t *testing.T) {
	want := Answer{
		Asked: "sha256:1", End: "length",
		Prompt: []Token{{Text: "The", ID: 4}, {Text: " end", ID: -1, LogProb: Of(math.NaN())}},
		Tokens: []Token{
			{
				Text: "", ID: 0, LogProb: Of(0),
				Top: []Alternative{{Text: "a", ID: 1, LogProb: Of(math.Inf(-1))}, {Text: "b", ID: -1}},
			},
			{Text: `bytes:\xe2`, ID: 7, LogProb: Of(-1.25)},
			{Text: "c", ID: 3, LogProb: Of(math.Inf(1))},
		},
	}
	text, err := json.Marshal(want)
	must.Do(t, err)
	var got Answer
	must.Do(t, json.Unmarshal(text, &got))
	again, err := json.Marshal(got)
	if err != nil || string(again) != string(text) {
		t.Errorf("%s became %s (%v)", text, again, err)
	}
	if n, given := got.Tokens[0].LogProb.Number(); n != 0 || !given {
		t.Errorf("a log-probability of 0 became %v, %v", n, given)
	}
	if n, given := got.Prompt[0].LogProb.Number(); !math.IsNaN(n) || given {
		t.Errorf("a missing log-probability became %v, %v", n, given)
	}
	if n, given := got.Prompt[1].LogProb.Number(); !math.IsNaN(n) || !given {
		t.Errorf("NaN became %v, %v", n, given)
	}
	if n, given := got.Tokens[0].Top[0].LogProb.Number(); !math.IsInf(n, -1) || !given {
		t.Errorf("-Inf became %v, %v", n, given)
	}
}

func TestValueRefused(t *testing.T) {
	for _, text := range []string{`"high"`, `true`, `{}`, `""`, `1e999`} {
		var v Value
		if err := json.Unmarshal([]byte(text), &v); err == nil {
			t.Errorf("%s became %v", text, v)
		}
	}
	for _, text := range []string{`"NaN"`, `"-Infinity"`, `"inf"`} {
		var v Value
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Errorf("%s: %v", text, err)
		} else if _, finite := v.Finite(); finite {
			t.Errorf("%s became the finite %v", text, v)
		}
	}
}
