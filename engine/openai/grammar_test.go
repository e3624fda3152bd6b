package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

// receive reads a body that comes in pieces of these sizes, and breaks instead of ending if
// asked to.
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
	tests := []struct {
		name, stream string
		want         []string
	}{
		{"two events", "data: " + a + "\n\ndata: " + b + "\n\ndata: [DONE]\n\n", []string{"a", "b", "<done>"}},
		{"CRLF", "data: " + a + "\r\n\r\ndata: [DONE]\r\n\r\n", []string{"a", "<done>"}},
		{"mixed line ends", "data: " + a + "\n\r\ndata: " + b + "\r\n\ndata: [DONE]\n\n", []string{"a", "b", "<done>"}},
		{"no space after the colon", "data:" + a + "\n\n", []string{"a"}},
		{"comments and other fields", ": ping\n\nevent: message\nid: 7\nretry: 10\n: more\ndata: " + a + "\nfoo\n\n", []string{"a"}},
		{"data in several lines", "data: {\"choices\":\ndata: [{\"text\":\ndata:\"a\"}]}\n\n", []string{"a"}},
		{"byte order mark", "\xef\xbb\xbfdata: " + a + "\n\n", []string{"a"}},
		{"half a byte order mark", "\xef\xbbdata: " + a + "\n\ndata: " + b + "\n\n", []string{"b"}},
		{"empty data is a sign of life", "data:\n\ndata: \n\ndata\n\ndata: " + a + "\n\n", []string{"a"}},
		{"last event without blank line", "data: " + a + "\n\ndata: [DONE]\n", []string{"a", "<done>"}},
		{"last event without line end", "data: " + a + "\n\ndata: [DONE]", []string{"a", "<done>"}},
		{"cut off in an event", "data: " + a + "\n\ndata: {\"choi", []string{"a"}},
		{"nothing after the end marker counts", "data: [DONE]\n\ndata: " + a + "\n\n", []string{"<done>"}},
		{"malformed", "data: " + a + "\n\ndata: {\"choices\":\n\ndata: " + b + "\n\n", []string{"a", `<malformed event: "{\"choices\":">`}},
		{"valid JSON but no object", "data: [1]\n\n", []string{`<malformed event: "[1]">`}},
		{"error object", `data: {"error":{"message":"out of memory","code":500}}` + "\n\n", []string{`<the server reported an error: "out of memory">`}},
		{"error as text", `data: {"error":"busy"}` + "\n\n", []string{`<the server reported an error: "busy">`}},
		{"error line", `error: {"code":500,"message":"slot"}` + "\n\n", []string{`<the server reported an error: "{\"code\":500,\"message\":\"slot\"}">`}},
		{"error line that is no JSON", "error: it broke\n\n", []string{`<the server reported an error: "it broke">`}},
		{"nothing", "", nil},
		{"blank lines", "\n\n\r\n\r\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for cut := range len(tt.stream) + 1 {
				if got := texts(receive([]byte(tt.stream), []byte{byte(cut), 255}, false)); !slices.Equal(got, tt.want) {
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
	rest   []byte
	sizes  []byte
	n      int
	breaks bool
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
	f.Add([]byte(delta(`"role":"assistant"`)+delta(`"tool_calls":[{"function":{"name":"f","arguments":"{}"}}]`)+end+end+delta(`"content":"late"`)), []byte{1}, true)
	f.Add([]byte(`{"error":{"message":"no"}}`), []byte{}, false)
	f.Add([]byte("event: error\ndata: {\"a\":1}\n\n"), []byte{3}, false)
	f.Add([]byte("data: {\"choices\":[{\"index\":3,\"text\":\"x\",\"finish_reason\":\"stop\"}]}\n\n"), []byte{255}, false)
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

// vllmEvent is shaped like an event of vLLM with continuous usage: about 300
// bytes with its framing.
func vllmEvent(i int) string {
	words := []string{" the", " quick", ",", " brown", "\\n", " fox\\u00e9", " jumps", " \\\"over\\\""}
	return fmt.Sprintf(`data: {"id":"cmpl-3f2a9bd07c1e4a5f8e6d7c8b9a0f1e2d","object":"text_completion","created":1767225600,"model":"openai/gpt-oss-120b","choices":[{"index":0,"text":"%s","logprobs":null,"finish_reason":null,"stop_reason":null}],"usage":{"prompt_tokens":2048,"total_tokens":%d,"completion_tokens":%d}}`+"\n\n",
		words[i%len(words)], 2048+i, i)
}
