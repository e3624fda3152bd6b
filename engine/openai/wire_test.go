package openai

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/internal/testing/must"
)

const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"

func chunked(pieces ...string) string {
	var b strings.Builder
	for _, p := range pieces {
		fmt.Fprintf(&b, "%x\r\n%s\r\n", len(p), p)
	}
	return b.String()
}

// What servers do to the bytes of HTTP itself.
func TestWire(t *testing.T) {
	log.SetOutput(io.Discard) // net/http logs there what comes after an answer
	defer log.SetOutput(os.Stderr)
	a := completion("a", "")
	final := `data: {"choices":[{"text":"b","finish_reason":"length"}]}` + "\n\n"
	sized := func(n int, body string) string {
		return fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", streamHead, n, body)
	}
	for _, tt := range []struct {
		name, answer, text string
		kind               StreamErrorKind // empty if nothing is wrong
		says               string
	}{
		{"1xx before the answer", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" +
			sized(len(a+end), a+end), "a", "", ""},
		{"only 1xx", "HTTP/1.1 103 Early Hints\r\n\r\n", "", Broken, "EOF"},
		{"the length is right", sized(len(a+end), a+end), "a", "", ""},
		{"the length is too large", sized(len(a)+10, a), "a", Broken, "unexpected EOF"},
		{"the length is too large and the end has come", sized(1000, a+end), "a", "", ""},
		{"the length is too small", sized(len(a), a+a+end), "a", EndedEarly, "no [DONE]"},
		{"the length cuts an event", sized(len(a)+5, a+a+end), "a", EndedEarly, "no [DONE]"},
		{"the length is no number", streamHead + "Content-Length: many\r\n\r\n" + a, "", Broken, "Content-Length"},
		{
			"two lengths", streamHead + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n" + a, "", Broken,
			"Content-Length",
		},
		{"no length, ended by closing", streamHead + "\r\n" + a + final, "ab", "", ""},
		{
			"chunks", streamHead + "Transfer-Encoding: chunked\r\n\r\n" + chunked(a[:7], a[7:]+end) + "0\r\n\r\n", "a",
			"",
			"",
		},
		{
			"chunks that break off", streamHead + "Transfer-Encoding: chunked\r\n\r\n" + chunked(a) + "5\r\nda", "a",
			Broken, "unexpected EOF",
		},
		{
			"chunks of no size", streamHead + "Transfer-Encoding: chunked\r\n\r\n" + chunked(a) + "zz\r\n", "a", Broken,
			"invalid byte in chunk length",
		},
		{"chunks without an end", streamHead + "Transfer-Encoding: chunked\r\n\r\n" + chunked(a, end), "a", "", ""},
		{
			"a coding nobody knows", streamHead + "Transfer-Encoding: gzip, chunked\r\n\r\n", "", Broken,
			"transfer encoding",
		},
		{"no HTTP", "hello\r\n", "", Broken, "malformed HTTP"},
		{"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + a + end, "a", "", ""},
		{"the wrong version of TLS", "\x15\x03\x01\x00\x02\x02\x16\n\n", "", Broken, "https://"},
		{
			"HTTP/2 in answer to HTTP/1.1", "\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\n", "", Broken,
			"mxflow speaks HTTP/1.1",
		},
		{"no status", "HTTP/1.1 \r\n\r\n", "", Broken, "malformed HTTP"},
		{
			"no content type", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "", ContentType,
			`content type "", body "{}"`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			answer := tt.answer
			c := flaky(t, func(_, n int) string {
				if n > 1 {
					return ""
				}
				return answer + closing
			})
			s, err := c.Stream(t.Context(), Request{Prompt: "x"})
			c.Close()
			var broken *StreamError
			switch {
			case tt.kind == "":
				if err != nil {
					t.Errorf("error %v", err)
				}
			case !errors.As(err, &broken) || broken.Kind != tt.kind || !strings.Contains(err.Error(), tt.says):
				t.Errorf("error %v, want %s … %s", err, tt.kind, tt.says)
			}
			if s.Text != tt.text {
				t.Errorf("text %q, want %q", s.Text, tt.text)
			}
		})
	}
}

// serve starts a server with one handler for both text endpoints.
func serve(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	c := New(server.URL, "tiny")
	t.Cleanup(func() { c.Close(); server.Close() })
	return c
}

// script is a handler that streams these pieces, flushing after each.
func script(pieces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server notices a lost client only then
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		for _, piece := range pieces {
			_, _ = io.WriteString(w, piece)
			w.(http.Flusher).Flush()
		}
	}
}

func completion(text, rest string) string {
	quoted, _ := json.Marshal(text)
	return fmt.Sprintf(`data: {"choices":[{"index":0,"text":%s}]%s}`+"\n\n", quoted, rest)
}

func delta(members string) string {
	return `data: {"choices":[{"index":0,"delta":{` + members + `}}]}` + "\n\n"
}

const (
	end        = "data: [DONE]\n\n"
	finalUsage = `data: {"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":4}}}` + "\n\n"
)

// outline is the part of a sample that does not depend on the clock.
func outline(s measure.Sample) string {
	kinds := map[measure.Kind]string{
		measure.KindOther: "other", measure.KindText: "text", measure.KindReasoning: "reasoning",
		measure.KindUsage: "usage", measure.KindDone: "done", measure.KindTool: "tool",
	}
	var b strings.Builder
	for _, e := range s.Events {
		fmt.Fprintf(&b, "%s/%d/%d ", kinds[e.Kind], e.Tokens, e.Bytes)
	}
	fmt.Fprintf(&b, "prompt=%d output=%d cached=%d of=%d %s finish=%q text=%q reasoning=%q",
		s.PromptTokens, s.OutputTokens, s.CachedTokens, s.RequestedOutput, s.TokenSource, s.Finish, s.Text, s.Reasoning)
	if s.Tools != "" {
		fmt.Fprintf(&b, " tools=%q", s.Tools)
	}
	if s.Doubts != "" {
		fmt.Fprintf(&b, " doubts=%q", s.Doubts)
	}
	return b.String()
}

// flaky serves on raw connections: serve's answer for the n-th request of the c-th connection, both from 1; an
// empty one closes the connection, and so does one that ends in closing, which is not sent. For reset, the rest
// of the request is never read: the kernel answers what follows with a reset.
func flaky(t *testing.T, serve func(c, n int) string) *Client {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
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
