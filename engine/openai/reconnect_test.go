package openai

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
)

// flaky serves on raw connections: the answer of serve for the n-th request of
// the c-th connection, both from 1; empty closes the connection.
func flaky(t *testing.T, serve func(c, n int) string) *Client {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
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
					_, _ = io.Copy(io.Discard, req.Body)
					answer := serve(c, n)
					if _, err := io.WriteString(conn, answer); err != nil || answer == "" {
						return
					}
				}
			}()
		}
	}()
	return New("http://"+l.Addr().String(), "m")
}

const whole = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 69\r\n\r\n" +
	`data: {"choices":[{"text":"hello there","finish_reason":"length"}]}` + "\n\n"

func TestKeptConnectionThatTheServerClosed(t *testing.T) {
	c := flaky(t, func(conn, n int) string {
		if conn == 1 && n == 2 {
			return "" // as a server does whose keep-alive ends just then
		}
		return whole
	})
	for i := range 2 {
		if _, err := c.Complete(t.Context(), Request{Prompt: "p", MaxTokens: 1}); err != nil {
			t.Fatalf("request %d: %v", i+1, err)
		}
	}
}

func TestNewConnectionThatBreaksIsAnError(t *testing.T) {
	var asked atomic.Int32
	c := flaky(t, func(int, int) string {
		asked.Add(1)
		return ""
	})
	_, err := c.Complete(t.Context(), Request{Prompt: "p", MaxTokens: 1})
	var stream *StreamError
	if !errors.As(err, &stream) || asked.Load() != 1 {
		t.Errorf("got %v after %d requests, want one that is reported as broken", err, asked.Load())
	}
}
