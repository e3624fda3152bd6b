package prompt_test

import (
	"bufio"
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/embedded"
	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/load/traffic"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/internal/testing/must"
)

// hidden is a running engine without its tokenizer endpoint.
type hidden struct{ *openai.Client }

func (hidden) Tokenize(context.Context, string) (int, []int, error) {
	return 0, nil, &openai.StatusError{Method: "POST", Path: "/tokenize", Status: 404}
}

// engines are a running engine as it is, and without its tokenizer endpoint.
func engines(client *openai.Client) map[string]prompt.Engine {
	return map[string]prompt.Engine{"tokenizer": client, "usage": hidden{client}}
}

// TestPromptsOfTheEmbeddedEngine compares the tokens that a running engine counts with
// those that were requested.
func TestPromptsOfTheEmbeddedEngine(t *testing.T) {
	client := embeddedEngine(t, nil)
	for name, engine := range engines(client) {
		learned := &prompt.Knowledge{}
		for _, spec := range []prompt.Spec{
			{Cell: "short", Tokens: 64},
			{Cell: "deep", Tokens: 128, Depth: 200},
			{Cell: "system", Tokens: 256, SystemTokens: 100},
			{Cell: "chat", API: openai.Chat, Tokens: 300, CountTemplate: true},
			{Cell: "bare", API: openai.Chat, Tokens: 300},
			{Cell: "talk", API: openai.Chat, Tokens: 100, SystemTokens: 100, Depth: 200},
		} {
			spec.Learned, spec.Requests = learned, 3
			p, err := prompt.Build(t.Context(), engine, spec)
			must.Do(t, err)
			if !p.Exact() {
				t.Errorf("%s by %s: not exact", spec.Cell, name)
			}
			for i := range p.Measured {
				one := &p.Measured[i]
				r := openai.Request{API: spec.API, MaxTokens: 1}
				one.Fill(&r)
				s, err := client.Stream(t.Context(), r)
				must.Do(t, err)
				if want := one.Tokens + one.ContextTokens; s.PromptTokens != want {
					t.Errorf("%s by %s: a prompt of %d tokens, want %d", spec.Cell, name, s.PromptTokens, want)
				}
			}
		}
	}
}

// embeddedEngine starts the built-in engine until the test ends.
func embeddedEngine(t testing.TB, env map[string]string) *openai.Client {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	log, write := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := embedded.Serve(ctx, []string{"--port", "0", "--layers", "1"}, func(name string) string {
			return env[name]
		}, io.Discard, write)
		write.CloseWithError(io.EOF)
		ended <- err
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	url := ""
	lines := bufio.NewScanner(log)
	for lines.Scan() && !strings.Contains(lines.Text(), "startup complete") {
		if _, at, found := strings.Cut(lines.Text(), "listening on "); found {
			url = at
		}
	}
	go func() { _, _ = io.Copy(io.Discard, log) }()
	return openai.New(url, "")
}

// An engine with a prefix cache finds nothing of prompts that are unique, and exactly the
// shared part of those that are meant to share something.
func TestPromptsAndAPrefixCache(t *testing.T) {
	const block = 16 // tokens, of the embedded engine's cache
	client := embeddedEngine(t, map[string]string{"MXFLOW_EMBEDDED_PREFIX_CACHE": "on"})
	send := func(p prompt.Prompt, api openai.API) measure.Sample {
		t.Helper()
		r := openai.Request{API: api, MaxTokens: 1}
		p.Fill(&r)
		s, err := client.Stream(t.Context(), r)
		if err != nil || s.CachedTokens < 0 {
			t.Fatal(s, err)
		}
		return s
	}
	for name, engine := range engines(client) {
		learned := &prompt.Knowledge{}
		build := func(spec prompt.Spec) prompt.Prompts {
			t.Helper()
			spec.Learned = learned
			p, err := prompt.Build(t.Context(), engine, spec)
			must.Do(t, err)
			return p
		}
		for _, spec := range []prompt.Spec{
			{Cell: name + ".text", Tokens: 100, Requests: 20},
			{Cell: name + ".chat", Tokens: 100, Requests: 20, API: openai.Chat},
			{Cell: name + ".deep", Tokens: 40, Depth: 100, Requests: 20},
		} {
			for i, one := range build(spec).Measured {
				if s := send(one, spec.API); s.CachedTokens > 0 {
					t.Errorf("%s %d: %d tokens were cached", spec.Cell, i, s.CachedTokens)
				}
			}
		}
		for i, one := range build(prompt.Spec{Cell: name + ".cached", Tokens: 40, Depth: 100, Requests: 5}).Measured {
			if s := send(*one.ContextAlone(), ""); s.CachedTokens > 0 || s.PromptTokens != 100 {
				t.Errorf("context %d: %d tokens, %d cached", i, s.PromptTokens, s.CachedTokens)
			}
			if s := send(one, ""); s.CachedTokens <= 100-block || s.CachedTokens > 100 {
				t.Errorf("prompt %d: %d tokens were cached, want those of the context", i, s.CachedTokens)
			}
		}
		for i, one := range build(prompt.Spec{
			Cell: name + ".system", API: openai.Chat, Tokens: 40, SystemTokens: 100,
			Requests: 5,
		}).Measured {
			if s := send(one, openai.Chat); i > 0 && (s.CachedTokens <= 100-block || s.CachedTokens > 100+block) {
				t.Errorf("prompt %d: %d tokens were cached, want those of the system prompt", i, s.CachedTokens)
			}
		}
	}
}

// Prompts of a trace have the lengths that it says by the engine's count, and begin with the very tokens that it says
// that they share, and with no more.
func TestPromptsOfATrace(t *testing.T) {
	client := embeddedEngine(t, map[string]string{"MXFLOW_EMBEDDED_PREFIX_CACHE": "on"})
	const rows = `{"at": 0, "prompt": 200, "output": 1, "blocks": [1, 2, 3, 4]}
{"at": 1, "prompt": 250, "output": 1, "blocks": [1, 2, 5, 6]}
{"at": 2, "prompt": 333, "output": 1, "blocks": [1, 2, 3, 7]}
{"at": 3, "prompt": 96, "output": 1, "blocks": [8, 2]}
{"at": 4, "prompt": 200, "output": 1, "blocks": [1, 2, 3, 4]}
{"at": 5, "prompt": 80, "output": 1}`
	trace := must.Get(traffic.Read("f", []byte(rows), ". + {block: 64}"))(t)
	part := must.Get(trace.Part(traffic.Select{}))(t)
	const few = 3
	for name, engine := range engines(client) {
		for _, api := range []openai.API{openai.Completions, openai.Chat} {
			p := must.Get(prompt.Build(t.Context(), engine, prompt.Spec{
				Cell: name + string(api), API: api, CountTemplate: true, Trace: part, Warmup: 1,
				Requests: len(part.Conversations),
			}))(t)
			if !p.Exact() {
				t.Errorf("%s: not exact", name)
			}
			var sent [][]int
			for i, one := range slices.Concat(p.Warmup, p.Measured) {
				r := openai.Request{API: api, MaxTokens: 1}
				one.Fill(&r)
				s := must.Get(client.Stream(t.Context(), r))(t)
				_, ids, err := client.Tokenize(t.Context(), one.Text)
				must.Do(t, err)
				longest := 0
				for _, other := range sent {
					n := 0
					for n < min(len(ids), len(other)) && ids[n] == other[n] {
						n++
					}
					longest = max(longest, n)
				}
				sent = append(sent, ids)
				// The cache holds whole blocks of 16 tokens, and never the last token. By chance the next few words are
				// those of another prompt.
				cached := min(one.Shared, one.Tokens-1) / 16 * 16
				if want := one.Shared; s.PromptTokens != one.Tokens || s.CachedTokens != cached ||
					longest > want+few || longest < want-p.Template {
					t.Errorf("%s %s %d: %d tokens, want %d; %d cached, want %d; begins with %d others, want %d",
						name, api, i, s.PromptTokens, one.Tokens, s.CachedTokens, cached, longest, want)
				}
			}
			if got := p.Measured[4].Shared; got != 200 {
				t.Errorf("a prompt sent twice shares %d tokens", got)
			}
		}
	}
}
