package openai

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

// pipes is a listener whose connections are net.Pipes, so that the server is
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
		server := &http.Server{Handler: handler}
		served := make(chan struct{})
		go func() { _ = server.Serve(l); close(served) }()
		c := New("http://engine", "tiny")
		c.HTTP.Transport.(*http.Transport).DialContext = func(context.Context, string, string) (net.Conn, error) {
			mine, theirs := net.Pipe()
			l.conns <- theirs
			return mine, nil
		}
		use(t, c)
		c.Close()
		_ = server.Close()
		<-served
		synctest.Wait()
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

// Times are those of arrival, exactly: the bubble's clock moves only while
// everybody waits.
func TestTimestamps(t *testing.T) {
	a := completion("a", "")
	handler := paced(10*time.Millisecond, a, a[:12], a[12:], a+a, ": ping\n\n", end)
	inBubble(t, handler, func(t *testing.T, c *Client) {
		s, err := c.Stream(t.Context(), Request{Prompt: "x", Timeouts: Timeouts{Total: time.Minute, First: time.Minute, Stall: time.Minute}})
		if err != nil {
			t.Fatal(err)
		}
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

func TestStall(t *testing.T) {
	a := completion("a", "")
	ping := ": still here\n\n"
	tests := []struct {
		name    string
		handler http.HandlerFunc
		limits  Timeouts
		want    StallError
		after   time.Duration
	}{
		{
			"headers do not come", paced(time.Hour, a),
			Timeouts{First: 3 * time.Second},
			StallError{"the first event", 3 * time.Second, 0},
			3 * time.Second,
		},
		{
			"comments are no progress", paced(time.Second, ping, ping, ping, ping, a, end),
			Timeouts{First: 3500 * time.Millisecond},
			StallError{"the first event", 3500 * time.Millisecond, 0},
			3500 * time.Millisecond,
		},
		{
			"the stream stalls", paced(time.Second, a, a, ping, ping, ping, ping),
			Timeouts{First: time.Minute, Stall: 2500 * time.Millisecond},
			StallError{"the next event", 2500 * time.Millisecond, 2},
			4500 * time.Millisecond,
		},
		{
			"half an event is no progress", paced(time.Second, a, a[:5], a[5:9], a[9:]),
			Timeouts{Stall: 2500 * time.Millisecond},
			StallError{"the next event", 2500 * time.Millisecond, 1},
			3500 * time.Millisecond,
		},
		{
			"too long in all", paced(time.Second, a, a, a, a, a, a),
			Timeouts{Total: 3500 * time.Millisecond, Stall: time.Minute},
			StallError{"the whole answer", 3500 * time.Millisecond, 3},
			3500 * time.Millisecond,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, tt.handler, func(t *testing.T, c *Client) {
				start := time.Now()
				s, err := c.Stream(t.Context(), Request{Prompt: "x", Timeouts: tt.limits})
				var stall *StallError
				if !errors.As(err, &stall) || *stall != tt.want || !stall.Timeout() {
					t.Fatalf("error %v, want %v", err, &tt.want)
				}
				if got := time.Since(start); got != tt.after {
					t.Errorf("took %v, want %v", got, tt.after)
				}
				if len(s.Events) != tt.want.Events || s.Err == "" {
					t.Errorf("sample %+v", s)
				}
			})
		})
	}
}

// A server that keeps the connection open after [DONE] costs the connection,
// not the answer.
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
