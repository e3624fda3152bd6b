package embedded

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
)

func TestPromptLookup(t *testing.T) {
	for _, test := range []struct {
		name   string
		tokens []token
		n      int
		want   []token
	}{
		{"nothing", nil, 4, nil},
		{"one token", []token{1}, 4, nil},
		{"never seen", []token{1, 2, 3}, 4, nil},
		{"one token back", []token{7, 8, 9, 7}, 2, []token{8, 9}},
		{"the longest n-gram wins", []token{1, 2, 3, 4, 9, 2, 3, 5, 8, 3, 6, 1, 2, 3}, 1, []token{4}},
		{"two before one", []token{2, 3, 5, 8, 3, 6, 9, 2, 3}, 1, []token{5}},
		{"the latest wins", []token{3, 4, 3, 5, 3}, 1, []token{5}},
		{"a loop goes on", []token{6, 6}, 4, []token{6, 6, 6, 6}},
		{"a longer loop", []token{1, 2, 3, 1, 2, 3, 1}, 5, []token{2, 3, 1, 2, 3}},
		{"none wanted", []token{6, 6}, 0, []token{}},
	} {
		if got := promptLookup(test.tokens, test.n); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// outcome is what a client receives of a generation, and how.
type outcome struct {
	text, finish string
	count        int
	counts       []int // of tokens per piece
}

func generated(t *testing.T, s *scheduler, g generation) (o outcome) {
	t.Helper()
	_, err := s.generate(t.Context(), g, func(p piece) error {
		o.text += p.text
		o.finish, o.count = p.finish, p.usage.CompletionTokens
		o.counts = append(o.counts, o.count)
		return nil
	})
	must.Do(t, err)
	return o
}

// plainAndDrafting are schedulers that differ in speculation only.
func plainAndDrafting(t *testing.T, n int, change func(*Config)) (plain, drafting *scheduler) {
	t.Helper()
	build := func(n int) *scheduler {
		m := testModel(t, func(c *Config) {
			if change != nil {
				change(c)
			}
			c.MaxModelLen, c.Speculation = 2048, n
		})
		return newScheduler(m, func(int) {})
	}
	return build(0), build(n)
}

// Drafts must change neither text nor end, greedy or sampled, wherever the answer ends.
func TestSpeculationKeepsTheText(t *testing.T) {
	for _, setup := range []struct {
		name   string
		n      int
		change func(*Config)
	}{
		{"one", 1, nil},
		{"four", 4, nil},
		{"most", maxDraft, nil},
		{"four, all experts", 4, func(c *Config) { c.MoERouted = false }},
		{"four, no kv cache", 4, func(c *Config) { c.KVCache = false }},
		{"most, two threads", maxDraft, func(c *Config) { c.Threads = 2 }},
		{"four, prefix cache", 4, func(c *Config) { c.PrefixCache = true }},
		{"four, garbage", 4, func(c *Config) { c.Faults = Faults{"garbage": 1} }},
		{"four, NaN", 4, func(c *Config) { c.Faults = Faults{"nan": 1} }},
	} {
		t.Run(setup.name, func(t *testing.T) {
			plain, drafting := plainAndDrafting(t, setup.n, setup.change)
			tk := plain.model.tk
			seed := int64(3)
			repeated := tk.encode(passage + "\n\nA harbour")
			all := []generation{
				{prompt: repeated, maxTokens: 10},
				{prompt: repeated, maxTokens: 10, sampling: sampling{Temperature: 2, Seed: &seed}},
				{prompt: tk.encode("The capital of France is"), maxTokens: 20},
				{prompt: repeated, maxTokens: 20, sampling: sampling{Temperature: 1.5, TopP: 0.9, Seed: &seed}},
				{prompt: tk.encode("a b a b a b a b"), maxTokens: 20, sampling: sampling{Temperature: 2, Seed: &seed}},
				{prompt: repeated, maxTokens: 20, sampling: sampling{RepetitionPenalty: 1.3}},
				{
					prompt: repeated, maxTokens: 20,
					sampling: sampling{Temperature: 2, TopK: 5, MinP: 0.01, RepetitionPenalty: 0.7, Seed: &seed},
				},
				{prompt: repeated, maxTokens: 1},
				{prompt: repeated, maxTokens: 2},
				{prompt: repeated, maxTokens: 7, sampling: sampling{IgnoreEOS: true}},
				{prompt: repeated, maxTokens: 40, sampling: sampling{MinTokens: 30}},
			}
			if setup.name != "four" { // which tries the requests
				all = all[:2]
			}
			for _, g := range all {
				if g.TopP == 0 {
					g.TopP = 1
				}
				want, got := generated(t, plain, g), generated(t, drafting, g)
				steps := want.counts
				want.counts, got.counts = nil, nil
				if fmt.Sprint(want) != fmt.Sprint(got) {
					t.Errorf("%+v:\n%+v, want\n%+v", g, got, want)
				}
				if !slices.IsSorted(steps) || steps[len(steps)-1] != len(steps) {
					t.Errorf("without drafts the counts are %v", steps)
				}
			}
			if m := drafting.metrics; m.drafts.Load() == 0 || m.drafted.Load() < m.accepted.Load() {
				t.Errorf("%d drafts of %d tokens, %d accepted", m.drafts.Load(), m.drafted.Load(), m.accepted.Load())
			}
			if plain.metrics.generationTokens.Load() != drafting.metrics.generationTokens.Load() {
				t.Error("the counts of generated tokens differ")
			}
		})
	}
}

// The steps must be saved, counted, and end where the answer does.
func TestAcceptedTokensComeTogether(t *testing.T) {
	_, s := plainAndDrafting(t, 4, nil)
	prompt := s.model.tk.encode(corpusText[:1200] + "\n\nA harbour wakes before the")
	o := generated(t, s, generation{prompt: prompt, maxTokens: 60, sampling: sampling{IgnoreEOS: true, TopP: 1}})
	m := s.metrics
	if o.count != 60 || len(o.counts) > 40 {
		t.Errorf("%d tokens in %d pieces: %v", o.count, len(o.counts), o.counts)
	}
	if got := m.accepted.Load(); got != int64(o.count-len(o.counts)) {
		t.Errorf("%d tokens accepted, want as many as steps were saved: %d", got, o.count-len(o.counts))
	}
	var byPosition int64
	for i := range m.acceptedAt {
		n := m.acceptedAt[i].Load()
		byPosition += n
		if i > 0 && n > m.acceptedAt[i-1].Load() {
			t.Errorf("position %d was accepted more often than the one before it", i)
		}
	}
	if byPosition != m.accepted.Load() {
		t.Errorf("%d accepted by position, %d in all", byPosition, m.accepted.Load())
	}
}

// A correct token after the end is not an accepted token.
func TestTheEndCutsAnAcceptedRun(t *testing.T) {
	plain, s := plainAndDrafting(t, 8, nil)
	sentence := "Water boils at one hundred degrees Celsius at sea level. It freezes at zero."
	prompt := append(s.model.tk.encode(sentence), eosToken)
	prompt = append(prompt, s.model.tk.encode(sentence+" Water boils at one hundred")...)
	all := []generation{
		// the end token is drafted, with text behind it
		{prompt: prompt, maxTokens: 50, sampling: sampling{TopP: 1}},
		{prompt: prompt, maxTokens: 3, sampling: sampling{TopP: 1}}, // no room for the draft
		// the drafted end token is forbidden
		{prompt: prompt, maxTokens: 50, sampling: sampling{MinTokens: 20, TopP: 1}},
		// as long as the model goes, by request
		{prompt: prompt, maxTokens: 2048 - len(prompt), sampling: sampling{TopP: 1}},
	}
	for n := 5; n < 15; n += 3 { // the drafted end token is forbidden, or becomes allowed in the middle of a run
		all = append(all, generation{prompt: prompt, maxTokens: 40, sampling: sampling{MinTokens: n, TopP: 1}})
	}
	for _, g := range all {
		before := s.metrics.accepted.Load()
		want, got := generated(t, plain, g), generated(t, s, g)
		if want.text != got.text || want.finish != got.finish || want.count != got.count {
			t.Errorf("%+v, want %+v", got, want)
		}
		if accepted := int(s.metrics.accepted.Load() - before); accepted < got.count-len(got.counts) ||
			accepted >= got.count {
			t.Errorf("%d tokens in pieces %v, and %d of them drafted", got.count, got.counts, accepted)
		}
	}
}

func TestSpeculationOverHTTP(t *testing.T) {
	url, log := testServer(t, func(c *Config) { c.Speculation, c.MaxModelLen = 4, 2048 })
	body := `{"prompt":"` + passage + " " + passage +
		` A harbour wakes","max_tokens":30,"ignore_eos":true,"temperature":0,"stream":true,
		"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`
	events, done := streamEvents(t, url+"/v1/completions", body)
	count, several := 0, false
	for _, e := range events[:len(events)-1] {
		if e.Usage.Completion <= count {
			t.Errorf("usage goes from %d to %d", count, e.Usage.Completion)
		}
		several = several || e.Usage.Completion > count+1
		count = e.Usage.Completion
	}
	if !done || !several || count != 30 || events[len(events)-1].Usage.Completion != 30 {
		t.Errorf("%d tokens in %d events, several in one: %v", count, len(events), several)
	}
	for _, kernel := range []string{kernelPromptLookup, kernelVerify} {
		if strings.Count(log.String(), "[embedded] speculation: using kernel "+kernel+" (") != 1 {
			t.Errorf("the log does not say once that %s ran:\n%s", kernel, log)
		}
	}
}

// Drafts must not reach beyond the longest sequence.
func TestSpeculationUpToTheLongestSequence(t *testing.T) {
	m := testModel(t, func(c *Config) { c.MaxModelLen, c.Speculation = 64, 8 })
	s := newScheduler(m, func(int) {})
	prompt := m.tk.encode(passage)[:16]
	o := generated(t, s,
		generation{
			prompt: prompt, maxTokens: 64 - len(prompt),
			sampling: sampling{IgnoreEOS: true, Temperature: 0, TopP: 1},
		})
	if o.count != 48 || o.finish != "length" || s.metrics.drafts.Load() == 0 {
		t.Errorf("%+v after %d drafts", o, s.metrics.drafts.Load())
	}
}

// A fault in the middle of an accepted run occurs at its token: those before it go out.
func TestFaultsAmongAcceptedTokens(t *testing.T) {
	for _, after := range []int{1, 6} {
		_, s := plainAndDrafting(t, 8, func(c *Config) { c.Faults = Faults{"stall_after": after} })
		ctx, leave := context.WithCancel(t.Context())
		count := 0
		_, err := s.generate(ctx, generation{
			prompt: s.model.tk.encode(passage + " A harbour wakes"), maxTokens: 30,
			sampling: sampling{TopP: 1},
		}, func(p piece) error {
			if count = p.usage.CompletionTokens; count == after {
				leave()
			}
			return nil
		})
		if err != context.Canceled || count != after {
			t.Errorf("stall_after:%d: %d tokens, %v", after, count, err)
		}
		leave()
	}
}
