package openai

import (
	"bytes"
	"compress/gzip"
	"context"
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
	"github.com/mxflow/mxflow/internal/testing/must"
)

func TestStream(t *testing.T) {
	counted := func(n int) string { return fmt.Sprintf(`,"usage":{"prompt_tokens":11,"completion_tokens":%d}`, n) }
	for _, tt := range []struct {
		name   string
		pieces []string
		want   string
	}{
		{
			"counted once",
			[]string{
				completion("a", ""), completion("b", ""),
				`data: {"choices":[{"text":"c","finish_reason":"length"}]}` + "\n\n", finalUsage, end,
			},
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
			[]string{
				": hello\r\n\r\nda", "ta: {\"choices\":[{\"te", "xt\":\"\\u00", "e9\"}]}\r\n\r", "\n: ping\r\n",
				"data: [DO", "NE]\r\n\r\n",
			},
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
				delta(
					`"tool_calls":[{"id":"chatcmpl-tool-1","type":"function","index":0,"function":{"name":"get_weather"}}]`),
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
				delta(
					`"tool_calls":[{"index":0,"function":{"name":"a","arguments":"{}"}},{"index":1,"function":{"name":"b","arguments":"[]"}}]`),
				delta(`"function_call":{"name":"c","arguments":"1"}`), end,
			},
			`tool/-1/6 tool/-1/2 done/-1/0 prompt=-1 output=2 cached=-1 of=3 events finish="" text="" reasoning="" tools="a{}b[]c1"`,
		},
		{
			"deltas that are null, and choices that are missing",
			[]string{
				`data: {"choices":[{"index":0,"delta":null}]}` + "\n\n", `data: {"choices":null}` + "\n\n",
				`data: {"choices":[null]}` + "\n\n", `data: {}` + "\n\n",
				delta(`"content":null,"reasoning_content":null,"tool_calls":[],"function_call":null`),
				delta(`"content":"x"`), end,
			},
			`other/-1/0 other/-1/0 other/-1/0 other/-1/0 other/-1/0 text/-1/1 done/-1/0 prompt=-1 output=1 cached=-1 of=3 events finish="" text="x" reasoning=""`,
		},
		{
			"several choices that nobody asked for",
			[]string{
				`data: {"choices":[{"index":0,"text":"a"}]}` + "\n\n",
				`data: {"choices":[{"index":1,"text":"A","finish_reason":"stop"}]}` + "\n\n",
				`data: {"choices":[{"index":0,"text":"b","finish_reason":"length"},{"index":1,"text":"B"}]}` + "\n\n",
				end,
			},
			`text/-1/1 other/-1/0 text/-1/1 done/-1/0 prompt=-1 output=2 cached=-1 of=3 events finish="length" text="ab" reasoning="" doubts="more than one choice; only the text of the first is kept"`,
		},
		{
			"fewer tokens counted than events with text",
			[]string{
				completion("a", ""), completion("b", ""), completion("c", ""), completion("d", ""),
				finalUsage, end,
			},
			`text/-1/1 text/-1/1 text/-1/1 text/-1/1 usage/3/0 done/-1/0 prompt=11 output=3 cached=4 of=3 usage finish="" text="abcd" reasoning="" doubts="3 output tokens, but text in 4 events"`,
		},
		{
			"more tokens than were asked for, and more cached than there were",
			[]string{
				completion("a", counted(7)),
				`data: {"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":12}}}` + "\n\n", end,
			},
			`text/7/1 usage/7/0 done/-1/0 prompt=11 output=7 cached=12 of=3 continuous_usage finish="" text="a" reasoning="" doubts="7 output tokens, but at most 3 were requested; 12 cached tokens in a prompt of 11"`,
		},
		{
			"a count that falls",
			[]string{completion("a", counted(2)), completion("b", counted(3)), completion("c", counted(1)), end},
			`text/2/1 text/3/1 text/1/1 done/-1/0 prompt=11 output=1 cached=-1 of=3 continuous_usage finish="" text="abc" reasoning="" doubts="the count of output tokens falls from 3 to 1 at event 3; 1 output tokens, but text in 3 events"`,
		},
		{
			"a count at the end that is another",
			[]string{
				completion("a", counted(1)),
				`data: {"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":3}}` + "\n\n", end,
			},
			`text/1/1 usage/3/0 done/-1/0 prompt=11 output=3 cached=-1 of=3 continuous_usage finish="" text="a" reasoning="" doubts="3 output tokens at the end, but 1 at the last event before"`,
		},
		{
			"a prompt that changes its length",
			[]string{
				completion("a", counted(1)),
				`data: {"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":1}}` + "\n\n", end,
			},
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
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := serve(t, script(tt.pieces...))
			s, err := c.Stream(t.Context(), Request{Prompt: "x", MaxTokens: 3})
			must.Do(t, err)
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

func TestStreamErrors(t *testing.T) {
	first := completion("a", "")
	for _, tt := range []struct {
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
		{
			"error in the stream", script(first, `data: {"error":{"message":"CUDA error","code":500}}`+"\n\n", end),
			Reported, "CUDA error", 1,
		},
		{"huge event", script(first, "data: \""+strings.Repeat("x", 3*maxEvent)), TooLarge, "8388608 bytes", 1},
		{"huge event by drips", script(first, "data: \"", strings.Repeat("x", maxEvent/2),
			strings.Repeat("x", maxEvent/2+1)), TooLarge, "8388608 bytes", 1},
		{"an event named error", script(first, "event: error\ndata: {\"code\":3}\n\n"), Reported, `{\"code\":3}`, 1},
		{"an error with status 200", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"object":"error","message":"no such model","code":404}`)
		}, Reported, "no such model", 0},
		{
			"an error where events should be", script(`{"error":{"message":"out of slots"}}` + "\n"), Reported,
			"out of slots", 0,
		},
		{
			"an answer where events should be", script(`{"choices":[{"text":"all at once"}]}`), EndedEarly,
			"all at once", 0,
		},
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
		{
			"no end of text", script(strings.Repeat(completion(strings.Repeat("x", maxText/64), ""), 70), end), Endless,
			"bytes of text, for 0 requested tokens", 65,
		},
		{"wrong content type", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"choices":[]}`)
		}, ContentType, `application/json`, 0},
		{"connection reset", func(w http.ResponseWriter, r *http.Request) {
			script(first)(w, r)
			panic(http.ErrAbortHandler)
		}, Broken, "EOF", 1},
	} {
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
	for _, tt := range []struct {
		name, refuses string
		want          usageMode
		asked         int
	}{
		{"accepts all", "\x00", usageContinuous, 1},
		{"refuses continuous usage", "continuous_usage_stats", usageFinal, 2},
		{"refuses stream options", "stream_options", usageNone, 3},
	} {
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

// receive reads a body that comes in pieces of these sizes, and breaks instead of ending if asked to.
func receive(stream, sizes []byte, breaks bool) (measure.Sample, error) {
	w := newWatch(context.Background(), Timeouts{})
	defer w.close()
	w.start(time.Time{}) // as long ago as can be: all events have one time, whenever this runs
	a := newAnswer(Request{MaxTokens: 3})
	return a.sample(a.receive(&pieces{rest: bytes.Clone(stream), sizes: sizes, breaks: breaks}, w))
}

// texts is the text of an answer with its events, <done> for the end marker, and its error
// unless that is only that it has no end.
func texts(s measure.Sample, err error) []string {
	var got []string
	text := s.Text
	for _, e := range s.Events {
		got = append(got, text[:e.Bytes])
		if text = text[e.Bytes:]; e.Kind == measure.KindDone {
			got[len(got)-1] = "<done>"
		}
	}
	if broken, ok := errors.AsType[*StreamError](err); ok && broken.Kind != EndedEarly && broken.Kind != Empty {
		got = append(got, "<"+string(broken.Kind)+": "+broken.Detail+">")
	}
	return got
}

func TestGrammar(t *testing.T) {
	a, b := `{"choices":[{"text":"a"}]}`, `{"choices":[{"text":"b"}]}`
	for _, tt := range []struct {
		name, stream string
		want         []string
	}{
		{"two events", "data: " + a + "\n\ndata: " + b + "\n\ndata: [DONE]\n\n", []string{"a", "b", "<done>"}},
		{"CRLF", "data: " + a + "\r\n\r\ndata: [DONE]\r\n\r\n", []string{"a", "<done>"}},
		{"mixed line ends", "data: " + a + "\n\r\ndata: " + b + "\r\n\ndata: [DONE]\n\n", []string{"a", "b", "<done>"}},
		{"no space after the colon", "data:" + a + "\n\n", []string{"a"}},
		{
			"comments and other fields", ": ping\n\nevent: message\nid: 7\nretry: 10\n: more\ndata: " + a + "\nfoo\n\n",
			[]string{"a"},
		},
		{"data in several lines", "data: {\"choices\":\ndata: [{\"text\":\ndata:\"a\"}]}\n\n", []string{"a"}},
		{"byte order mark", "\xef\xbb\xbfdata: " + a + "\n\n", []string{"a"}},
		{"half a byte order mark", "\xef\xbbdata: " + a + "\n\ndata: " + b + "\n\n", []string{"b"}},
		{"empty data is a sign of life", "data:\n\ndata: \n\ndata\n\ndata: " + a + "\n\n", []string{"a"}},
		{"last event without blank line", "data: " + a + "\n\ndata: [DONE]\n", []string{"a", "<done>"}},
		{"last event without line end", "data: " + a + "\n\ndata: [DONE]", []string{"a", "<done>"}},
		{"cut off in an event", "data: " + a + "\n\ndata: {\"choi", []string{"a"}},
		{"nothing after the end marker counts", "data: [DONE]\n\ndata: " + a + "\n\n", []string{"<done>"}},
		{
			"malformed", "data: " + a + "\n\ndata: {\"choices\":\n\ndata: " + b + "\n\n",
			[]string{"a", `<malformed event: "{\"choices\":">`},
		},
		{"valid JSON but no object", "data: [1]\n\n", []string{`<malformed event: "[1]">`}},
		{
			"error object", `data: {"error":{"message":"out of memory","code":500}}` + "\n\n",
			[]string{`<the server reported an error: "out of memory">`},
		},
		{"error as text", `data: {"error":"busy"}` + "\n\n", []string{`<the server reported an error: "busy">`}},
		{
			"error line", `error: {"code":500,"message":"slot"}` + "\n\n",
			[]string{`<the server reported an error: "{\"code\":500,\"message\":\"slot\"}">`},
		},
		{"error line that is no JSON", "error: it broke\n\n", []string{`<the server reported an error: "it broke">`}},
		{"nothing", "", nil},
		{"blank lines", "\n\n\r\n\r\n", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for cut := range len(tt.stream) + 1 {
				if got := texts(receive([]byte(tt.stream), []byte{byte(cut), 255}, false)); !slices.Equal(got,
					tt.want) {
					t.Fatalf("cut at %d: %q, want %q", cut, got, tt.want)
				}
			}
			if got := texts(receive([]byte(tt.stream), nil, false)); !slices.Equal(got, tt.want) {
				t.Fatalf("byte by byte: %q, want %q", got, tt.want)
			}
		})
	}
}

// An answer larger than what is kept undecoded is decoded in batches, with the same result.
func TestBatches(t *testing.T) {
	var stream strings.Builder
	const n = 3 * maxBatch / 300
	for i := range n {
		stream.WriteString(vllmEvent(i + 1))
	}
	s, err := receive([]byte(stream.String()+end), []byte{255, 7}, false)
	if err != nil || len(s.Events) != n+1 || s.OutputTokens != n {
		t.Errorf("%d events, %d tokens, %v", len(s.Events), s.OutputTokens, err)
	}
	for i, e := range s.Events[:n] {
		if e.Tokens != i+1 || e.Kind != measure.KindText {
			t.Fatalf("event %d: %+v", i, e)
		}
	}
}

// With Ended, an answer is decoded once no other is streaming.
func TestDecodingWaits(t *testing.T) {
	release := make(chan struct{})
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		said, _ := io.ReadAll(r.Body)
		script(completion("a", ""))(w, r)
		if bytes.Contains(said, []byte("slow")) {
			<-release
		}
		_, _ = io.WriteString(w, completion("b", "")+end)
	})
	started, ended, decoded := make(chan struct{}), make(chan struct{}), make(chan measure.Sample, 2)
	go func() {
		var once bool
		s, _ := c.Stream(t.Context(), Request{Prompt: "slow", Heard: func(string) bool {
			if !once {
				once = true
				close(started)
			}
			return false
		}})
		decoded <- s
	}()
	<-started
	go func() {
		s, _ := c.Stream(t.Context(), Request{Prompt: "fast", Ended: func() { close(ended) }})
		decoded <- s
	}()
	<-ended
	select {
	case s := <-decoded:
		t.Errorf("decoded while another answer was streaming: %+v", s)
	case <-time.After(20 * time.Millisecond):
	}
	close(release)
	for range 2 {
		if s := <-decoded; s.Text != "ab" {
			t.Errorf("%+v", s)
		}
	}
}

// pieces is a body that comes in pieces, and breaks instead of ending if asked to.
type pieces struct {
	rest, sizes []byte
	n           int
	breaks      bool
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 && p.breaks {
		return 0, errors.New("broken")
	}
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	size := 1
	if len(p.sizes) > 0 {
		size, p.n = max(int(p.sizes[p.n%len(p.sizes)]), 1), p.n+1
	}
	n := copy(b, p.rest[:min(size, len(p.rest))])
	p.rest = p.rest[n:]
	return n, nil
}

// FuzzReceive checks what must be true of a sample whatever the server sends: events in
// order of time, text that has the bytes of its events, one end, no error for a complete
// answer and one for any other, wherever the bytes are cut.
func FuzzReceive(f *testing.F) {
	f.Add([]byte(vllmEvent(1)+vllmEvent(2)+finalUsage+end), []byte{7, 0, 200}, false)
	f.Add([]byte(delta(`"role":"assistant"`)+delta(`"tool_calls":[{"function":{"name":"f","arguments":"{}"}}]`)+end+end+
		delta(`"content":"late"`)), []byte{1}, true)
	f.Add([]byte(`{"error":{"message":"no"}}`), []byte{}, false)
	f.Add([]byte("event: error\ndata: {\"a\":1}\n\n"), []byte{3}, false)
	f.Add([]byte("data: {\"choices\":[{\"index\":3,\"text\":\"x\",\"finish_reason\":\"stop\"}]}\n\n"),
		[]byte{255}, false)
	f.Fuzz(func(t *testing.T, stream, sizes []byte, breaks bool) {
		s, err := receive(stream, sizes, breaks)
		if (err == nil) != (s.Err == "") {
			t.Fatalf("error %v, sample says %q", err, s.Err)
		}
		size, ended := 0, false
		for i, e := range s.Events {
			if ended || i > 0 && e.At < s.Events[i-1].At || e.Tokens < -1 || e.Bytes < 0 {
				t.Fatalf("event %d of %+v", i, s.Events)
			}
			size, ended = size+e.Bytes, e.Kind == measure.KindDone
		}
		if kept := len(s.Text) + len(s.Reasoning) + len(s.Tools); kept > size || kept < size && s.Doubts == "" {
			t.Fatalf("%d bytes of text in events of %d: %+v", kept, size, s)
		}
		if err == nil && (len(s.Events) == 0 || !ended && s.Finish == "") {
			t.Fatalf("taken for whole: %+v", s)
		}
		whole, wholeErr := receive(stream, []byte{255, 255, 255}, breaks)
		if (err == nil) != (wholeErr == nil) || outline(whole) != outline(s) {
			t.Fatalf("cut by %v:\n%s, %v\nelse:\n%s, %v", sizes, outline(s), err, outline(whole), wholeErr)
		}
	})
}

// vllmEvent is shaped like an event of vLLM with continuous usage: about 300 bytes with its framing.
func vllmEvent(i int) string {
	words := []string{" the", " quick", ",", " brown", "\\n", " fox\\u00e9", " jumps", " \\\"over\\\""}
	return fmt.Sprintf(
		`data: {"id":"cmpl-3f2a9bd07c1e4a5f8e6d7c8b9a0f1e2d","object":"text_completion","created":1767225600,"model":"openai/gpt-oss-120b","choices":[{"index":0,"text":"%s","logprobs":null,"finish_reason":null,"stop_reason":null}],"usage":{"prompt_tokens":2048,"total_tokens":%d,"completion_tokens":%d}}`+"\n\n",
		words[i%len(words)], 2048+i, i)
}
