package openai

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/internal/testing/require"
)

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
				delta(`"reasoning_content":"!","reasoning":"!"`), delta(`"content":"yes"`), end,
			},
			`other/-1/0 reasoning/-1/2 reasoning/-1/1 reasoning/-1/1 text/-1/3 done/-1/0 prompt=-1 output=4 cached=-1 of=3 events finish="" text="yes" reasoning="hmm!"`,
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
			"tool calls as vLLM sends them",
			[]string{
				delta(`"role":"assistant","content":"","reasoning":null,"tool_calls":null`),
				delta(`"tool_calls":[{"id":"chatcmpl-tool-1","type":"function","index":0,"function":{"name":"get_weather"}}]`),
				delta(`"tool_calls":[{"index":0,"function":{"arguments":"{\"city\": "}}]`),
				delta(`"content":null,"tool_calls":[{"index":0,"function":{"arguments":"\"Rome\"}"}}]`),
				`data: {"choices":[{"index":0,"delta":{"content":""},"logprobs":null,"finish_reason":"tool_calls","stop_reason":null}],"usage":null}` + "\n\n",
				finalUsage, end,
			},
			`other/-1/0 tool/-1/11 tool/-1/9 tool/-1/7 other/-1/0 usage/3/0 done/-1/0 prompt=11 output=3 cached=4 of=3 usage finish="tool_calls" text="" reasoning="" tools="get_weather{\"city\": \"Rome\"}"`,
		},
		{
			"two tool calls in one event, and the old form",
			[]string{
				delta(`"tool_calls":[{"index":0,"function":{"name":"a","arguments":"{}"}},{"index":1,"function":{"name":"b","arguments":"[]"}}]`),
				delta(`"function_call":{"name":"c","arguments":"1"}`), end,
			},
			`tool/-1/6 tool/-1/2 done/-1/0 prompt=-1 output=2 cached=-1 of=3 events finish="" text="" reasoning="" tools="a{}b[]c1"`,
		},
		{
			"deltas that are null, and choices that are missing",
			[]string{
				`data: {"choices":[{"index":0,"delta":null}]}` + "\n\n", `data: {"choices":null}` + "\n\n", `data: {"choices":[null]}` + "\n\n", `data: {}` + "\n\n",
				delta(`"content":null,"reasoning_content":null,"tool_calls":[],"function_call":null`), delta(`"content":"x"`), end,
			},
			`other/-1/0 other/-1/0 other/-1/0 other/-1/0 other/-1/0 text/-1/1 done/-1/0 prompt=-1 output=1 cached=-1 of=3 events finish="" text="x" reasoning=""`,
		},
		{
			"several choices that nobody asked for",
			[]string{
				`data: {"choices":[{"index":0,"text":"a"}]}` + "\n\n", `data: {"choices":[{"index":1,"text":"A","finish_reason":"stop"}]}` + "\n\n",
				`data: {"choices":[{"index":0,"text":"b","finish_reason":"length"},{"index":1,"text":"B"}]}` + "\n\n", end,
			},
			`text/-1/1 other/-1/0 text/-1/1 done/-1/0 prompt=-1 output=2 cached=-1 of=3 events finish="length" text="ab" reasoning="" doubts="more than one choice; only the text of the first is kept"`,
		},
		{
			"fewer tokens counted than events with text",
			[]string{completion("a", ""), completion("b", ""), completion("c", ""), completion("d", ""), finalUsage, end},
			`text/-1/1 text/-1/1 text/-1/1 text/-1/1 usage/3/0 done/-1/0 prompt=11 output=3 cached=4 of=3 usage finish="" text="abcd" reasoning="" doubts="3 output tokens, but text in 4 events"`,
		},
		{
			"more tokens than were asked for, and more cached than there were",
			[]string{completion("a", counted(7)), `data: {"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":12}}}` + "\n\n", end},
			`text/7/1 usage/7/0 done/-1/0 prompt=11 output=7 cached=12 of=3 continuous_usage finish="" text="a" reasoning="" doubts="7 output tokens, but at most 3 were requested; 12 cached tokens in a prompt of 11"`,
		},
		{
			"a count that falls",
			[]string{completion("a", counted(2)), completion("b", counted(3)), completion("c", counted(1)), end},
			`text/2/1 text/3/1 text/1/1 done/-1/0 prompt=11 output=1 cached=-1 of=3 continuous_usage finish="" text="abc" reasoning="" doubts="the count of output tokens falls from 3 to 1 at event 3; 1 output tokens, but text in 3 events"`,
		},
		{
			"a count at the end that is another",
			[]string{completion("a", counted(1)), `data: {"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":3}}` + "\n\n", end},
			`text/1/1 usage/3/0 done/-1/0 prompt=11 output=3 cached=-1 of=3 continuous_usage finish="" text="a" reasoning="" doubts="3 output tokens at the end, but 1 at the last event before"`,
		},
		{
			"a prompt that changes its length",
			[]string{completion("a", counted(1)), `data: {"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":1}}` + "\n\n", end},
			`text/1/1 usage/1/0 done/-1/0 prompt=12 output=1 cached=-1 of=3 continuous_usage finish="" text="a" reasoning="" doubts="the count of prompt tokens changes from 11 to 12 at event 2"`,
		},
		{
			"the end twice, and text after it",
			[]string{completion("a", "") + end + completion("late", "") + end + end, ": late\n\n"},
			`text/-1/1 done/-1/0 prompt=-1 output=1 cached=-1 of=3 events finish="" text="a" reasoning="" doubts="events came after [DONE] and were not measured"`,
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
			require.NoError(t, err)
			if got := outline(s); got != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
			if _, err := measure.Derive(s); (err != nil) != strings.Contains(s.Doubts, "falls") {
				t.Errorf("measured with the error %v", err)
			}
			if s.Err != "" || s.Sent.IsZero() {
				t.Errorf("err %q, sent %v", s.Err, s.Sent)
			}
		})
	}
}

// Connections are reused, even if the end of the body comes late.
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

// An answer has ended with its last event, however late the body does.
func TestEndedBeforeTheBody(t *testing.T) {
	ended, waited := make(chan struct{}), make(chan bool, 1)
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		script(completion("a", ""), end)(w, r)
		select {
		case <-ended:
			waited <- false
		case <-r.Context().Done(): // the client gave the connection up
			waited <- true
		}
	})
	s, err := c.Stream(t.Context(), Request{Prompt: "x", Ended: func() { close(ended) }})
	if err != nil || s.Text != "a" || <-waited {
		t.Errorf("%q, %v: the end was told after that of the body", s.Text, err)
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
		{"malformed inside", script(first, "data: {\"choices\":}\n\n", completion("b", ""), end), Malformed, "", 1},
		{"cut off in an event", script(first, "data: {\"cho"), EndedEarly, "", 1},
		{"error in the stream", script(first, `data: {"error":{"message":"CUDA error","code":500}}`+"\n\n", end), Reported, "CUDA error", 1},
		{"huge event", script(first, "data: \""+strings.Repeat("x", 3*maxEvent)), TooLarge, "8388608 bytes", 1},
		{"huge event by drips", script(first, "data: \"", strings.Repeat("x", maxEvent/2), strings.Repeat("x", maxEvent/2+1)), TooLarge, "8388608 bytes", 1},
		{"an event named error", script(first, "event: error\ndata: {\"code\":3}\n\n"), Reported, `{\"code\":3}`, 1},
		{"an error with status 200", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"object":"error","message":"no such model","code":404}`)
		}, Reported, "no such model", 0},
		{"an error where events should be", script(`{"error":{"message":"out of slots"}}` + "\n"), Reported, "out of slots", 0},
		{"an answer where events should be", script(`{"choices":[{"text":"all at once"}]}`), EndedEarly, "all at once", 0},
		{"an answer that was compressed", func(w http.ResponseWriter, r *http.Request) {
			if got := r.Header.Get("Accept-Encoding"); got != "identity" {
				t.Errorf("Accept-Encoding: %q", got)
			}
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = io.WriteString(z, first+end)
			_ = z.Close()
		}, Compressed, "gzip", 0},
		{"no end of text", script(strings.Repeat(completion(strings.Repeat("x", maxText/64), ""), 70), end), Endless, "bytes of text, for 0 requested tokens", 65},
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

func TestNobodyListens(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	c := New(server.URL, "tiny")
	server.Close()
	s, err := c.Stream(t.Context(), Request{Prompt: "x"})
	var broken *StreamError
	if !errors.As(err, &broken) || broken.Kind != Broken || s.Err == "" {
		t.Errorf("error %v, sample %+v", err, s)
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

func TestUsageIsNegotiatedOnce(t *testing.T) {
	tests := []struct {
		name    string
		refuses string
		want    usageMode
		asked   int
	}{
		{"accepts all", "\x00", usageContinuous, 1},
		{"refuses continuous usage", "continuous_usage_stats", usageFinal, 2},
		{"refuses stream options", "stream_options", usageNone, 3},
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
			if usageMode(c.usage.Load()) != tt.want || asked != tt.asked+1 {
				t.Errorf("usage %v after %d requests, want %v after %d", c.usage.Load(), asked, tt.want, tt.asked+1)
			}
		})
	}
}
