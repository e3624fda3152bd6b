package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
)

func numbered(prefix string, n int) []Prompt {
	prompts := make([]Prompt, n)
	for i := range prompts {
		prompts[i] = Prompt{Text: fmt.Sprint(prefix, i)}
	}
	return prompts
}

func plan() Plan {
	return Plan{
		Cell: "chat", Prompts: Prompts{Warmup: numbered("w", 2), Measured: numbered("m", 3)},
		Warmup: 2, Requests: 3, OutputTokens: 8, IgnoreEOS: true, Fresh: true,
		RequestTimeout: time.Minute, FirstTimeout: 10 * time.Minute, StallTimeout: time.Second,
	}
}

func TestSequential(t *testing.T) {
	f := &fake{count: tokenizers["bytes"]}
	p := plan()
	var progress []int
	p.Progress = func(at Progress) {
		if at.Total != 5 || at.Cell != "chat" || at.Sample.Workload != "chat" {
			t.Errorf("progress %+v", at)
		}
		progress = append(progress, at.Done)
	}
	samples, err := Sequential(t.Context(), f, p)
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for i, r := range f.sent {
		order = append(order, r.Prompt)
		first := openai.Timeouts{Total: 10 * time.Minute, First: 10 * time.Minute, Stall: 10 * time.Minute}
		if i > 0 {
			first = openai.Timeouts{Total: time.Minute, Stall: time.Second}
		}
		if r.Timeouts != first || r.MaxTokens != 8 || !r.IgnoreEOS || !r.ContinuousUsage {
			t.Errorf("request %d: %+v", i, r)
		}
	}
	if want := []string{"w0", "w1", "m0", "m1", "m2"}; !slices.Equal(order, want) {
		t.Errorf("sent %q, want %q", order, want)
	}
	if !slices.Equal(progress, []int{1, 2, 3, 4, 5}) {
		t.Errorf("progress %v", progress)
	}
	var marks []string
	for _, s := range samples {
		marks = append(marks, fmt.Sprintf("%s %d %v", s.Workload, s.Index, s.Warmup))
	}
	if want := []string{"chat 0 true", "chat 1 true", "chat 0 false", "chat 1 false", "chat 2 false"}; !slices.Equal(marks, want) {
		t.Errorf("samples %v, want %v", marks, want)
	}
	p.Fresh, f.sent = false, nil
	if _, err := Sequential(t.Context(), f, p); err != nil || f.sent[0].Timeouts.First != 0 {
		t.Errorf("an engine that is warm has no first request: %+v, %v", f.sent[0].Timeouts, err)
	}
}

type streamFunc func(ctx context.Context, r openai.Request) (measure.Sample, error)

func (f streamFunc) Stream(ctx context.Context, r openai.Request) (measure.Sample, error) {
	return f(ctx, r)
}

func TestSequentialStopsAtFailure(t *testing.T) {
	broken := errors.New("engine died")
	n := 0
	samples, err := Sequential(t.Context(), streamFunc(func(context.Context, openai.Request) (measure.Sample, error) {
		if n++; n == 4 {
			return measure.Sample{}, broken
		}
		return measure.Sample{}, nil
	}), plan())
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "chat, request 1") {
		t.Errorf("error %v", err)
	}
	if len(samples) != 4 || samples[3].Err != "engine died" || samples[3].Index != 1 || n != 4 {
		t.Errorf("%d requests, samples %+v", n, samples)
	}

	ctx, cancel := context.WithCancel(t.Context())
	samples, err = Sequential(ctx, streamFunc(func(context.Context, openai.Request) (measure.Sample, error) {
		cancel()
		return measure.Sample{}, nil
	}), plan())
	if !errors.Is(err, context.Canceled) || len(samples) != 1 {
		t.Errorf("cancelled: %d samples, %v", len(samples), err)
	}
}

func TestSequentialRefuses(t *testing.T) {
	for name, change := range map[string]func(*Plan){
		"no cell":            func(p *Plan) { p.Cell = "" },
		"no requests":        func(p *Plan) { p.Requests = 0 },
		"negative warm-up":   func(p *Plan) { p.Warmup = -1 },
		"no output":          func(p *Plan) { p.OutputTokens = 0 },
		"too few prompts":    func(p *Plan) { p.Requests = 4 },
		"too few to warm up": func(p *Plan) { p.Warmup = 3 },
	} {
		p := plan()
		change(&p)
		f := &fake{count: tokenizers["bytes"]}
		if _, err := Sequential(t.Context(), f, p); err == nil || len(f.sent) > 0 {
			t.Errorf("%s: sent %d, error %v", name, len(f.sent), err)
		}
	}
}

func TestFindings(t *testing.T) {
	s := func(prompt, output, cached int) measure.Sample {
		return measure.Sample{PromptTokens: prompt, OutputTokens: output, CachedTokens: cached, RequestedOutput: 32}
	}
	warm, failed := s(1, 1, 1), s(1, 1, 1)
	warm.Warmup, failed.Err = true, "stalled"
	samples := []measure.Sample{warm, failed, s(100, 32, 0), s(100, 30, 25), s(90, 33, -1), s(-1, -1, 50)}
	if got, want := Shortfall(samples), (Shortage{Requests: 2, Of: 4, Tokens: 34}); got != want {
		t.Errorf("shortfall %+v, want %+v", got, want)
	}
	if got, want := Contaminated(samples), (Contamination{Requests: 2, Of: 4, Unknown: 1, Tokens: 75, Worst: 1}); got != want {
		t.Errorf("contaminated %+v, want %+v", got, want)
	}
	if got := Contaminated(samples[:4]); got.Worst != 0.25 {
		t.Errorf("worst share %v, want 0.25", got.Worst)
	}
	if got, want := Deviating(samples, 100), (Deviation{Requests: 1, Of: 4, Unknown: 1, Least: 90, Most: 100}); got != want {
		t.Errorf("deviating %+v, want %+v", got, want)
	}
	if got := Shortfall(nil); got != (Shortage{}) {
		t.Errorf("nothing: %+v", got)
	}
}

// The whole way over a real connection: an engine of one token a byte.
func TestAgainstServer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var b struct {
			Prompt    string
			MaxTokens int `json:"max_tokens"`
		}
		_ = json.NewDecoder(r.Body).Decode(&b)
		if r.URL.Path == "/tokenize" {
			_ = json.NewEncoder(w).Encode(map[string]any{"count": len(b.Prompt), "tokens": make([]int, len(b.Prompt))})
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range b.MaxTokens {
			fmt.Fprintf(w, `data: {"choices":[{"text":"x"}],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"prompt_tokens_details":{"cached_tokens":0}}}`+"\n\n", len(b.Prompt), i+1)
			w.(http.Flusher).Flush()
		}
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}))
	defer server.Close()
	client := openai.New(server.URL, "tiny")
	defer client.Close()
	prompts, err := BuildPrompts(t.Context(), client, PromptSpec{Cell: "chat", Tokens: 200, Warmup: 1, Requests: 4})
	if err != nil || !prompts.Exact(200) {
		t.Fatalf("%+v, %v", prompts, err)
	}
	samples, err := Sequential(t.Context(), client, Plan{Cell: "chat", Prompts: prompts, Warmup: 1, Requests: 4, OutputTokens: 5})
	if err != nil {
		t.Fatal(err)
	}
	sums := measure.Summarize(samples, "chat")
	if sums["ttft"].N != 4 || sums["itl"].N != 16 || sums["prompt_tokens"].Stats["min"] != 200 || sums["output_tokens"].Stats["max"] != 5 {
		t.Errorf("summaries %+v", sums)
	}
	if s, c := Shortfall(samples), Contaminated(samples); s.Requests+c.Requests+c.Unknown > 0 {
		t.Errorf("%+v, %+v", s, c)
	}
}
