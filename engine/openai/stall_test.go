package openai

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/internal/testing/must"
)

// Times are those of arrival, exactly: the bubble's clock moves only while every goroutine waits.
func TestTimestamps(t *testing.T) {
	a := completion("a", "")
	handler := paced(10*time.Millisecond, a, a[:12], a[12:], a+a, ": ping\n\n", end)
	inBubble(t, handler, func(t *testing.T, c *Client) {
		s, err := c.Stream(t.Context(),
			Request{Prompt: "x", Timeouts: Timeouts{Total: time.Minute, First: time.Minute, Stall: time.Minute}})
		must.Do(t, err)
		want := []time.Duration{10, 30, 40, 40, 60}
		if len(s.Events) != len(want) {
			t.Fatalf("events %+v", s.Events)
		}
		for i, e := range s.Events {
			if e.At != want[i]*time.Millisecond {
				t.Errorf("event %d at %v, want %v", i, e.At, want[i]*time.Millisecond)
			}
		}
		v, err := measure.Derive(s)
		if err != nil || v["ttft"][0] != 10 || v["tg"][0] != 100 {
			t.Errorf("derived %v, %v", v, err)
		}
	})
}

// Reading a prompt may take longer than the limit between tokens, even if the server opens with the role.
func TestRoleBeforeALongPrompt(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) {
		paced(time.Millisecond, delta(`"role":"assistant","content":""`))(w, r)
		paced(time.Minute, delta(`"content":"a"`)+end)(w, r)
	}
	inBubble(t, handler, func(t *testing.T, c *Client) {
		s, err := c.Stream(t.Context(),
			Request{API: Chat, Prompt: "x", Timeouts: Timeouts{First: 2 * time.Minute, Stall: time.Second}})
		if err != nil || s.Text != "a" {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

func TestStall(t *testing.T) {
	a := completion("a", "")
	ping := ": still here\n\n"
	role := delta(`"role":"assistant","content":""`)
	rising := `data: {"choices":[{"text":""}],"usage":{"completion_tokens":5}}` + "\n\n"
	const s, ms = time.Second, time.Millisecond
	for _, tt := range []struct {
		name    string
		handler http.HandlerFunc
		limits  Timeouts
		awaits  string
		limit   time.Duration
		events  int
		after   time.Duration
	}{
		{"headers do not come", paced(3600*s, a), Timeouts{First: 3 * s}, "the first token", 3 * s, 0, 3 * s},
		{
			"comments are no progress", paced(s, ping, ping, ping, ping, a, end),
			Timeouts{First: 3500 * ms},
			"the first token", 3500 * ms, 0, 3500 * ms,
		},
		{
			"the stream stalls", paced(s, a, a, ping, ping, ping, ping),
			Timeouts{First: 60 * s, Stall: 2500 * ms},
			"the next event", 2500 * ms, 2, 4500 * ms,
		},
		{
			"half an event is no progress", paced(s, a, a[:5], a[5:9], a[9:]),
			Timeouts{Stall: 2500 * ms},
			"the next event", 2500 * ms, 1, 3500 * ms,
		},
		{
			"trickling bytes before the first token", paced(s, a[:3], a[3:9], a[9:12], a[12:15], a[15:]),
			Timeouts{Stall: 2500 * ms},
			"the end of an event that had begun", 2500 * ms, 0, 3500 * ms,
		},
		{
			"the role, and then nothing", hanging(paced(s, role)),
			Timeouts{First: 5 * s, Stall: 2 * s},
			"the first token", 5 * s, 1, 5 * s,
		},
		{
			"the role, and then nothing, without a limit for the first token", hanging(paced(s, role)),
			Timeouts{Total: 9 * s, Stall: 2 * s},
			"the whole answer", 9 * s, 1, 9 * s,
		},
		{
			"a role that trickles in, and then nothing", hanging(paced(s, role[:9], role[9:])),
			Timeouts{First: 5 * s, Stall: 1500 * ms},
			"the first token", 5 * s, 1, 5 * s,
		},
		{
			"headers that trickle", trickle(s, "HTTP/1.1 200 OK\r\n", "Content-Type: ", "text/", "event-", "stream"),
			Timeouts{First: 3500 * ms, Stall: s},
			"the first token", 3500 * ms, 0, 3500 * ms,
		},
		{
			"headers that trickle for ever",
			trickle(s, "HTTP/1.1 200 OK\r\n", "Content-Type: ", "text/", "event-", "stream"),
			Timeouts{Total: 3500 * ms},
			"the whole answer", 3500 * ms, 0, 3500 * ms,
		},
		{
			"counts that rise without text are progress", hanging(paced(s, a, rising, rising, rising)),
			Timeouts{Stall: 1500 * ms},
			"the next event", 1500 * ms, 4, 5500 * ms,
		},
		{
			"too long in all", paced(s, a, a, a, a, a, a),
			Timeouts{Total: 3500 * ms, Stall: 60 * s},
			"the whole answer", 3500 * ms, 3, 3500 * ms,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, tt.handler, func(t *testing.T, c *Client) {
				start := time.Now()
				answer, err := c.Stream(t.Context(), Request{Prompt: "x", Timeouts: tt.limits})
				var stall *StallError
				want := StallError{tt.awaits, tt.limit, tt.events}
				if !errors.As(err, &stall) || *stall != want || !stall.Timeout() {
					t.Fatalf("error %v, want %v", err, &want)
				}
				if got := time.Since(start); got != tt.after {
					t.Errorf("took %v, want %v", got, tt.after)
				}
				if len(answer.Events) != tt.events || answer.Err == "" {
					t.Errorf("sample %+v", answer)
				}
			})
		})
	}
}

// A server that keeps the connection open after [DONE] costs the connection, not the answer.
func TestNoEndAfterDone(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) {
		paced(time.Second, completion("a", ""), end)(w, r)
		<-r.Context().Done()
	}
	inBubble(t, handler, func(t *testing.T, c *Client) {
		start := time.Now()
		s, err := c.Stream(t.Context(), Request{Prompt: "x"})
		if err != nil || s.Text != "a" {
			t.Fatalf("%+v, %v", s, err)
		}
		if got := time.Since(start); got != 2*time.Second+drainTime {
			t.Errorf("took %v", got)
		}
	})
}

// A wall clock that is set while a request runs must not change the measurement. Event
// times are differences of monotonic readings: time.Since of the send. Nothing in this
// module may subtract a sample's Sent, which is a wall clock once stored.
func TestSentIsNeverSubtracted(t *testing.T) {
	c := serve(t, script(completion("a", ""), end))
	s, err := c.Stream(t.Context(), Request{Prompt: "x"})
	must.Do(t, err)
	if !strings.Contains(s.Sent.String(), "m=") {
		t.Errorf("the send has no monotonic reading: %v", s.Sent)
	}
	subtracted := regexp.MustCompile(`\.Sent\.(Sub|Round\(0\)\.Sub)\(|(Sub|Since|Until)\([^()]*\.Sent\)`)
	files := 0
	err = filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		if found := subtracted.Find(text); found != nil {
			t.Errorf("%s: the wall clock of a sample is subtracted: %s", path, found)
		}
		return err
	})
	if err != nil || files < 50 {
		t.Errorf("%d files read, %v", files, err)
	}
}

// pipes is a listener whose connections are net.Pipes, so the server is
// inside the test's bubble and time there is exact.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func inBubble(t *testing.T, handler http.HandlerFunc, use func(t *testing.T, c *Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := &pipes{make(chan net.Conn), make(chan struct{})}
		var handling sync.WaitGroup // a hijacked connection's is not the server's
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			handling.Add(1)
			defer handling.Done()
			handler(w, r)
		})}
		served := make(chan struct{})
		go func() { _ = server.Serve(l); close(served) }()
		c := New("http://engine", "tiny")
		c.HTTP.Transport.(*http.Transport).DialContext = func(context.Context, string, string) (net.Conn, error) {
			mine, theirs := net.Pipe()
			l.conns <- theirs
			return mine, nil
		}
		defer func() { // even if use gives up
			c.Close()
			_ = server.Close()
			<-served
			synctest.Wait() // what is handled at all has been added
			handling.Wait()
			synctest.Wait()
		}()
		use(t, c)
	})
}

// paced streams pieces, each after a wait.
func paced(wait time.Duration, pieces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server notices a lost client only then
		w.Header().Set("Content-Type", "text/event-stream")
		for _, piece := range pieces {
			select {
			case <-time.After(wait):
			case <-r.Context().Done():
				return
			}
			_, _ = io.WriteString(w, piece)
			w.(http.Flusher).Flush()
		}
	}
}

// hanging answers, and then keeps the answer open.
func hanging(handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		handler(w, r)
		<-r.Context().Done()
	}
}

// trickle writes raw bytes of an answer to the connection, each after a wait.
func trickle(wait time.Duration, pieces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		for _, piece := range pieces {
			time.Sleep(wait)
			if _, err := io.WriteString(conn, piece); err != nil {
				return
			}
		}
		_, _ = conn.Read(make([]byte, 1)) // until the client has gone
	}
}
