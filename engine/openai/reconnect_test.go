package openai

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/require"
)

// flaky serves on raw connections: serve's answer for the n-th request of the c-th
// connection, both from 1; an empty one closes the connection, and so does one that ends
// in closing, which is not sent. For reset, the rest of the request is never read: the kernel
// answers what follows with a reset.
func flaky(t *testing.T, serve func(c, n int) string) *Client {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for c := 1; ; c++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				in := bufio.NewReader(conn)
				for n := 1; ; n++ {
					req, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					if req.Header.Get("Idempotency-Key") != "" {
						t.Error("the key was sent")
					}
					answer, closes := strings.CutSuffix(serve(c, n), closing)
					if answer == reset {
						_ = conn.(*net.TCPConn).SetLinger(0)
						return
					}
					_, _ = io.Copy(io.Discard, req.Body)
					if closes {
						_, _ = io.WriteString(conn, answer)
						return
					}
					if _, err := io.WriteString(conn, answer); err != nil || answer == "" {
						return
					}
				}
			}()
		}
	}()
	return New("http://"+l.Addr().String(), "m")
}

const closing, reset = "\x00close", "\x00reset"

const whole = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 69\r\n\r\n" +
	`data: {"choices":[{"text":"hello there","finish_reason":"length"}]}` + "\n\n"

// A server that drops what it has accepted must not look like one that does not.
func TestRequestThatWentOutAgainIsCounted(t *testing.T) {
	c := flaky(t, func(conn, n int) string {
		if conn == 1 && n == 2 {
			return ""
		}
		return whole
	})
	for i := range 3 {
		s, err := c.Stream(t.Context(), Request{Prompt: "p", MaxTokens: 1})
		if err != nil {
			t.Fatalf("request %d: %v", i+1, err)
		}
		if again := i == 1; (s.Retries == 1) != again || strings.Contains(s.Doubts, "resent") != again {
			t.Errorf("request %d: %d retries, %q", i+1, s.Retries, s.Doubts)
		}
	}
}

func TestNewConnectionThatBreaksIsAnError(t *testing.T) {
	var asked atomic.Int32
	c := flaky(t, func(int, int) string {
		asked.Add(1)
		return ""
	})
	_, err := c.Stream(t.Context(), Request{Prompt: "p", MaxTokens: 1})
	var stream *StreamError
	if !errors.As(err, &stream) || asked.Load() != 1 {
		t.Errorf("got %v after %d requests, want one that is reported as broken", err, asked.Load())
	}
}

// A kept connection that the server closes while a long prompt is being sent is no
// failure of the request: not a byte was answered.
func TestKeptConnectionClosesWhileItIsWritten(t *testing.T) {
	var connections atomic.Int32
	c := flaky(t, func(conn, n int) string {
		connections.Store(max(connections.Load(), int32(conn)))
		if conn == 1 && n == 2 {
			return reset
		}
		return whole
	})
	long := strings.Repeat("prompt ", 1<<20)
	for i := range 3 {
		if _, err := c.Stream(t.Context(), Request{Prompt: long, MaxTokens: 1}); err != nil {
			t.Fatalf("request %d: %v", i+1, err)
		}
	}
	if n := connections.Load(); n != 2 {
		t.Errorf("%d connections were made, want 2", n)
	}
}
