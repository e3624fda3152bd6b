package prompt_test

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/embedded"
	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
)

// embeddedEngine starts the built-in engine until the test ends.
func embeddedEngine(t *testing.T, env map[string]string) *openai.Client {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	log, write := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := embedded.Serve(ctx, []string{"--port", "0", "--layers", "1"}, func(name string) string { return env[name] }, io.Discard, write)
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

// An engine with a prefix cache finds nothing of prompts that are unique, and
// what they are meant to share where they share something.
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
	for _, hide := range []bool{false, true} {
		engine, learned := &real{Client: client, hide: hide}, &prompt.Learned{}
		build := func(spec prompt.Spec) prompt.Prompts {
			t.Helper()
			spec.Learned = learned
			p, err := prompt.Build(t.Context(), engine, spec)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		name := map[bool]string{false: "a", true: "b"}[hide]
		for _, spec := range []prompt.Spec{
			{Cell: name + ".text", Tokens: 100, Requests: 20},
			{Cell: name + ".chat", Tokens: 100, Requests: 20, API: openai.Chat},
			{Cell: name + ".deep", Tokens: 40, Depth: 100, Requests: 20},
			{Cell: name + ".ids", Tokens: 100, Requests: 20, Random: true},
		} {
			if hide && spec.Random {
				continue
			}
			for i, one := range build(spec).Measured {
				if s := send(one, spec.API); s.CachedTokens > 0 {
					t.Errorf("%s %d: %d tokens were cached", spec.Cell, i, s.CachedTokens)
				}
			}
		}
		for i, one := range build(prompt.Spec{Cell: name + ".cached", Tokens: 40, Depth: 100, Requests: 5}).Measured {
			alone, ok := one.ContextAlone()
			if !ok {
				t.Fatal("no context")
			}
			if s := send(alone, ""); s.CachedTokens > 0 || s.PromptTokens != 100 {
				t.Errorf("context %d: %d tokens, %d cached", i, s.PromptTokens, s.CachedTokens)
			}
			if s := send(one, ""); s.CachedTokens <= 100-block || s.CachedTokens > 100 {
				t.Errorf("prompt %d: %d tokens were cached, want those of the context", i, s.CachedTokens)
			}
		}
		for i, one := range build(prompt.Spec{Cell: name + ".system", API: openai.Chat, Tokens: 40, SystemTokens: 100, Requests: 5}).Measured {
			if s := send(one, openai.Chat); i > 0 && (s.CachedTokens <= 100-block || s.CachedTokens > 100+block) {
				t.Errorf("prompt %d: %d tokens were cached, want those of the system prompt", i, s.CachedTokens)
			}
		}
	}
}
