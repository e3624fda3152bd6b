package embedded

import (
	"fmt"
	"io"
	"slices"
	"testing"
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

// outcome is what a client gets of a generation, and how.
type outcome struct {
	text, reasoning, finish string
	count                   int
	counts                  []int // of each piece
}

func generated(t *testing.T, s *scheduler, g generation) (o outcome) {
	t.Helper()
	err := s.generate(t.Context(), g, func(p piece) error {
		o.text, o.reasoning = o.text+p.text, o.reasoning+p.reasoning
		o.finish, o.count = p.finish, p.count
		o.counts = append(o.counts, p.count)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
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
		return newScheduler(m, io.Discard, func(int) {})
	}
	return build(0), build(n)
}

// Drafts must change neither text nor end, greedy or drawn, wherever the
// answer ends.
func TestSpeculationKeepsTheText(t *testing.T) {
	for _, setup := range []struct {
		name   string
		n      int
		change func(*Config)
	}{
		{"one", 1, nil},
		{"four", 4, nil},
		{"most", maxDraft, nil},
		{"four, all experts, lm_head in mxfp4", 4, func(c *Config) { c.MoE, c.LMHead = MoEAll, LMHeadMXFP4 }},
		{"four, no kv cache", 4, func(c *Config) { c.KVCache = false }},
		{"most, two threads", maxDraft, func(c *Config) { c.Threads = 2 }},
		{"four, prefix cache", 4, func(c *Config) { c.PrefixCache = true }},
		{"four, garbage", 4, func(c *Config) { c.Faults.Garbage = true }},
		{"four, NaN", 4, func(c *Config) { c.Faults.NaN = true }},
	} {
		t.Run(setup.name, func(t *testing.T) {
			plain, drafting := plainAndDrafting(t, setup.n, setup.change)
			tk := plain.model.tk
			seed := uint64(3)
			repeated := tk.encode(passage + "\n\nA harbour")
			all := []generation{
				{prompt: tk.encode("The capital of France is"), maxTokens: 20},
				{prompt: repeated, maxTokens: 20},
				{prompt: repeated, maxTokens: 20, temperature: 1.5, topP: 0.9, seed: &seed},
				{prompt: tk.encode("a b a b a b a b"), maxTokens: 20, temperature: 2, seed: &seed},
				{prompt: repeated, maxTokens: 20, repetition: 1.3},
				{prompt: repeated, maxTokens: 20, temperature: 2, topK: 5, minP: 0.01, repetition: 0.7, seed: &seed},
				{prompt: repeated, maxTokens: 1},
				{prompt: repeated, maxTokens: 2},
				{prompt: repeated, maxTokens: 7, ignoreEOS: true},
				{prompt: repeated, maxTokens: 40, minTokens: 30},
				{prompt: repeated, maxTokens: 40, stops: []string{"tide"}},
				{prompt: repeated, maxTokens: 40, stops: []string{"zz", "s in w"}},
				{prompt: repeated, maxTokens: 20, reasoning: 7},
			}
			if !plain.config.KVCache { // slow
				all = []generation{{prompt: repeated, maxTokens: 8}, {prompt: repeated, maxTokens: 8, temperature: 2, seed: &seed}}
			}
			for _, g := range all {
				if g.topP == 0 {
					g.topP = 1
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
			if m := &drafting.metrics; m.drafts.Load() == 0 || m.drafted.Load() < m.accepted.Load() {
				t.Errorf("%d drafts of %d tokens, %d accepted", m.drafts.Load(), m.drafted.Load(), m.accepted.Load())
			}
			if plain.metrics.generationTokens.Load() != drafting.metrics.generationTokens.Load() {
				t.Error("the counts of generated tokens differ")
			}
		})
	}
}
