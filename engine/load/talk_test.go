package load

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
)

// said is everything that a request says, as "role:text" in a chat.
func said(r openai.Request) string {
	if r.API != openai.Chat {
		return r.Prompt
	}
	var b strings.Builder
	for _, m := range append(slices.Clone(r.Before), openai.Message{Role: "user", Content: r.Prompt}) {
		b.WriteString(m.Role + ":" + m.Content + "|")
	}
	return b.String()
}

func TestConversations(t *testing.T) {
	prompts := []prompt.Prompt{
		{System: "S.", Context: "C.", ContextTokens: 40, Text: "a", Tokens: 10, Next: &prompt.Prompt{
			Text: "b", Tokens: 20, Output: 2, Next: &prompt.Prompt{Text: "c", Tokens: 30},
		}},
		{System: "S.", Text: "d", Tokens: 10, ContextTokens: 8},
	}
	for api, want := range map[openai.API][]string{
		openai.Completions: {"S.C.a", "S.C.a<1>b", "S.C.a<1>b<2>c", "S.d"},
		openai.Chat: {
			"system:S.|user:C.a|", "system:S.|user:C.a|assistant:<1>|user:b|",
			"system:S.|user:C.a|assistant:<1>|user:b|assistant:<2>|user:c|", "system:S.|user:d|",
		},
	} {
		// By the server's count minus the prompt, or added up: 40 + 10 + 5, and 20 + 2 more.
		for counts, contexts := range map[bool][]int{true: {40, 180, 270, 8}, false: {40, 55, 77, 8}} {
			synctest.Test(t, func(t *testing.T) {
				e := newClockwork(second)
				e.answer = func(_ openai.Request, s *measure.Sample) {
					s.Text, s.Reasoning = fmt.Sprintf("<%d>", len(e.sent)), "thinking"
					if counts {
						s.PromptTokens = 100 * len(e.sent)
					} else {
						s.OutputTokens = -1
					}
				}
				r, err := e.sends(t, Plan{
					Cell: "chat", Request: openai.Request{API: api, MaxTokens: 5},
					Prompts: prompt.Prompts{Measured: prompts},
				})
				var got []string
				for _, s := range e.sent {
					got = append(got, said(s.r))
				}
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("%s: said %q, %v\nwant %q", api, got, err, want)
				}
				for i, s := range r.Samples {
					is := []int{s.Turn, s.Index, s.ContextTokens, s.RequestedOutput, int(s.Start / second)}
					if !slices.Equal(is, []int{i % 3, i / 3, contexts[i], []int{5, 2, 5, 5}[i], i}) {
						t.Errorf("%s, counts %v: sample %d: %+v", api, counts, i, s)
					}
				}
			})
		}
	}
}

// A failed turn ends its conversation, and so does a duration.
func TestConversationsThatEnd(t *testing.T) {
	long := Plan{
		Cell: "chat", Request: openai.Request{MaxTokens: 5}, MaxErrors: 1,
		Prompts: prompt.Prompts{Measured: []prompt.Prompt{
			{Text: "a", Next: &prompt.Prompt{Text: "b", Next: &prompt.Prompt{Text: "c"}}}, {Text: "d"},
		}},
	}
	synctest.Test(t, func(t *testing.T) {
		e := newClockwork(0)
		e.takes = func(r openai.Request) (time.Duration, error) {
			if strings.HasSuffix(r.Prompt, "b") {
				return second, errors.New("broken")
			}
			return second, nil
		}
		r, err := e.sends(t, long)
		if err != nil || len(r.Samples) != 3 || r.Samples[1].Err == "" || r.Samples[2].Index != 1 {
			t.Errorf("%v: %s", err, e.order())
		}
		long.Pace.Duration = 1500 * time.Millisecond
		e = newClockwork(second)
		if r, err := e.sends(t, long); err != nil || len(r.Samples) != 2 || r.Samples[1].Turn != 1 {
			t.Errorf("%v: %s", err, e.order())
		}
	})
}

func TestCachedContexts(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fresh bool
		pace  Pace
		want  string
	}{
		{"one at a time", false, Pace{}, "c0@0s c0p0@1s c1@2s c1p1@3s c2@4s c2p2@5s p3@6s"},
		{"rounds of two", false, Pace{Concurrency: 2}, "c0@0s c1@0s c0p0@1s c1p1@1s c2@2s c2p2@3s p3@3s"},
		{
			"a duration counts from the first prompt", false,
			Pace{Concurrency: 2, Duration: 1500 * time.Millisecond},
			"c0@0s c1@0s c0p0@1s c1p1@1s c2@2s",
		},
		{"no context after its end", false, Pace{Concurrency: 1, Duration: second}, "c0@0s c0p0@1s"},
		{"a fresh engine", true, Pace{Concurrency: 2}, "c0@0s c1@1s c0p0@2s c1p1@2s c2@3s c2p2@4s p3@4s"},
		{
			"a fresh engine in an open loop", true,
			Pace{Arrival: Constant, Rate: 1},
			"c0@0s c1@1s c2@1s c0p0@2s c1p1@3s c2p2@4s p3@5s",
		},
		{
			"an open loop, after all contexts", false,
			Pace{Arrival: Constant, Rate: 2},
			"c0@0s c1@0s c2@0s c0p0@1s c1p1@1.5s c2p2@2s p3@2.5s",
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			e := newClockwork(second)
			r, err := e.sends(t, Plan{
				Cell: "chat", CacheContext: true, Request: openai.Request{MaxTokens: 5}, Pace: tt.pace, Fresh: tt.fresh,
				Prompts: prompt.Prompts{Measured: []prompt.Prompt{
					{Context: "c0", ContextTokens: 40, Text: "p0", Tokens: 7},
					{Context: "c1", ContextTokens: 40, Text: "p1", Tokens: 7},
					{Context: "c2", ContextTokens: 40, Text: "p2", Tokens: 7},
					{Text: "p3", Tokens: 7},
				}},
			})
			if got := e.inOrder(); err != nil || got != tt.want {
				t.Errorf("%s: %s, %v\nwant %s", tt.name, got, err, tt.want)
			}
			for _, s := range r.Samples {
				if s.Context && (s.RequestedOutput != 1 || s.RequestedPrompt != 40 || s.OpenLoop) || !s.Context &&
					s.RequestedOutput != 5 {
					t.Errorf("%s: %+v", tt.name, s)
				}
			}
			if want := map[bool]time.Duration{true: 2 * second}[tt.fresh]; r.From != max(want, second) {
				t.Errorf("%s: measured from %v", tt.name, r.From)
			}
		})
	}
}

// What precedes a prompt does not count as part of it, wherever it is from.
func TestContextTokens(t *testing.T) {
	recorded := []openai.Message{{Role: "user", Content: "x"}}
	for name, tt := range map[string]struct {
		prompt              prompt.Prompt
		turn, counted, want int
	}{
		"a context":                           {prompt.Prompt{ContextTokens: 40, Tokens: 10}, 0, 55, 40},
		"a recorded conversation":             {prompt.Prompt{Before: recorded, Tokens: 10}, 0, 90, 80},
		"one of unknown length":               {prompt.Prompt{Before: recorded}, 0, 90, 0},
		"one that nobody counts":              {prompt.Prompt{Before: recorded, Tokens: 10}, 0, -1, 0},
		"a later turn":                        {prompt.Prompt{Tokens: 10}, 1, 90, 80},
		"a later turn that nobody counts":     {prompt.Prompt{Tokens: 10}, 1, -1, 33},
		"a later turn of unknown length":      {prompt.Prompt{}, 1, 90, 33},
		"a count that contradicts the prompt": {prompt.Prompt{Tokens: 100}, 1, 90, 33},
	} {
		h := history{tokens: 33 * tt.turn}
		if got := h.context(&tt.prompt, tt.turn, measure.Sample{PromptTokens: tt.counted}); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}
