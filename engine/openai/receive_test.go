package openai

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

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

// A request's text is let go of once its answer has begun, and not before: a
// connection may break before that, and the request is sent on another.
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

// pieces is a body that comes in pieces, and breaks instead of ending where
// asked to.
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

// FuzzReceive holds what must be true of a sample whatever the server says:
// events in order of time, text that has the bytes of its events, one end, no
// error for an answer that is whole and one for any other, and all of this
// wherever the bytes are cut.
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
