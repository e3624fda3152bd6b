package openai

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
)

func TestStreamErrors(t *testing.T) {
	first := completion("a", "")
	tests := []struct {
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
		{"cut off in an event", script(first, "data: {\"cho"), EndedEarly, "", 1},
		{"error in the stream", script(first, `data: {"error":{"message":"CUDA error","code":500}}`+"\n\n", end), Reported, "CUDA error", 1},
		{"huge event", script(first, "data: \""+strings.Repeat("x", maxEvent+1)+"\"\n\n"), TooLarge, "8388608 bytes", 1},
		{"huge event by drips", script(first, "data: \"", strings.Repeat("x", maxEvent/2), strings.Repeat("x", maxEvent/2+1)), TooLarge, "8388608 bytes", 1},
		{"an event named error", script(first, "event: error\ndata: {\"code\":3}\n\n"), Reported, `{\"code\":3}`, 1},
		{"an error with status 200", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"object":"error","message":"no such model","code":404}`)
		}, Reported, "no such model", 0},
		{"an error where events should be", script(`{"error":{"message":"out of slots"}}` + "\n"), Reported, "out of slots", 0},
		{"an answer where events should be", script(`{"choices":[{"text":"all at once"}]}`), EndedEarly, "all at once", 0},
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
		{"no end of text", script(strings.Repeat(completion(strings.Repeat("x", maxText/64), ""), 70), end), Endless, "bytes of text where 0 tokens", 65},
		{"wrong content type", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"choices":[]}`)
		}, ContentType, `application/json`, 0},
		{"connection reset", func(w http.ResponseWriter, r *http.Request) {
			script(first)(w, r)
			panic(http.ErrAbortHandler)
		}, Broken, "EOF", 1},
	}
	for _, tt := range tests {
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
	if _, err := c.Stream(t.Context(), Request{API: "images"}); err == nil {
		t.Error("unknown API accepted")
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
