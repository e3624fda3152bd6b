package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
)

// Servers that refuse something that OpenAI's API does not have, or that do not
// answer what the latency is measured with: the error says what to do.
func TestBenchHints(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.URL.Path == "/health":
		case r.URL.Path == "/v1/models":
			http.Error(w, "broken", http.StatusInternalServerError)
		case r.URL.Path != "/v1/completions":
			http.NotFound(w, r)
		case strings.Contains(string(body), "ignore_eos"):
			http.Error(w, `{"detail":[{"loc":["body","ignore_eos"],"msg":"Extra inputs are not permitted"}]}`, http.StatusUnprocessableEntity)
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, `data: {"choices":[{"index":0,"text":" The river","finish_reason":"stop"}]}`, "\n\n")
			fmt.Fprintf(w, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n", 1+len(strings.Fields(string(body))))
		}
	}))
	defer server.Close()
	for _, c := range []struct{ args, want string }{
		{"", "the server does not say which models it has: "},
		{"--model m", "--stop-at-eos"},
		{"--model m --stop-at-eos --latency-mode api", "choose another (none, api or generation)"},
	} {
		args := append([]string{"bench", server.URL + "/v1", "--pp", "16", "--tg", "4", "--requests", "1", "--runs", "1", "--max-lag", "1m"}, strings.Fields(c.args)...)
		out, err := exec.Command(program, args...).CombinedOutput()
		var status *exec.ExitError
		if !errors.As(err, &status) || status.ExitCode() != 4 || !strings.Contains(string(out), c.want) || strings.Contains(string(out), "bench.p16") {
			t.Errorf("%s: %v\n%s\nwant %q", c.args, err, out, c.want)
		}
	}
}
