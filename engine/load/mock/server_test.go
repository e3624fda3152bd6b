package mock

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

func start(t *testing.T, c Config) *Server {
	t.Helper()
	s, err := Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func post(t *testing.T, url, path string, body any) *http.Response {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(url+path, "application/json", bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

type object = map[string]any

// read reads a stream with nothing but the standard library, and returns each event's
// data and arrival time.
func read(t *testing.T, body io.Reader, clock Clock) (data []string, at []int64) {
	t.Helper()
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			data, at = append(data, text), append(at, clock.Now())
		}
	}
	if err := lines.Err(); err != nil {
		t.Error(err)
	}
	return data, at
}

// An independent reader sees events after the times that the server reports, in both
// orders of events; and no event goes out before its deadline.
func TestTruth(t *testing.T) {
	s := start(t, Config{Wheels: 2})
	clock, err := NewClock()
	if err != nil {
		t.Fatal(err)
	}
	const streams, tokens, ttft, itl = 40, 12, 20_000, 2_000
	var all sync.WaitGroup
	for i := range streams {
		all.Go(func() {
			name := fmt.Sprint("stream ", i)
			resp := post(t, s.URL(), "/v1/completions", object{
				"prompt": "some prompt", "stream": true, "max_tokens": tokens,
				"stream_options": object{"include_usage": true, "continuous_usage_stats": true},
				"mock":           Pacing{ID: name, TTFT: ttft, ITL: itl, PerEvent: 1},
			})
			sent := clock.Now()
			data, seen := read(t, resp.Body, clock)
			found := s.truths.find(name)
			if len(found) != 1 || found[0].Broken || found[0].Tokens != tokens || len(found[0].Sent) != tokens || len(data) != tokens+2 {
				t.Errorf("%s: %d events, truth %+v", name, len(data), found)
				return
			}
			truth := found[0]
			if truth.Arrival > sent {
				t.Errorf("%s arrived %d ns after its answer", name, truth.Arrival-sent)
			}
			for k, at := range truth.Sent {
				if due := truth.Arrival + 1000*(ttft+int64(k)*itl); at < due {
					t.Errorf("%s: event %d was sent %d ns before its deadline", name, k, due-at)
				}
				// The two clocks were joined with an error of their own.
				if seen[k] < at-100_000 {
					t.Errorf("%s: event %d was seen %d ns before it was sent", name, k, at-seen[k])
				}
				if d := decode(t, data[k]); d.Usage == nil || d.Usage.Completion != k+1 || d.Usage.Total != d.Usage.Prompt+k+1 || len(d.Choices) != 1 || d.Choices[0].Text == "" {
					t.Errorf("%s: event %d is %s", name, k, data[k])
				}
			}
			if !slices.IsSorted(truth.Sent) {
				t.Errorf("%s: times run backwards: %v", name, truth.Sent)
			}
		})
	}
	all.Wait()
	if n := len(s.truths.find("")); n != streams {
		t.Errorf("%d truths of %d streams", n, streams)
	}
}

func TestAnswers(t *testing.T) {
	s := start(t, Config{Model: `a "b"`})
	ask := func(path string, extra object) []string {
		q := object{"stream": true, "mock": object{"tokens": 5, "tokens_per_event": 2}}
		maps.Copy(q, extra)
		resp := post(t, s.URL(), path, q)
		if kind := resp.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
			t.Errorf("content type %q", kind)
		}
		data, _ := read(t, resp.Body, s.clock)
		return data
	}

	data := ask("/v1/completions", object{"prompt": []int{1, 2, 3}})
	if len(data) != 4 || data[3] != "[DONE]" {
		t.Fatalf("5 tokens, 2 an event, no usage: %q", data)
	}
	if d := decode(t, data[2]); d.Usage != nil || *d.Choices[0].Finish != "length" || d.Model != `a "b"` || !strings.HasPrefix(d.ID, "cmpl-00") {
		t.Errorf("last event %s", data[2])
	}

	data = ask("/v1/chat/completions", object{
		"messages":       []object{{"role": "user", "content": "twelve bytes"}, {"role": "user", "content": []object{{"type": "text", "text": "hi"}}}},
		"stream_options": object{"include_usage": true},
	})
	if len(data) != 6 {
		t.Fatalf("a role, three events, usage, end: %q", data)
	}
	if d := decode(t, data[0]); d.Choices[0].Delta.Role != "assistant" || d.Choices[0].Delta.Content != "" {
		t.Errorf("role %s", data[0])
	}
	for _, at := range []int{1, 2, 3} {
		if d := decode(t, data[at]); d.Choices[0].Delta.Content == "" || d.Usage != nil {
			t.Errorf("event %d is %s", at, data[at])
		}
	}
	if d := decode(t, data[4]); len(d.Choices) != 0 || d.Usage.Completion != 5 || d.Usage.Prompt < 4 || d.Usage.Total != d.Usage.Prompt+5 {
		t.Errorf("usage %s", data[4])
	}

	resp := post(t, s.URL(), "/v1/chat/completions", object{"messages": []object{{"content": "hi"}}, "max_completion_tokens": 3})
	whole, _ := io.ReadAll(resp.Body)
	if d := decode(t, string(whole)); d.Usage.Completion != 3 || *d.Choices[0].Finish != "length" {
		t.Errorf("without a stream: %s", whole)
	}
}

func TestRefuses(t *testing.T) {
	s := start(t, Config{})
	for body, want := range map[string]string{
		`{`:                                      "not a JSON request",
		`{"prompt":7}`:                           "no prompt",
		`{}`:                                     "no prompt",
		`{"prompt":"x","max_tokens":-1}`:         "answer length -1",
		`{"prompt":"x","max_tokens":9999999999}`: "answer length 9999999999: use 1 to",
		`{"prompt":"x","mock":{"ttft_us":-1}}`:   "mock.ttft_us is -1",
		`{"prompt":"x","mock":{"itl_us":10000000000000}}`: "mock.itl_us is 10000000000000",
		`{"prompt":"x","mock":{"tokens_per_event":1000}}`: "mock.tokens_per_event is 1000",
		`{"prompt":"x","mock":{"jitter_us":-1}}`:          "mock.jitter_us is -1",
	} {
		resp, err := http.Post(s.URL()+"/v1/completions", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		said, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(said), want) {
			t.Errorf("%s: %s %s, want %q", body, resp.Status, said, want)
		}
	}
	for path, want := range map[string]int{"/v1/models": 200, "/health": 200, "/metrics": 200, "/truth": 200, "/": 404, "/v1/embeddings": 404} {
		resp, err := http.Get(s.URL() + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("GET %s: %s, want %d", path, resp.Status, want)
		}
	}
	if _, err := Start(Config{Address: "256.0.0.1:0"}); err == nil {
		t.Error("listens on an address that does not exist")
	}
}
