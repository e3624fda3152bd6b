package embedded

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// Values from the prefix cache must equal those that would have been computed, to the last bit.
func TestPrefixReuseIsExact(t *testing.T) {
	m := testModel(t, nil)
	text := m.tk.encode(corpusText)
	past := text[:200] // more than a chunk
	other := func(shared, length int) []token {
		return append(append([]token{}, past[:shared]...), text[300:300+length-shared]...)
	}
	for _, test := range []struct {
		name   string
		prompt []token
		cached int
	}{
		{"the same prompt", past, 192},
		{"the same, of whole blocks: the last is computed for its last token", past[:64], 48},
		{"one token more than blocks", past[:65], 64},
		{"a beginning shared", other(100, 190), 96},
		{"less than a block shared", other(15, 100), 0},
		{"a block shared", other(16, 100), 16},
		{"short", past[:10], 0},
		{"one token", past[:1], 0},
		{"the answer too", text[:206], 192},
	} {
		cache := &prefixCache{capacity: 4096}
		first := m.newSequence(past, 8)
		if _, err := m.step(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		cache.store(first)
		want, wantLogits := trace(t, m, test.prompt, 6)
		seq := m.newSequence(test.prompt, 6)
		if got := cache.reuse(seq); got != test.cached || seq.kv.length != got {
			t.Errorf("%s: %d tokens cached, want %d", test.name, got, test.cached)
		}
		got, logits := continueTrace(t, m, seq, 6)
		if fmt.Sprint(got) != fmt.Sprint(want) || furthest(logits, wantLogits) != 0 {
			t.Errorf("%s: %v, want %v; a logit moved by %v", test.name, got, want, furthest(logits, wantLogits))
		}
	}
}

// markSequence makes a sequence with keys and values of its own.
func markSequence(tokens []token) *sequence {
	seq := &sequence{tokens: tokens, kv: newKVCache(1, 2, len(tokens))}
	seq.kv.layers[0].data = make([]float32, 2*len(tokens))
	seq.kv.length = len(tokens)
	return seq
}

// The least recently used is evicted first.
func TestPrefixCacheForgetsTheOldest(t *testing.T) {
	c := &prefixCache{capacity: 2 * blockTokens}
	prompt := func(id token) []token {
		tokens := make([]token, blockTokens+1)
		for i := range tokens {
			tokens[i] = id
		}
		return tokens
	}
	found := func(id token) bool {
		return c.reuse(&sequence{tokens: prompt(id), kv: newKVCache(1, 2, 0)}) > 0
	}
	c.store(markSequence(prompt(1)))
	c.store(markSequence(prompt(2)))
	if !found(1) { // this counts as a use
		t.Error("the first is gone though there is room")
	}
	c.store(markSequence(prompt(3)))
	if !found(1) || found(2) || !found(3) {
		t.Errorf("found %v %v %v, want the second to be gone", found(1), found(2), found(3))
	}
}

const passage = "A harbour wakes before the town does. The boats come in with the tide, and the men who sell the " +
	"fish are waiting for them on the stones."

func TestCachedTokensInUsage(t *testing.T) {
	url, log := testServer(t, func(c *Config) { c.PrefixCache = true })
	prompt := len(newCorpusTokenizer().encode(passage))
	want := (prompt - 1) / blockTokens * blockTokens
	body := `{"prompt":"` + passage + `","max_tokens":4,"temperature":0`
	first := whole(t, url+"/v1/completions", body+`}`)
	again := whole(t, url+"/v1/completions", body+`}`)
	if first.Usage.Details.Cached != 0 || again.Usage.Details.Cached != want || want == 0 {
		t.Errorf("cached %d, then %d; want 0, then %d of %d", first.Usage.Details.Cached,
			again.Usage.Details.Cached, want, prompt)
	}
	if *first.Choices[0].Text != *again.Choices[0].Text {
		t.Errorf("%q, then %q", *first.Choices[0].Text, *again.Choices[0].Text)
	}
	events, _ := streamEvents(t, url+"/v1/completions",
		body+`,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`)
	for i, e := range events {
		if e.Usage == nil || e.Usage.Details.Cached != want || e.Usage.Prompt != prompt {
			t.Errorf("event %d has usage %+v, want %d cached", i, e.Usage, want)
		}
	}
	// The next turn of a conversation finds the turn before it.
	turns := `{"role":"user","content":"` + passage + `"}`
	answer := whole(t, url+"/v1/chat/completions", `{"messages":[`+turns+`],"max_tokens":30,"temperature":0}`)
	turns += `,{"role":"assistant","content":"` + strings.ReplaceAll(*answer.Choices[0].Message.Content, "\n", `\n`) +
		`"},{"role":"user","content":"Why?"}`
	next := whole(t, url+"/v1/chat/completions", `{"messages":[`+turns+`],"max_tokens":3,"temperature":0}`)
	if got := next.Usage.Details.Cached; got < answer.Usage.Prompt/blockTokens*blockTokens {
		t.Errorf("the second turn has %d tokens cached after a first of %d", got, answer.Usage.Prompt)
	}
	_, page := get(t, url+"/metrics")
	queries := 3*prompt + answer.Usage.Prompt + next.Usage.Prompt
	for _, line := range []string{
		fmt.Sprintf("prefix_cache_queries_total %d", queries),
		fmt.Sprintf("prefix_cache_hits_total %d", 2*want+next.Usage.Details.Cached),
	} {
		if !strings.Contains(page, "mxflow_embedded:"+line+"\n") {
			t.Errorf("metrics lack %q:\n%s", line, page)
		}
	}
	for _, kernel := range []string{kernelPrefixLookup, kernelPrefixReuse} {
		if strings.Count(log.String(), "[embedded] prefix_cache: using kernel "+kernel+" (") != 1 {
			t.Errorf("the log does not say once that %s ran:\n%s", kernel, log)
		}
	}
}

// Concurrent requests that share prefixes, with a cache too small for them and with
// drafts on top, give the same answers as alone.
func TestConcurrentRequestsShareBeginnings(t *testing.T) {
	alone, _ := testServer(t, nil)
	shared, _ := testServer(t, func(c *Config) {
		c.PrefixCache, c.MaxNumSeqs, c.MaxModelLen, c.Speculation = true, 2, 11*blockTokens, 4
	})
	tails := []string{"", " The capital of France is", " Two plus two is", " The author of Hamlet is"}
	body := func(i int) string {
		prompt := strings.Repeat(passage+" ", 1+i%3) + tails[i%len(tails)]
		return `{"prompt":"` + prompt + `","max_tokens":12,"ignore_eos":true,"temperature":1,"seed":5}`
	}
	want := make([]string, 12)
	for i := range want {
		want[i] = *whole(t, alone+"/v1/completions", body(i)).Choices[0].Text
	}
	var group sync.WaitGroup
	for i := range want {
		group.Go(func() {
			for range 2 {
				if status, answer := post(t, shared+"/v1/completions", body(i)); status != 200 ||
					textOf(answer) != want[i] {
					t.Errorf("request %d: %d %s, want %q", i, status, answer, want[i])
				}
			}
		})
	}
	group.Wait()
	_, page := get(t, shared+"/metrics")
	for _, name := range []string{"num_requests_running", "kv_cache_usage_perc"} {
		if !strings.Contains(page, "mxflow_embedded:"+name+" 0\n") {
			t.Errorf("%s is not 0 after all requests:\n%s", name, page)
		}
	}
	if strings.Contains(page, "prefix_cache_hits_total 0\n") {
		t.Error("nothing was shared")
	}
}
