package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

// parse feeds the pieces one after the other and returns what came out.
func parse(limit int, pieces ...[]byte) (events []string, err error) {
	p := newParser()
	p.limit = limit
	for _, piece := range pieces {
		p.push(piece)
		for p.next() {
			events = append(events, show(&p.ev))
		}
	}
	if p.finish() {
		events = append(events, show(&p.ev)+" at the end")
	}
	return events, p.err
}

// texts is the text of every event, <done> for the end marker.
func texts(t *testing.T, stream string) []string {
	t.Helper()
	p := newParser()
	var got []string
	collect := func() {
		switch {
		case p.ev.done:
			got = append(got, "<done>")
		case p.ev.failed:
			got = append(got, "<failed: "+string(p.ev.failure)+">")
		default:
			got = append(got, string(p.ev.text))
		}
	}
	p.push([]byte(stream))
	for p.next() {
		collect()
	}
	if p.err != nil {
		got = append(got, string(p.err.(*StreamError).Kind))
	} else if p.finish() {
		collect()
	}
	return got
}

func TestParser(t *testing.T) {
	a, b := `{"choices":[{"text":"a"}]}`, `{"choices":[{"text":"b"}]}`
	tests := []struct {
		name, stream string
		want         []string
	}{
		{"two events", "data: " + a + "\n\ndata: " + b + "\n\ndata: [DONE]\n\n", []string{"a", "b", "<done>"}},
		{"CRLF", "data: " + a + "\r\n\r\ndata: [DONE]\r\n\r\n", []string{"a", "<done>"}},
		{"CR", "data: " + a + "\r\rdata: [DONE]\r\r", []string{"a", "<done>"}},
		{"mixed line ends", "data: " + a + "\n\r\ndata: " + b + "\r\n\rdata: [DONE]\n\n", []string{"a", "b", "<done>"}},
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
		{"malformed", "data: " + a + "\n\ndata: {\"choices\":\n\ndata: " + b + "\n\n", []string{"a", string(Malformed)}},
		{"valid JSON but no object", "data: [1]\n\n", []string{string(Malformed)}},
		{"error object", `data: {"error":{"message":"out of memory","code":500}}` + "\n\n", []string{"<failed: out of memory>"}},
		{"error as text", `data: {"error":"busy"}` + "\n\n", []string{"<failed: busy>"}},
		{"error line", `error: {"code":500,"message":"slot"}` + "\n\n", []string{`<failed: {"code":500,"message":"slot"}>`}},
		{"error line that is no JSON", "error: it broke\n\n", []string{"<failed: it broke>"}},
		{"nothing", "", nil},
		{"blank lines", "\n\n\r\n\r\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := texts(t, tt.stream); !slices.Equal(got, tt.want) {
				t.Fatalf("got %q, want %q", got, tt.want)
			}
			whole, wholeErr := parse(maxEvent, []byte(tt.stream))
			for cut := range len(tt.stream) + 1 {
				got, err := parse(maxEvent, []byte(tt.stream[:cut]), []byte(tt.stream[cut:]))
				if !slices.Equal(got, whole) || fmt.Sprint(err) != fmt.Sprint(wholeErr) {
					t.Fatalf("cut at %d: %q, %v; whole: %q, %v", cut, got, err, whole, wholeErr)
				}
			}
			single := make([][]byte, len(tt.stream))
			for i := range single {
				single[i] = []byte(tt.stream[i : i+1])
			}
			if got, err := parse(maxEvent, single...); !slices.Equal(got, whole) || fmt.Sprint(err) != fmt.Sprint(wholeErr) {
				t.Fatalf("byte by byte: %q, %v; whole: %q, %v", got, err, whole, wholeErr)
			}
		})
	}
}

func TestParserLimit(t *testing.T) {
	ok := "data: {\"choices\":[{\"text\":\"" + strings.Repeat("x", 100) + "\"}]}\n\n"
	for _, long := range []string{
		"data: \"" + strings.Repeat("x", 1000) + "\"\n\n",
		": " + strings.Repeat("comment", 200) + "\n",
		strings.Repeat("data: aaaaaaaaaaaaaa\n", 100) + "\n",
		strings.Repeat("x", 1000),
	} {
		events, err := parse(256, []byte(ok+long+ok))
		stream, _ := err.(*StreamError)
		if len(events) != 1 || stream == nil || stream.Kind != TooLarge {
			t.Errorf("%.20q…: %d events, %v", long, len(events), err)
		}
	}
}

func TestMalformedIsQuotedAndCut(t *testing.T) {
	_, err := parse(maxEvent, []byte("data: {\"a\":\x1b[31m"+strings.Repeat("é", 400)+"\n\n"))
	if err == nil {
		t.Fatal("no error")
	}
	said := err.Error()
	if !strings.Contains(said, `{\"a\":\x1b[31mé`) || !strings.Contains(said, "bytes)") || len(said) > 400 {
		t.Errorf("message %q", said)
	}
}

func TestParserAllocatesNothing(t *testing.T) {
	p := newParser()
	chunk := []byte(vllmEvent(1) + vllmEvent(2) + vllmEvent(7))
	half := len(chunk) / 2
	feed := func() {
		for _, piece := range [][]byte{chunk[:half], chunk[half:]} {
			p.push(piece)
			for p.next() {
			}
		}
	}
	feed()
	if got := testing.AllocsPerRun(100, feed); got != 0 || p.err != nil {
		t.Errorf("%v allocations, error %v", got, p.err)
	}
}

// FuzzParser checks that it does not matter where the bytes are cut.
func FuzzParser(f *testing.F) {
	f.Add([]byte(vllmEvent(1)+vllmEvent(2)+"data: [DONE]\n\n"), uint16(7), uint16(300))
	f.Add([]byte("\xef\xbb\xbfdata: {\"error\":\"x\"}\r\n\r\n: c\r\rdata\n"), uint16(1), uint16(2))
	f.Add([]byte("data: {\ndata: }\n\nerror: x\n\ndata:[DONE]"), uint16(9), uint16(10))
	f.Fuzz(func(t *testing.T, stream []byte, one, two uint16) {
		i := int(one) % (len(stream) + 1)
		j := i + int(two)%(len(stream)-i+1)
		const limit = 600 // small, so that the limit is met too
		whole, wholeErr := parse(limit, stream)
		cut, cutErr := parse(limit, stream[:i], stream[i:j], nil, stream[j:])
		if !slices.Equal(whole, cut) || fmt.Sprint(wholeErr) != fmt.Sprint(cutErr) {
			t.Fatalf("whole: %q, %v\ncut at %d and %d: %q, %v", whole, wholeErr, i, j, cut, cutErr)
		}
	})
}

// A server whose machine goes away resets the connection.
func TestConnectionReset(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		script(completion("a", ""), "data: {\"cho")(w, r)
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	})
	s, err := c.Stream(t.Context(), Request{Prompt: "x", Timeouts: Timeouts{Stall: time.Minute}})
	var broken *StreamError
	if !errors.As(err, &broken) || broken.Kind != Broken {
		t.Errorf("%+v, %v", s, err)
	}
}

// A request's text is released once its answer has begun, and not before: a connection
// may break before that, and the request is sent on another.
func TestPayload(t *testing.T) {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://engine", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	sendOnce(req, []byte("question"))
	for range 2 {
		if said, err := io.ReadAll(req.Body); err != nil || string(said) != "question" || req.ContentLength != 8 {
			t.Errorf("sent %q, %v", said, err)
		}
		if err := req.Body.Close(); err != nil {
			t.Error(err)
		}
		if _, err := req.Body.Read(make([]byte, 1)); err == nil {
			t.Error("a closed body was read")
		}
		if req.Body, err = req.GetBody(); err != nil {
			t.Fatal(err)
		}
	}
	forget(req)
	if _, err := req.GetBody(); err == nil {
		t.Error("a forgotten body was sent again")
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
		read := func(sizes []byte) (measure.Sample, error) {
			w := newWatch(context.Background(), Timeouts{})
			defer w.close()
			w.start(time.Time{}) // as long ago as can be: all events have one time, whenever this runs
			got := newCollector(Request{MaxTokens: 3})
			err := receive(&pieces{rest: bytes.Clone(stream), sizes: sizes, breaks: breaks}, w, got)
			return got.sample(err), err
		}
		s, err := read(sizes)
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
		whole, wholeErr := read([]byte{255, 255, 255})
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

// BenchmarkParser measures what the client adds to an event: finding it, checking it,
// extracting its fields. One operation is one event. The chunks are those of a busy
// stream (one event per read) and of one that lags behind.
func BenchmarkParser(b *testing.B) {
	for _, perRead := range []int{1, 16} {
		b.Run(fmt.Sprintf("events_per_read=%d", perRead), func(b *testing.B) {
			var chunk bytes.Buffer
			for i := range perRead {
				chunk.WriteString(vllmEvent(i + 1))
			}
			p := newParser()
			b.SetBytes(int64(chunk.Len() / perRead))
			b.ReportAllocs()
			b.ResetTimer()
			for n := 0; n < b.N; {
				p.push(chunk.Bytes())
				for p.next() {
					n++
				}
			}
			if p.err != nil {
				b.Fatal(p.err)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N), "ns/event")
		})
	}
}

func newParser() *parser { return &parser{limit: maxEvent} }
