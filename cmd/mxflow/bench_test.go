package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
)

// BenchmarkVersion is the time of a whole process: what a person feels before
// anything else happens.
func BenchmarkVersion(b *testing.B) {
	for b.Loop() {
		if out, err := exec.Command(program, "version").CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/start")
}

// nobody listens there: what is not refused fails to reach it.
const nobody = "http://127.0.0.1:1/v1"

// Everything that cannot be meant is refused before the server is asked.
func TestBenchRefuses(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	rows := file("rows.jsonl", strings.Repeat(`{"prompt": "a", "max_tokens": 4}`+"\n", 20))
	chat := file("chat.jsonl", strings.Repeat(`{"messages": [{"role": "system", "content": "b"}, {"role": "user", "content": "a"}]}`+"\n", 20))
	short := file("short.jsonl", `{"prompt": "a"}`+"\n")
	blank := file("blank.jsonl", "\n")
	wrong := file("wrong.jsonl", "{\"prompt\": \"a\"}\n{\"promt\": \"a\"}\n")
	t.Setenv("BENCH_KEY_EMPTY", "")
	t.Setenv("BENCH_KEY_BAD", "a\nb")
	for _, c := range []struct {
		args string
		want string
	}{
		{"", "does not answer"}, // the base of all others is sound
		{"--seed 0", "does not answer"},
		{"--slo ttft=300ms,tpot=50ms --rate 1.5 --max-concurrency 4", "does not answer"},
		{"--engine vlllm", `--engine: unknown kind "vlllm"`},
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
		{"--arrival constant", "--rate: --arrival and --max-concurrency are for"},
		{"--max-concurrency 4", "--rate: --arrival and --max-concurrency are for"},
		{"--rate 2 --max-concurrency -1", "--max-concurrency: -1"},
		{"--rate 2 --arrival burst", `--arrival: "burst" is not one of poisson or constant`},
		{"--api responses", `--api: "responses" is not one of`},
		{"--latency-mode ping", `--latency-mode: "ping" is not one of`},
		{"--temperature -1", "--temperature: -1 is not between"},
		{"--temperature NaN", "--temperature: NaN is not between"},
		{"--depth-cached", "--depth-cached: there is no context"},
		{"--format xml", `--format: "xml" is not one of`},
		{"--request-timeout 0s", "time limits must be positive"},
		{"--max-lag -1s", "time limits must be positive"},
		{"--header X", "--header: "},
		{"--slo ttfb=1s", `--slo: "ttfb" is not one of ttft, tpot, itl, e2e`},
		{"--slo ttft=300", `--slo: ttft="300" is not a positive time`},
		{"--slo ttft=-1s", `--slo: ttft="-1s" is not a positive time`},
		{"--api-key-env BENCH_KEY_EMPTY", "--api-key-env: the environment variable BENCH_KEY_EMPTY is not set"},
		{"--api-key-env BENCH_KEY_BAD", "--api-key-env: the value of BENCH_KEY_BAD is invalid"},
		{"--dataset " + rows, "does not answer"},
		{"--dataset " + rows + " --pp 16", "--dataset: the file determines the prompts"},
		{"--dataset " + rows + " --tg 16", "gives the length of its answer: leave out --tg"},
		{"--dataset " + chat, "line 1 of " + chat + " can only be sent as a chat: add --api chat"},
		{"--dataset " + chat + " --api chat", "does not answer"},
		{"--dataset " + short, "has 1 rows, too few for 8 requests and 2 for warm-up"},
		{"--dataset " + short + " --requests 1 --warmup 0", "does not answer"},
		{"--dataset " + blank, "is empty"},
		{"--dataset " + wrong, "wrong.jsonl:2"},
		{"--dataset " + dir, "is not a regular file"},
		{"--dataset " + filepath.Join(dir, "gone.jsonl"), "gone.jsonl is not there"},
	} {
		var stdout, stderr bytes.Buffer
		status := run(t.Context(), append([]string{"bench", nobody}, strings.Fields(c.args)...), &stdout, &stderr)
		want := verdict.ExitUsage
		if c.want == "does not answer" {
			want = verdict.ExitBroken
		}
		if status != want || !strings.Contains(stderr.String(), c.want) || stdout.Len() > 0 {
			t.Errorf("%s: status %d, %s%s\nwant %d and %q", c.args, status, &stdout, &stderr, want, c.want)
		}
	}
	for _, url := range []string{"localhost:8000", "ftp://localhost/v1", "http://user:key@localhost/v1"} {
		var stdout, stderr bytes.Buffer
		if status := run(t.Context(), []string{"bench", url}, &stdout, &stderr); status != verdict.ExitUsage || stderr.Len() == 0 {
			t.Errorf("%s: status %d, %s", url, status, &stderr)
		}
	}
}

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
		{"", "the server does not list its models: "},
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
