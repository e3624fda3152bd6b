package prompt_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/embedded"
	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/internal/testing/require"
)

// real is a running engine whose tokenizer endpoint can be hidden.
type real struct {
	*openai.Client
	hide          bool
	counts, asked atomic.Int64
}

func (r *real) Tokenize(ctx context.Context, text string) (int, []int, error) {
	r.counts.Add(1)
	if r.hide {
		return 0, nil, &openai.StatusError{Method: "POST", Path: "/tokenize", Status: 404}
	}
	return r.Client.Tokenize(ctx, text)
}

func (r *real) Stream(ctx context.Context, q openai.Request) (measure.Sample, error) {
	r.asked.Add(1)
	return r.Client.Stream(ctx, q)
}

// TestPromptsOfTheEmbeddedEngine compares the tokens that a running engine counts with
// those that were requested.
func TestPromptsOfTheEmbeddedEngine(t *testing.T) {
	compare(t, embeddedEngine(t, nil), func(s *prompt.Spec) bool {
		s.Tokens, s.Depth, s.SystemTokens = min(s.Tokens, 300), min(s.Depth, 200), min(s.SystemTokens, 100)
		s.Requests = 3
		return true
	})
}

// TestPromptsOfARealEngine does the same with an engine that somebody has started.
func TestPromptsOfARealEngine(t *testing.T) {
	url := os.Getenv("MXFLOW_TEST_ENGINE_URL")
	if url == "" {
		t.Skip("MXFLOW_TEST_ENGINE_URL is not set to the URL of a running engine")
	}
	compare(t, openai.New(url, ""), func(*prompt.Spec) bool { return true })
}

func compare(t *testing.T, client *openai.Client, change func(*prompt.Spec) bool) {
	t.Helper()
	for _, hide := range []bool{false, true} {
		learned := &prompt.Knowledge{}
		for _, spec := range []prompt.Spec{
			{Cell: "short", Tokens: 64, Requests: 16},
			{Cell: "long", Tokens: 2048, Requests: 16},
			{Cell: "deep", Tokens: 128, Depth: 4096, Requests: 8},
			{Cell: "system", Tokens: 256, SystemTokens: 512, Requests: 8},
			{Cell: "chat", API: openai.Chat, Tokens: 512, Requests: 16, CountTemplate: true},
			{Cell: "bare", API: openai.Chat, Tokens: 512, Requests: 16},
			{Cell: "talk", API: openai.Chat, Tokens: 100, SystemTokens: 300, Depth: 1000, Requests: 8},
		} {
			if !change(&spec) {
				continue
			}
			t.Run(fmt.Sprintf("%s hidden=%v", spec.Cell, hide), func(t *testing.T) {
				engine := &real{Client: client, hide: hide}
				spec.Learned = learned
				began := time.Now()
				p, err := prompt.Build(t.Context(), engine, spec)
				require.NoError(t, err)
				took := time.Since(began)
				exact, worst := 0, 0
				for i := range p.Measured {
					one := &p.Measured[i]
					r := openai.Request{API: spec.API, MaxTokens: 1}
					one.Fill(&r)
					s, err := client.Stream(t.Context(), r)
					if errors.Is(err, net.ErrClosed) { // llama-server's connections carry 100 requests
						s, err = client.Stream(t.Context(), r)
					}
					require.NoError(t, err)
					off := s.PromptTokens - one.Tokens - one.ContextTokens
					if off == 0 {
						exact++
					}
					worst = max(worst, off, -off)
				}
				each := func(n int64) float64 { return float64(n) / float64(len(p.Measured)) }
				t.Logf("%s, verified %v, template %d: %d of %d exact, worst off by %d; %.1f counts and %.1f requests a prompt, %v",
					p.Method, p.Verified, p.Template, exact, len(p.Measured), worst, each(engine.counts.Load()), each(engine.asked.Load()), took.Round(time.Millisecond))
				if !p.Exact() || exact != len(p.Measured) {
					t.Errorf("not exact: %d of %d", exact, len(p.Measured))
				}
			})
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
	for _, hide := range []bool{false, true} {
		engine, learned := &real{Client: client, hide: hide}, &prompt.Knowledge{}
		build := func(spec prompt.Spec) prompt.Prompts {
			t.Helper()
			spec.Learned = learned
			p, err := prompt.Build(t.Context(), engine, spec)
			require.NoError(t, err)
			return p
		}
		name := map[bool]string{false: "a", true: "b"}[hide]
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
		for i, one := range build(prompt.Spec{Cell: name + ".system", API: openai.Chat, Tokens: 40, SystemTokens: 100, Requests: 5}).Measured {
			if s := send(one, openai.Chat); i > 0 && (s.CachedTokens <= 100-block || s.CachedTokens > 100+block) {
				t.Errorf("prompt %d: %d tokens were cached, want those of the system prompt", i, s.CachedTokens)
			}
		}
	}
}

// BenchmarkBuild makes the prompts of a launch of 1,000 requests of 2,048 tokens, which
// are new in every launch, as the second launch of an apply does: the tokenizer is
// already known.
func BenchmarkBuild(b *testing.B) {
	for _, hide := range []bool{false, true} {
		b.Run(map[bool]string{false: "tokenizer", true: "usage"}[hide], func(b *testing.B) {
			engine := &real{Client: embeddedEngine(b, nil), hide: hide}
			spec := prompt.Spec{Cell: "chat", Tokens: 2048, Requests: 1000, Learned: &prompt.Knowledge{}, Draw: "0"}
			if _, err := prompt.Build(b.Context(), engine, spec); err != nil {
				b.Fatal(err)
			}
			for launch := 1; b.Loop(); launch++ {
				spec.Draw = fmt.Sprint(launch)
				if _, err := prompt.Build(b.Context(), engine, spec); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(engine.counts.Load())/float64(b.N+1)/1000, "counts/prompt")
		})
	}
}
