package load

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/embedded"
	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/internal/testing/must"
)

// embed runs the built-in engine for the test with settings in its environment.
func embed(t *testing.T, switches map[string]string, flags ...string) *openai.Client {
	t.Helper()
	if testing.Short() {
		t.Skip("starts the built-in engine")
	}
	ctx, cancel := context.WithCancel(context.Background())
	log, write := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := embedded.Serve(ctx, append([]string{"--port", "0"}, flags...), func(name string) string {
			return switches[name]
		}, io.Discard, write)
		write.CloseWithError(io.EOF)
		ended <- err
	}()
	url := ""
	for lines := bufio.NewScanner(log); lines.Scan() && !strings.Contains(lines.Text(), "startup complete"); {
		if _, at, ok := strings.Cut(lines.Text(), "listening on "); ok {
			url = at
		}
	}
	go func() { _, _ = io.Copy(io.Discard, log) }()
	client := openai.New(url, "")
	t.Cleanup(func() {
		client.Close()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return client
}

func proseOf(i, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%04x. ", i)
	for j := range n {
		b.WriteString(prompt.Prose()[(7*i+j)%len(prompt.Prose())] + " ")
	}
	return strings.TrimSpace(b.String())
}

func realPlan(n, tokens int) Plan {
	p := Plan{
		Cell: "chat", Zero: time.Now(),
		Request: openai.Request{MaxTokens: tokens, IgnoreEOS: true, Timeouts: openai.Timeouts{Total: time.Minute}},
	}
	for i := range n {
		p.Prompts.Measured = append(p.Prompts.Measured, prompt.Prompt{Text: proseOf(i, 2), Tokens: 40})
	}
	return p
}

// Retries, cached contexts and conversations against an engine that has them.
func TestRealConversations(t *testing.T) {
	client := embed(t,
		map[string]string{"MXFLOW_EMBEDDED_PREFIX_CACHE": "on", "MXFLOW_EMBEDDED_FAULT": "retry_after:3"})
	p := realPlan(3, 8)
	p.Request.API, p.CacheContext, p.Retries, p.Pace.Concurrency = openai.Chat, true, 3, 2
	for i := range p.Prompts.Measured {
		one := &p.Prompts.Measured[i]
		one.Context, one.Text = proseOf(100+i, 12)+" ", "What comes next?"
		one.Next = &prompt.Prompt{Text: "And then?", Tokens: 4}
		_, ids, err := client.Tokenize(t.Context(), one.Context)
		must.Do(t, err)
		one.ContextTokens, one.Tokens = len(ids), 10
	}
	r, err := Run(t.Context(), client, p)
	if err != nil || len(r.Samples) != 9 {
		t.Fatalf("%v, %d samples", err, len(r.Samples))
	}
	retries := 0
	for _, s := range r.Samples {
		retries += s.Retries
		if s.Turn == 1 && s.PromptTokens <= s.RequestedPrompt+p.Prompts.Measured[s.Index].ContextTokens {
			t.Errorf("the second turn has %d tokens, which are no more than the first's", s.PromptTokens)
		}
	}
	if retries != 3 {
		t.Errorf("%d retries", retries)
	}
	c, missed := Caching(r.Samples, 16, 0)
	if missed.Of != 6 || missed.Unknown > 0 || missed.Worst > 0.4 {
		t.Errorf("recomputed %+v", missed)
	}
	if c.Requests > 0 {
		t.Errorf("contaminated %+v", c)
	}
	if c := contaminated(r.Samples[2:], 0, 0); c.Requests == 0 {
		t.Errorf("a context that nobody put there counts: %+v", c)
	}
}
