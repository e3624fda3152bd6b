package embedded

import (
	"math"
	"slices"
	"testing"
)

func TestGreedy(t *testing.T) {
	nan := float32(math.NaN())
	for _, test := range []struct {
		name            string
		logits          []float32
		forbidden, want token
		sound           bool
	}{
		{"largest", []float32{1, 3, 2}, noToken, 1, true},
		{"the first of equals", []float32{3, 3}, noToken, 0, true},
		{"forbidden", []float32{1, 3, 2}, 1, 2, true},
		{"forbidden first", []float32{9, 3, 2}, 0, 1, true},
		{"one NaN", []float32{1, 2, nan}, noToken, 0, false},
		{"all NaN", []float32{nan, nan}, noToken, 0, false},
	} {
		for _, temperature := range []float64{0, 1e-9} {
			if temperature > 0 && test.name == "the first of equals" {
				continue
			}
			got, sound := newSampler(sampling{Temperature: temperature, TopP: 1}, 1).choose(test.logits, test.forbidden)
			if got != test.want || sound != test.sound {
				t.Errorf("%s at %v: %d, %v; want %d, %v", test.name, temperature, got, sound, test.want, test.sound)
			}
		}
	}
}

func draws(s sampler, logits []float32, n int) []token {
	out := make([]token, n)
	for i := range out {
		out[i], _ = s.choose(logits, noToken)
	}
	return out
}

func TestSamplingIsDeterministicPerSeed(t *testing.T) {
	logits := []float32{1, 1, 1, 1, 1, 1, 1, 1}
	all := sampling{Temperature: 1, TopP: 1}
	a, b := draws(newSampler(all, 5), logits, 50), draws(newSampler(all, 5), logits, 50)
	if !slices.Equal(a, b) {
		t.Error("one seed drew two sequences")
	}
	if slices.Equal(a, draws(newSampler(all, 6), logits, 50)) {
		t.Error("two seeds drew one sequence")
	}
}

func TestWhatIsDrawnFrom(t *testing.T) {
	logits := []float32{0, float32(math.Log(6)), float32(math.Log(3))} // 10%, 60%, 30%
	for _, test := range []struct {
		topP float64
		topK int
		minP float64
		want []token
	}{
		{0.5, 0, 0, []token{1}},
		{0.85, 0, 0, []token{1, 2}},
		{1, 0, 0, []token{0, 1, 2}},
		{1, -1, 0, []token{0, 1, 2}},
		{1, 1, 0, []token{1}},
		{1, 2, 0, []token{1, 2}},
		{1, 9, 0, []token{0, 1, 2}},
		{0.66, 2, 0, []token{1}}, // 60 of the 90% that top_k leaves suffice
		{0.68, 2, 0, []token{1, 2}},
		{1, 0, 0.4, []token{1, 2}},
		{1, 0, 0.6, []token{1}},
		{1, 0, 1, []token{1}},
	} {
		s := newSampler(sampling{Temperature: 1, TopP: test.topP, TopK: test.topK, MinP: test.minP}, 3)
		seen := draws(s, logits, 300)
		slices.Sort(seen)
		if seen = slices.Compact(seen); !slices.Equal(seen, test.want) {
			t.Errorf("top_p %v, top_k %d, min_p %v drew %v, want %v", test.topP, test.topK, test.minP, seen, test.want)
		}
	}
}

func TestPenalise(t *testing.T) {
	logits := []float32{4, 4, -4, 1}
	penalise(logits, nil, 2)
	penalise(logits, []bool{true, false, true, true}, 2)
	if want := []float32{2, 4, -8, 0.5}; !slices.Equal(logits, want) {
		t.Errorf("%v, want %v", logits, want)
	}
}
