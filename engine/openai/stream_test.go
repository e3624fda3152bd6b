package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
)

// serve starts a server with one handler for both text endpoints.
func serve(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	c := New(server.URL, "tiny")
	t.Cleanup(func() { c.Close(); server.Close() })
	return c
}

// script is a handler that streams these pieces, flushing after each.
func script(pieces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server notices a lost client only then
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		for _, piece := range pieces {
			_, _ = io.WriteString(w, piece)
			w.(http.Flusher).Flush()
		}
	}
}

func completion(text, rest string) string {
	quoted, _ := json.Marshal(text)
	return fmt.Sprintf(`data: {"choices":[{"index":0,"text":%s}]%s}`+"\n\n", quoted, rest)
}

func delta(members string) string {
	return `data: {"choices":[{"index":0,"delta":{` + members + `}}]}` + "\n\n"
}

const (
	end        = "data: [DONE]\n\n"
	finalUsage = `data: {"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":4}}}` + "\n\n"
)

// outline is what of a sample does not depend on the clock.
func outline(s measure.Sample) string {
	kinds := map[measure.Kind]string{
		measure.KindOther: "other", measure.KindText: "text", measure.KindReasoning: "reasoning",
		measure.KindUsage: "usage", measure.KindDone: "done",
	}
	var b strings.Builder
	for _, e := range s.Events {
		fmt.Fprintf(&b, "%s/%d/%d ", kinds[e.Kind], e.Tokens, e.Bytes)
	}
	fmt.Fprintf(&b, "prompt=%d output=%d cached=%d of=%d %s finish=%q text=%q reasoning=%q",
		s.PromptTokens, s.OutputTokens, s.CachedTokens, s.RequestedOutput, s.TokenSource, s.Finish, s.Text, s.Reasoning)
	return b.String()
}

func TestStream(t *testing.T) {
	counted := func(n int) string { return fmt.Sprintf(`,"usage":{"prompt_tokens":11,"completion_tokens":%d}`, n) }
	tests := []struct {
		name   string
		pieces []string
		want   string
	}{
		{
			"counted once",
			[]string{completion("a", ""), completion("b", ""), `data: {"choices":[{"text":"c","finish_reason":"length"}]}` + "\n\n", finalUsage, end},
			`text/-1/1 text/-1/1 text/-1/1 usage/3/0 done/-1/0 prompt=11 output=3 cached=4 of=3 usage finish="length" text="abc" reasoning=""`,
		},
		{
			"counted each time, several tokens an event",
			[]string{completion("ab", counted(2)), completion("c", counted(3)), end},
			`text/2/2 text/3/1 done/-1/0 prompt=11 output=3 cached=-1 of=3 continuous_usage finish="" text="abc" reasoning=""`,
		},
		{
			"nobody counts",
			[]string{completion("a", ""), completion("b", ""), end},
			`text/-1/1 text/-1/1 done/-1/0 prompt=-1 output=2 cached=-1 of=3 events finish="" text="ab" reasoning=""`,
		},
		{
			"chat with both names of reasoning",
			[]string{
				delta(`"role":"assistant","content":""`), delta(`"reasoning_content":"hm"`), delta(`"reasoning":"m"`),
				delta(`"reasoning_content":"!","reasoning":"!"`), delta(`"content":"yes"`), finalUsage, end,
			},
			`other/-1/0 reasoning/-1/2 reasoning/-1/1 reasoning/-1/1 text/-1/3 usage/3/0 done/-1/0 prompt=11 output=3 cached=4 of=3 usage finish="" text="yes" reasoning="hmm!"`,
		},
		{
			"events in pieces, comments, CRLF",
			[]string{": hello\r\n\r\nda", "ta: {\"choices\":[{\"te", "xt\":\"\\u00", "e9\"}]}\r\n\r", "\n: ping\r\n", "data: [DO", "NE]\r\n\r\n"},
			`text/-1/2 done/-1/0 prompt=-1 output=1 cached=-1 of=3 events finish="" text="é" reasoning=""`,
		},
		{
			"several events in one piece",
			[]string{completion("a", counted(1)) + completion("b", counted(2)) + end},
			`text/1/1 text/2/1 done/-1/0 prompt=11 output=2 cached=-1 of=3 continuous_usage finish="" text="ab" reasoning=""`,
		},
		{
			"a zero beside text is no count",
			[]string{completion("a", counted(0)), completion("b", counted(0)), finalUsage, end},
			`text/0/1 text/0/1 usage/3/0 done/-1/0 prompt=11 output=3 cached=4 of=3 usage finish="" text="ab" reasoning=""`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := serve(t, script(tt.pieces...))
			s, err := c.Stream(t.Context(), Request{Prompt: "x", MaxTokens: 3})
			if err != nil {
				t.Fatal(err)
			}
			if got := outline(s); got != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
			if _, err := measure.Derive(s); err != nil {
				t.Error(err)
			}
			if s.Err != "" || s.Sent.IsZero() {
				t.Errorf("err %q, sent %v", s.Err, s.Sent)
			}
		})
	}
}

func TestStreamErrors(t *testing.T) {
	first := completion("a", "")
	tests := []struct {
		name    string
		handler http.HandlerFunc
		kind    StreamErrorKind // of a *StreamError
		says    string
		events  int
	}{
		{"no end marker", script(first), EndedEarly, "no [DONE]", 1},
		{"no answer at all", script(), EndedEarly, "", 0},
		{"only the end marker", script(end), Empty, "", 0},
		{"malformed event", script(first, "data: {\"choices\":[}\n\n", end), Malformed, `{\"choices\":[}`, 1},
		{"cut off in an event", script(first, "data: {\"cho"), EndedEarly, "", 1},
		{"error in the stream", script(first, `data: {"error":{"message":"CUDA error","code":500}}`+"\n\n", end), Reported, "CUDA error", 1},
		{"huge event", script(first, "data: \""+strings.Repeat("x", maxEvent+1)+"\"\n\n"), TooLarge, "8388608 bytes", 1},
		{"no end of text", script(strings.Repeat(completion(strings.Repeat("x", maxText/64), ""), 70), end), Endless, "bytes of text where 0 tokens", 65},
		{"wrong content type", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"choices":[]}`)
		}, ContentType, `application/json`, 0},
		{"connection reset", func(w http.ResponseWriter, r *http.Request) {
			script(first)(w, r)
			panic(http.ErrAbortHandler)
		}, Broken, "EOF", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := serve(t, tt.handler)
			s, err := c.Stream(t.Context(), Request{Prompt: "x"})
			var broken *StreamError
			if !errors.As(err, &broken) || broken.Kind != tt.kind || !strings.Contains(err.Error(), tt.says) {
				t.Fatalf("error %v, want %q … %q", err, tt.kind, tt.says)
			}
			if broken.Events != tt.events {
				t.Errorf("%d events before, want %d", broken.Events, tt.events)
			}
			if s.Err != err.Error() {
				t.Errorf("sample says %q", s.Err)
			}
			if tt.events == 1 && s.Text != "a" {
				t.Errorf("what had come is lost: %+v", s)
			}
			if _, err := measure.Derive(s); err == nil {
				t.Error("a broken sample was measured")
			}
		})
	}
}

func TestStatusError(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":"prompt too long"}`+strings.Repeat(" more", 1000), http.StatusBadRequest)
	})
	_, err := c.Stream(t.Context(), Request{Prompt: "x"})
	var status *StatusError
	if !errors.As(err, &status) || status.Status != 400 || !strings.HasPrefix(status.Body, `{"error":"prompt too long"}`) || len(status.Body) > maxStatusBody {
		t.Fatalf("error %v", err)
	}
	if c.Usage() != UsageContinuous {
		t.Errorf("an unrelated refusal lowered the usage mode to %v", c.Usage())
	}

	moved := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	})
	if _, err := moved.Stream(t.Context(), Request{Prompt: "x"}); !errors.As(err, &status) || status.Status != 307 {
		t.Errorf("redirect gave %v", err)
	}
}

func TestNobodyListens(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	c := New(server.URL, "tiny")
	server.Close()
	s, err := c.Stream(t.Context(), Request{Prompt: "x"})
	var broken *StreamError
	if !errors.As(err, &broken) || broken.Kind != Broken || s.Err == "" {
		t.Errorf("error %v, sample %+v", err, s)
	}
	if _, err := c.Stream(t.Context(), Request{API: "images"}); err == nil {
		t.Error("unknown API accepted")
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := make(chan struct{})
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		script(completion("a", ""))(w, r)
		cancel(errors.New("enough"))
		<-r.Context().Done()
		close(gone)
	})
	_, err := c.Stream(ctx, Request{Prompt: "x"})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "enough") {
		t.Errorf("error %v", err)
	}
	<-gone // the server learns of it: the connection is closed
}

func TestRequestBody(t *testing.T) {
	var path, said string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		path, said = r.URL.Path+" "+r.Header.Get("Authorization"), string(b)
		script(completion("a", ""), end)(w, r)
	})
	c.Header = http.Header{"Authorization": {"Bearer k"}}
	seed := int64(0)
	for _, tt := range []struct {
		r          Request
		path, said string
	}{
		{
			Request{Prompt: "p", MaxTokens: 4, Seed: &seed, IgnoreEOS: true, ContinuousUsage: true},
			"/v1/completions Bearer k",
			`{"model":"tiny","prompt":"p","max_tokens":4,"temperature":0,"seed":0,"ignore_eos":true,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`,
		},
		{
			Request{API: Chat, Prompt: "p", MinTokens: 2, Temperature: 0.5, Stop: []string{"\n"}},
			"/v1/chat/completions Bearer k",
			`{"model":"tiny","messages":[{"role":"user","content":"p"}],"temperature":0.5,"min_tokens":2,"stop":["\n"],"stream":true,"stream_options":{"include_usage":true}}`,
		},
	} {
		if _, err := c.Stream(t.Context(), tt.r); err != nil {
			t.Fatal(err)
		}
		if path != tt.path || said != tt.said {
			t.Errorf("\n got %s %s\nwant %s %s", path, said, tt.path, tt.said)
		}
	}
	c.Extra = map[string]any{"cache_prompt": false}
	if _, err := c.Stream(t.Context(), Request{Prompt: "p"}); err != nil {
		t.Fatal(err)
	}
	if want := `{"model":"tiny","prompt":"p","temperature":0,"stream":true,"stream_options":{"include_usage":true},"cache_prompt":false}`; said != want {
		t.Errorf("\n got %s\nwant %s", said, want)
	}
}

func TestUsageIsNegotiatedOnce(t *testing.T) {
	tests := []struct {
		name    string
		refuses string
		want    UsageMode
		asked   int
	}{
		{"accepts all", "\x00", UsageContinuous, 1},
		{"refuses continuous usage", "continuous_usage_stats", UsageFinal, 2},
		{"refuses stream options", "stream_options", UsageNone, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			asked := 0
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				asked++
				b, _ := io.ReadAll(r.Body)
				if strings.Contains(string(b), tt.refuses) {
					http.Error(w, `{"detail":"Unknown field: `+tt.refuses+`"}`, http.StatusUnprocessableEntity)
					return
				}
				script(completion("a", ""), end)(w, r)
			})
			for range 2 {
				if _, err := c.Stream(t.Context(), Request{Prompt: "x", ContinuousUsage: true}); err != nil {
					t.Fatal(err)
				}
			}
			if c.Usage() != tt.want || asked != tt.asked+1 {
				t.Errorf("usage %v after %d requests, want %v after %d", c.Usage(), asked, tt.want, tt.asked+1)
			}
		})
	}
}

// Connections are used again, also when the end of the body comes late.
func TestConnectionReuse(t *testing.T) {
	from := map[string]bool{}
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		from[r.RemoteAddr] = true
		script(completion("a", ""), end, ": late\n\n")(w, r)
	})
	for range 5 {
		if _, err := c.Stream(t.Context(), Request{Prompt: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	if len(from) != 1 {
		t.Errorf("%d connections for 5 requests", len(from))
	}
}

func TestComplete(t *testing.T) {
	c := serve(t, script(completion("Pa", ""), completion("ris", ""), finalUsage, end))
	got, err := c.Complete(t.Context(), Request{Prompt: "x"})
	if err != nil || got.Text != "Paris" || got.Tokens != (Tokens{11, 3, 4, measure.SourceUsage}) {
		t.Errorf("got %+v, %v", got, err)
	}
}
