package answers

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/internal/testing/must"
)

// answered are honest answers of n tokens, one word each, to prompts of 64 tokens.
func answered(n, tokens int, seed uint64) (all []measure.Sample) {
	r := rand.New(rand.NewPCG(seed, 1))
	words := strings.Fields(strings.Join(prose, " "))
	for i := range n {
		var b strings.Builder
		for range tokens {
			b.WriteString(" " + words[r.IntN(len(words))])
		}
		all = append(all, measure.Sample{
			Workload: "chat", Index: i, Text: b.String(), OutputTokens: tokens, PromptTokens: 64,
			PromptBytes: 300 + r.IntN(20),
			PromptSum:   fmt.Sprint(seed, i), TokenSource: measure.SourceUsage,
		})
	}
	return all
}

// white replaces the second half of an answer.
func white(s *measure.Sample, by string) {
	s.Text = s.Text[:len(s.Text)/2] + strings.Repeat(by, len(s.Text)/4)
}

func TestCompareWork(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(*measure.Sample)
		want WorkCode
	}{
		"honest":                    {func(*measure.Sample) {}, ""},
		"claims twice the prompt":   {func(s *measure.Sample) { s.PromptTokens *= 2 }, PromptText},
		"claims 5% less of it":      {func(s *measure.Sample) { s.PromptTokens = 60 }, PromptText},
		"half of the tokens came":   {func(s *measure.Sample) { s.OutputTokens *= 2 }, AnswerText},
		"the last tenth never came": {func(s *measure.Sample) { s.Text = s.Text[:len(s.Text)*9/10] }, AnswerText},
		"half is white space":       {func(s *measure.Sample) { white(s, " \n") }, AnswerText},
		"half is no-break space":    {func(s *measure.Sample) { white(s, "\u00a0\u2003") }, AnswerText},
		"half has no width":         {func(s *measure.Sample) { white(s, "\u200b\u2800\u3164") }, AnswerText},
		"tables in all":             {func(s *measure.Sample) { s.Text = strings.ReplaceAll(s.Text, " ", "    ") }, ""},
		"a token more in some":      {func(s *measure.Sample) { s.OutputTokens += s.Index % 2 }, ""},
		"nothing is counted":        {func(s *measure.Sample) { s.OutputTokens, s.PromptTokens = -1, -1 }, ""},
		"a failed request":          {func(s *measure.Sample) { s.Err, s.OutputTokens = "stalled", 9999 }, ""},
	} {
		for seed := range uint64(5) {
			parent, candidate := answered(48, 32, seed), answered(48, 32, seed+100)
			for i := range candidate {
				c.do(&candidate[i])
			}
			found, _ := CompareWork(Arm{Samples: parent}, Arm{Samples: candidate}, false)
			if c.want == "" && len(found) > 0 || c.want != "" &&
				(!slices.ContainsFunc(found, func(f WorkDifference) bool { return f.Code == c.want })) {
				t.Errorf("%s: %+v, want %q", name, found, c.want)
			}
		}
	}
	// With too few answers nothing is known, and Compare says so.
	// A system prompt is another text in each launch.
	for share, want := range map[float64]int{0.92: 0, 0.5: 1} {
		other := answered(48, 32, 2)
		for i := range other {
			other[i].PromptBytes = int(share * float64(other[i].PromptBytes))
		}
		found, _ := CompareWork(Arm{Samples: answered(48, 32, 1)}, Arm{Samples: other}, true)
		must.Equal(t, fmt.Sprintf("differences of %v of the text behind a system prompt", share), len(found), want)
	}
	if found, few := CompareWork(Arm{Samples: answered(48, 32, 1)}, Arm{Samples: answered(Fewest-1, 32, 2)},
		false); len(found) > 0 || len(few) != 1 {
		t.Errorf("%d answers: %+v, %v", Fewest-1, found, few)
	}
}

// TestCountedAgain: a tokenizer's count takes precedence over how much text a token stands for.
func TestCountedAgain(t *testing.T) {
	count := func(billed, counted int) (all []Counted) {
		for i := range 12 {
			n := Count{Billed: billed, Counted: counted + i%2} // a text counts differently where it is cut
			all = append(all, Counted{Cell: "chat", Prompt: Count{64, 64}, Answer: n})
		}
		return all
	}
	for name, c := range map[string]struct {
		do   func(*measure.Sample)
		ours []Counted
		want WorkCode
	}{
		"the same":              {func(*measure.Sample) {}, count(32, 32), ""},
		"text of another kind":  {func(s *measure.Sample) { s.Text += s.Text[:len(s.Text)/4] }, count(32, 32), ""},
		"half is white space":   {func(s *measure.Sample) { white(s, "\n ") }, count(32, 32), AnswerText},
		"half came":             {func(*measure.Sample) {}, count(32, 16), AnswerCount},
		"the tail never came":   {func(*measure.Sample) {}, count(32, 29), AnswerCount},
		"one token never came":  {func(*measure.Sample) {}, slices.Concat(count(32, 31), count(32, 31)), AnswerCount},
		"one is cut elsewhere":  {func(*measure.Sample) {}, count(64, 63), ""},
		"too few to say":        {func(s *measure.Sample) { s.Text += s.Text }, count(32, 32)[:Fewest-1], AnswerText},
		"a tokenizer is silent": {func(*measure.Sample) {}, count(32, 0)[:1], ""},
	} {
		parent, candidate := answered(48, 32, 1), answered(48, 32, 2)
		for i := range candidate {
			c.do(&candidate[i])
		}
		found, _ := CompareWork(Arm{parent, count(32, 32)}, Arm{candidate, c.ours}, false)
		if c.want == "" && len(found) > 0 || c.want != "" && (len(found) != 1 || found[0].Code != c.want) {
			t.Errorf("%s: %+v, want %q", name, found, c.want)
		}
	}
	double := count(32, 32)
	for i := range double {
		double[i].Prompt.Billed *= 2
	}
	if found, _ := CompareWork(Arm{answered(48, 32, 1), count(32, 32)}, Arm{answered(48, 32, 2), double},
		false); len(found) != 1 || found[0].Code != PromptCount {
		t.Errorf("%+v", found)
	}
}

// TestHonestArms: of many comparisons of honest arms, none finds anything.
func TestHonestArms(t *testing.T) {
	for _, n := range []int{4, 9, 24} {
		for seed := range uint64(400) {
			if found, _ := CompareWork(Arm{Samples: answered(n, 16, 2*seed)}, Arm{Samples: answered(n, 16, 2*seed+1)},
				false); len(found) > 0 {
				t.Errorf("%d answers, seed %d: %+v", n, seed, found)
			}
		}
	}
}
