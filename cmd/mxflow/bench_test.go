package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/internal/testing/scenario"
)

// BenchmarkVersion is the time of a whole process: what a person feels before anything else
// happens.
func BenchmarkVersion(b *testing.B) {
	for b.Loop() {
		must.Do(b, exec.Command(scenario.Program, "version").Run())
	}
}

// nobody listens there: what is not refused fails to reach it.
const nobody = "http://127.0.0.1:1/v1"

// Everything that cannot be meant is refused before the server is asked.
func TestBenchRefuses(t *testing.T) {
	t.Setenv("BENCH_KEY_EMPTY", "")
	t.Setenv("BENCH_KEY_BAD", "a\nb")
	for _, c := range []struct {
		args string
		want string
	}{
		{"", "does not answer"}, // the base of all others is sound
		{"--seed 0", "does not answer"},
		{"--kind vlllm", `--kind: unknown kind "vlllm"`},
		{"--pp 0", "--pp: 0 is not between 1 and"},
		{"--pp 16,16", "--pp: 16 is listed twice"},
		{"--tg -1", "--tg: -1 is not between 1 and"},
		{"--tg 200000000", "--tg: 200000000 is not between"},
		{"--depth -1", "--depth: -1 is not between 0 and"},
		{"--concurrency 0", "--concurrency: 0 is not between"},
		{"--concurrency 1000000", "--concurrency: 1000000 is not between"},
		{"--warmup -1", "--warmup: -1"},
		{"--runs 0", "--runs: 0"},
		{"--requests -1", "--requests: -1"},
		{"--seed -1", "--seed: -1"},
		{"--rate 0", "--rate: 0 is not between"},
		{"--rate NaN", "--rate: NaN is not between"},
		{"--rate Inf", "--rate: +Inf is not between"},
		{"--rate 2,2", "--rate: 2 is listed twice"},
		{"--rate 2 --concurrency 2", "--rate: requests are then sent on schedule"},
		{"--api responses", `--api: "responses" is not one of`},
		{"--slo ttft=300ms,tpot=50ms --rate 1.5", "does not answer"},
		{"--json --format md", "are two formats: use one"},
		{"--format xml", `--format "xml": there is md`},
		{"--max-lag -1s", "--max-lag: -1s is not a positive time"},
		{"--slo ttfb=1s", `--slo: "ttfb" is not one of ttft, tpot, itl, e2e`},
		{"--slo ttft=300", `--slo: ttft: "300" is not a positive time`},
		{"--slo ttft=-1s", `--slo: ttft: "-1s" is not a positive time`},
		{"--api-key-env BENCH_KEY_EMPTY", "--api-key-env: the environment variable BENCH_KEY_EMPTY is not set"},
		{"--api-key-env BENCH_KEY_BAD", "--api-key-env: the value of BENCH_KEY_BAD is invalid"},
	} {
		status, stdout, stderr := mxflow(append([]string{"bench", nobody}, strings.Fields(c.args)...)...)
		want := verdict.ExitUsage
		if c.want == "does not answer" {
			want = verdict.ExitBroken
		}
		if status != want || !strings.Contains(stderr, c.want) || stdout != "" {
			t.Errorf("%s: status %d, %s%s\nwant %d and %q", c.args, status, stdout, stderr, want, c.want)
		}
	}
	for _, url := range []string{"localhost:8000", "ftp://localhost/v1", "http://user:key@localhost/v1"} {
		if status, _, stderr := mxflow("bench", url); status != verdict.ExitUsage || stderr == "" {
			t.Errorf("%s: status %d, %s", url, status, stderr)
		}
	}
}

// Servers that refuse something that OpenAI's API does not have: the error says what to do.
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
			http.Error(w, `{"detail":[{"loc":["body","ignore_eos"],"msg":"Extra inputs are not permitted"}]}`,
				http.StatusUnprocessableEntity)
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, `data: {"choices":[{"index":0,"text":" The river","finish_reason":"stop"}]}`, "\n\n")
			fmt.Fprintf(w,
				"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n",
				1+len(strings.Fields(string(body))))
		}
	}))
	defer server.Close()
	for _, c := range []struct{ args, want string }{
		{"", "the server does not list its models: "},
		{"--model m", "--stop-at-eos"},
	} {
		args := append([]string{
			"bench", server.URL + "/v1", "--pp", "16", "--tg", "4", "--requests", "1", "--runs",
			"1", "--max-lag", "1m",
		}, strings.Fields(c.args)...)
		exit, out := program(t, "", nil, args...)
		if exit != verdict.ExitBroken || !strings.Contains(out, c.want) || strings.Contains(out, "bench.p16") {
			t.Errorf("%s: %d\n%s\nwant %q", c.args, exit, out, c.want)
		}
	}
}
