package openai

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
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
		defer func() { // also when use gives up
			c.Close()
			_ = server.Close()
			<-served
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
