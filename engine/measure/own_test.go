package measure

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestOwnText: what decides a time to first token is the first token that an engine had to
// compute, whatever it sends at once.
func TestOwnText(t *testing.T) {
	// told is an answer whose pieces come at 100 ms, 110 ms and so on.
	told := func(pieces ...string) Sample {
		s := Sample{Workload: "chat", OutputTokens: len(pieces), Finish: "length"}
		for i, p := range pieces {
			e := Event{At: time.Duration(100+10*i) * time.Millisecond, Kind: KindText, Tokens: -1, Bytes: len(p)}
			if thought, is := strings.CutPrefix(p, "<"); is {
				e.Kind, e.Bytes = KindReasoning, len(thought)
				s.Reasoning += thought
			} else if s.Text += p; Visible(s.Text) == "" {
				e.Kind = KindBlank
			}
			s.Events = append(s.Events, e)
		}
		return s
	}
	others := func(n int) (all []Sample) {
		for i := range n {
			all = append(all, told(fmt.Sprint(" ", i, i), " and", " so", " on"))
		}
		return all
	}
	sure := func(i int) Sample { return told(" Sure", "!", " Here is", fmt.Sprint(" ", i), " line") }
	for name, c := range map[string]struct {
		samples []Sample
		want    []float64
	}{
		"no opening":          {others(4), []float64{110, 110, 110, 110}},
		"one answer":          {[]Sample{sure(1)}, []float64{110}},
		"an opening":          {[]Sample{sure(1), sure(2), sure(3)}, []float64{130, 130, 130}},
		"of two":              {[]Sample{sure(1), sure(2)}, []float64{110, 110}},
		"of a quarter":        {append(others(9), sure(1), sure(2), sure(3)), append(slices.Repeat([]float64{110}, 9), 130, 130, 130)},
		"of fewer":            {append(others(10), sure(1), sure(2), sure(3)), slices.Repeat([]float64{110}, 13)},
		"the same answer":     {slices.Repeat([]Sample{told(" Yes", ".", " so")}, 3), []float64{120, 120, 120}},
		"one and a longer":    {[]Sample{told(" Yes", "."), told(" Yes", ".", " No", " one"), told(" Yes", ".")}, []float64{110, 120, 110}},
		"invisibly different": {[]Sample{told(" Sure", "\u200b", "!", " a"), told("Sure", "\n\n", "\u00a0!", " b"), told("Su", "re", "!", " c")}, []float64{130, 130, 130}},
		"blanks before":       {[]Sample{told(" ", "\n", "Sure", "!", " a"), told("Sure", "!", " b"), told(" Sure", "!", " c")}, []float64{140, 120, 120}},
		"reasoning":           {[]Sample{told("<Okay", "<,", " Sure", "!", " a"), told("<Okay", "<,", " Sure", "!", " b"), told("<Okay", "<,", " Sure", "!", " c")}, []float64{140, 140, 140}},
		"in one event":        {[]Sample{told(" Sure! Here is a", " b"), told(" Sure! Here is c", " d"), told(" Sure! Here is e", " f")}, []float64{110, 110, 110}},
		"a letter in common":  {[]Sample{told(" Über", " uns", " d"), told(" Übel", " nach", " x"), told(" Üppig", " wie")}, []float64{110, 110, 110}},
		"text that is gone":   {[]Sample{{Workload: "chat", OutputTokens: 2, Events: told("a", "b").Events}}, []float64{110}},
	} {
		var got []float64
		for _, a := range answersOf(c.samples, CellRun{Cell: "chat"}) {
			got = append(got, a.values["ttft_own"]...)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
