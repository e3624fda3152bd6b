package openai

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
)

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

// outline is what of a sample does not depend on the clock.
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
