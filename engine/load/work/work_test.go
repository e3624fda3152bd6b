package work

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/measure"
)

// answered are honest answers of n tokens, one word each, to prompts of 64 tokens.
func answered(n, tokens int, seed uint64) (all []measure.Sample) {
	r := rand.New(rand.NewPCG(seed, 1))
	words := strings.Fields(strings.Join(prompt.Prose(), " "))
	for i := range n {
		var b strings.Builder
		for range tokens {
			b.WriteString(" " + words[r.IntN(len(words))])
		}
		all = append(all, measure.Sample{
			Workload: "chat", Index: i, Text: b.String(), OutputTokens: tokens, PromptTokens: 64, PromptBytes: 300 + r.IntN(20),
			PromptSum: fmt.Sprint(seed, i), TokenSource: measure.SourceUsage,
		})
	}
	return all
}

// white replaces the second half of an answer.
func white(s *measure.Sample, by string) {
	s.Text = s.Text[:len(s.Text)/2] + strings.Repeat(by, len(s.Text)/4)
}

func TestCompare(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(*measure.Sample)
		want Code
	}{
		"honest":                     {func(*measure.Sample) {}, ""},
		"claims twice the prompt":    {func(s *measure.Sample) { s.PromptTokens *= 2 }, PromptText},
		"claims 5% less of it":       {func(s *measure.Sample) { s.PromptTokens = 60 }, PromptText},
		"half of the tokens came":    {func(s *measure.Sample) { s.OutputTokens *= 2 }, AnswerText},
		"the last tenth never came":  {func(s *measure.Sample) { s.Text = s.Text[:len(s.Text)*9/10] }, AnswerText},
		"half is white space":        {func(s *measure.Sample) { white(s, " \n") }, AnswerText},
		"half is no-break space":     {func(s *measure.Sample) { white(s, "\u00a0\u2003") }, AnswerText},
		"half has no width":          {func(s *measure.Sample) { white(s, "\u200b\u2800\u3164") }, AnswerText},
		"tables in all":              {func(s *measure.Sample) { s.Text = strings.ReplaceAll(s.Text, " ", "    ") }, ""},
		"one answer for all":         {func(s *measure.Sample) { s.Text = " " + strings.Join(prompt.Prose()[:3], " ")[:170] }, Same},
		"a token more in some":       {func(s *measure.Sample) { s.OutputTokens += s.Index % 2 }, ""},
		"prompts given back":         {func(s *measure.Sample) { s.EchoedBytes = len(s.Text) }, Echoed},
		"half of each is the prompt": {func(s *measure.Sample) { s.EchoedBytes = len(s.Text) / 2 }, Echoed},
		"a quotation":                {func(s *measure.Sample) { s.EchoedBytes = len(s.Text) / 5 }, ""},
		"nothing is counted":         {func(s *measure.Sample) { s.OutputTokens, s.PromptTokens = -1, -1 }, ""},
		"a failed request":           {func(s *measure.Sample) { s.Err, s.OutputTokens = "stalled", 9999 }, ""},
	} {
		for seed := range uint64(5) {
			parent, candidate := answered(48, 32, seed), answered(48, 32, seed+100)
			for i := range candidate {
				c.do(&candidate[i])
			}
			found, _ := Compare(Arm{Samples: parent}, Arm{Samples: candidate})
			if c.want == "" && len(found) > 0 || c.want != "" && (!slices.ContainsFunc(found, func(f Finding) bool { return f.Code == c.want })) {
				t.Errorf("%s: %+v, want %q", name, found, c.want)
			}
		}
	}
	// With too few answers nothing is known, and Compare says so.
	if found, few := Compare(Arm{Samples: answered(48, 32, 1)}, Arm{Samples: answered(Fewest-1, 32, 2)}); len(found) > 0 || len(few) != 1 {
		t.Errorf("%d answers: %+v, %v", Fewest-1, found, few)
	}
	// Whatever the parent does as well is no finding.
	same := func(s []measure.Sample) []measure.Sample {
		for i := range s {
			s[i].Text = strings.Repeat("the same answer ", 9)
		}
		return s
	}
	if found, _ := Compare(Arm{Samples: same(answered(48, 32, 1))}, Arm{Samples: same(answered(48, 32, 2))}); len(found) > 0 {
		t.Errorf("%+v", found)
	}
}

// TestCountedAgain: a tokenizer's count takes precedence over how much text a token
// stands for.
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
		want Code
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
		found, _ := Compare(Arm{parent, count(32, 32)}, Arm{candidate, c.ours})
		if c.want == "" && len(found) > 0 || c.want != "" && (len(found) != 1 || found[0].Code != c.want) {
			t.Errorf("%s: %+v, want %q", name, found, c.want)
		}
	}
	double := count(32, 32)
	for i := range double {
		double[i].Prompt.Billed *= 2
	}
	if found, _ := Compare(Arm{answered(48, 32, 1), count(32, 32)}, Arm{answered(48, 32, 2), double}); len(found) != 1 || found[0].Code != PromptCount {
		t.Errorf("%+v", found)
	}
}

// TestFewAnswersOfAModel: a model with few different answers gives each of them to
// several prompts, and which arm does so more often depends on the prompts.
func TestFewAnswersOfAModel(t *testing.T) {
	found := 0
	for seed := range uint64(3000) {
		arm := func(seed uint64) (all []measure.Sample) {
			r := rand.New(rand.NewPCG(seed, 3))
			for i := range 8 {
				all = append(all, measure.Sample{Workload: "chat", Index: i, Text: strings.Repeat(fmt.Sprint("answer ", r.IntN(15), " "), 9), PromptSum: fmt.Sprint(seed, i)})
			}
			return all
		}
		if f, _ := Compare(Arm{Samples: arm(2 * seed)}, Arm{Samples: arm(2*seed + 1)}); len(f) > 0 {
			found++
		}
	}
	if found > 3 {
		t.Errorf("found in %d of 3000 honest pairs of arms", found)
	}
}

// TestHonestArms: of many comparisons of honest arms, none finds anything.
func TestHonestArms(t *testing.T) {
	for _, n := range []int{4, 9, 24} {
		for seed := range uint64(1500) {
			if found, _ := Compare(Arm{Samples: answered(n, 16, 2*seed)}, Arm{Samples: answered(n, 16, 2*seed+1)}); len(found) > 0 {
				t.Errorf("%d answers, seed %d: %+v", n, seed, found)
			}
		}
	}
}

func TestTooFast(t *testing.T) {
	at := func(first, gap time.Duration) measure.Sample {
		s := measure.Sample{Workload: "chat"}
		for i := range 20 {
			s.Events = append(s.Events, measure.Event{At: first + time.Duration(i)*gap, Kind: measure.KindText})
		}
		return s
	}
	for _, c := range []struct {
		first, gap time.Duration
		fast       bool
	}{
		{10 * time.Millisecond, time.Millisecond, false},
		{10 * time.Millisecond, 20 * time.Microsecond, true},
		{10 * time.Millisecond, time.Microsecond, false}, // in one read: it had piled up
		{10 * time.Millisecond, 0, false},
		{time.Millisecond, 0, true},
		{0, 0, true},
	} {
		if got := TooFast([]measure.Sample{at(c.first, c.gap)}, 10_000); got.Of != 1 || (got.Requests == 1) != c.fast {
			t.Errorf("first after %v, then every %v: %+v", c.first, c.gap, got)
		}
	}
	if got := TooFast([]measure.Sample{{Workload: "chat"}}, 10_000); got != (Rate{}) {
		t.Errorf("%+v", got)
	}
}

func TestEcho(t *testing.T) {
	p := "The river rose by 1.7 metres between noon and midnight."
	for answer, want := range map[string]int{"": 0, "no": 0, p: len(p), "So. " + p[:40]: 40, "The gauge went with it, and nobody saw.": 0, p[:20] + p[:20]: 40} {
		if got := Echo(p, answer); got != want {
			t.Errorf("%q: %d bytes, want %d", answer, got, want)
		}
	}
}

func TestAgree(t *testing.T) {
	looks := func(alike, of int) (l []Look) {
		for i := range of {
			l = append(l, Look{Was: fmt.Sprint("answer ", i), Is: fmt.Sprint("answer ", i)})
			if i >= alike {
				l[i].Is = "another"
			}
		}
		return l
	}
	for _, c := range []struct {
		own, ownOf, other, otherOf int
		known, unlike              bool
	}{
		{18, 18, 18, 18, true, false},
		{18, 18, 0, 18, true, true},
		{18, 18, 2, 18, true, false},
		{36, 36, 4, 36, true, true},
		{36, 36, 5, 36, true, false},
		{18, 18, 6, 18, true, false},
		{12, 12, 4, 18, true, false},  // of one cell, and
		{54, 54, 16, 54, true, false}, // of all: weights in q5_k_m, of a small model
		{12, 12, 0, 12, true, true},
		{9, 9, 0, 9, true, false}, // too few to be sure
		{6, 6, 0, 6, true, false},
		{3, 6, 0, 6, true, false},
		{2, 18, 0, 18, false, false},
		{18, 18, 0, 0, false, false},
		{0, 0, 0, 18, false, false},
	} {
		a := Agree(looks(c.own, c.ownOf), looks(c.other, c.otherOf))
		if a.Known() != c.known || a.Unlike() != c.unlike {
			t.Errorf("%+v: known %v, unlike %v", c, a.Known(), a.Unlike())
		}
	}
	if a := Agree([]Look{{}, {Was: "a"}, {Was: "longer text", Is: "longer"}}, nil); a.Own != 1 || a.OwnOf != 2 {
		t.Errorf("%+v", a)
	}
}

// Which answers the parent gives again must not depend on how fast they were: if it does
// not give the faster ones again, these are somebody else's.
func TestSplit(t *testing.T) {
	// looks are that many fast and slow answers, some of which the parent gives again.
	looks := func(fast, slow, of int) (l []Look) {
		for i := range of {
			quick, late := Look{Was: "a", Is: "b", Took: 1}, Look{Was: "a", Is: "b", Took: 2}
			if i < fast {
				quick.Is = "a"
			}
			if i < slow {
				late.Is = "a"
			}
			l = append(l, late, quick)
		}
		return l
	}
	own := looks(32, 32, 32)
	for _, c := range []struct {
		name       string
		own, other []Look
		split      bool
	}{
		{"the same model", own, looks(31, 32, 32), false},
		{"a coarse format", own, looks(12, 14, 32), false},
		{"its faster answers are another model's", own, looks(0, 32, 32), true},
		{"two fifths of them are", own, looks(19, 32, 32), true},
		{"a fifth of them is, which chance may do", own, looks(26, 32, 32), false},
		{"drafts: what is easily drafted is fast and said again", own, looks(32, 16, 32), false},
		{"the parent's are split likewise", looks(16, 32, 32), looks(10, 32, 32), false},
		{"few answers", own, looks(0, 6, 6), false},
		{"a half launch", own, looks(0, 8, 8), true},
		{"nothing timed", own, []Look{{Was: "a", Is: "b"}, {Was: "a", Is: "a"}}, false},
		{"nothing", nil, nil, false},
	} {
		if got := Halve(c.other).Split(Halve(c.own)); got != c.split {
			t.Errorf("%s: %+v beside %+v: split %v", c.name, Halve(c.other), Halve(c.own), got)
		}
	}
}
