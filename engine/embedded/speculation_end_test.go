package embedded

import (
	"context"
	"io"
	"strings"
	"testing"
)

// The steps must be saved, counted, and end where the answer does.
func TestAcceptedTokensComeTogether(t *testing.T) {
	_, s := plainAndDrafting(t, 4, nil)
	prompt := s.model.tk.encode(corpusText[:1200] + "\n\nA harbour wakes before the")
	o := generated(t, s, generation{prompt: prompt, maxTokens: 60, ignoreEOS: true, topP: 1})
	m := &s.metrics
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

// What was right but came after the end is no accepted token.
func TestTheEndCutsAnAcceptedRun(t *testing.T) {
	plain, s := plainAndDrafting(t, 8, nil)
	sentence := "Water boils at one hundred degrees Celsius at sea level. It freezes at zero."
	prompt := append(s.model.tk.encode(sentence), eosToken)
	prompt = append(prompt, s.model.tk.encode(sentence+" Water boils at one hundred")...)
	all := []generation{
		{prompt: prompt, maxTokens: 50, topP: 1},                                     // the end token is drafted, with text behind it
		{prompt: prompt, maxTokens: 50, topP: 1, stops: []string{"Celsius"}},         // a stop string is drafted
		{prompt: prompt, maxTokens: 3, topP: 1},                                      // no room for the draft
		{prompt: prompt, maxTokens: 50, minTokens: 20, topP: 1},                      // the drafted end token is forbidden
		{prompt: prompt, maxTokens: 50, topP: 1, stops: []string{"e at zero", "zz"}}, // spans tokens
		{prompt: prompt, maxTokens: 2048 - len(prompt), topP: 1},                     // as long as the model goes, by request
	}
	for n := 5; n < 15; n++ { // the drafted end token is forbidden, or is not any more in the middle of a run
		all = append(all, generation{prompt: prompt, maxTokens: 40, minTokens: n, topP: 1})
	}
	for _, g := range all {
		before := s.metrics.accepted.Load()
		want, got := generated(t, plain, g), generated(t, s, g)
		if want.text != got.text || want.finish != got.finish || want.count != got.count {
			t.Errorf("%+v, want %+v", got, want)
		}
		if accepted := int(s.metrics.accepted.Load() - before); accepted < got.count-len(got.counts) || accepted >= got.count {
			t.Errorf("%d tokens in pieces %v, and %d of them drafted", got.count, got.counts, accepted)
		}
	}
}

func TestSpeculationOverHTTP(t *testing.T) {
	url, log := testServer(t, func(c *Config) { c.Speculation, c.MaxModelLen = 4, 2048 })
	body := `{"prompt":"` + passage + " " + passage + ` A harbour wakes","max_tokens":30,"ignore_eos":true,"temperature":0,"stream":true,
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
	s := newScheduler(m, io.Discard, func(int) {})
	prompt := m.tk.encode(passage)[:16]
	o := generated(t, s, generation{prompt: prompt, maxTokens: 64 - len(prompt), ignoreEOS: true, temperature: 0, topP: 1})
	if o.count != 48 || o.finish != "length" || s.metrics.drafts.Load() == 0 {
		t.Errorf("%+v after %d drafts", o, s.metrics.drafts.Load())
	}
}

// A fault in the middle of an accepted run comes at its token: those before it
// go out.
func TestFaultsAmongAcceptedTokens(t *testing.T) {
	for after := 1; after <= 9; after += 2 {
		_, s := plainAndDrafting(t, 8, func(c *Config) { c.Faults.StallAfter = after })
		ctx, leave := context.WithCancel(t.Context())
		count := 0
		err := s.generate(ctx, generation{prompt: s.model.tk.encode(passage + " A harbour wakes"), maxTokens: 30, topP: 1}, func(p piece) error {
			if count = p.count; count == after {
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
