package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/steps/record"
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
		{"--engine vlllm", `--engine: there is no kind "vlllm"`},
		{"--pp 0", "--pp: 0 is not between 1 and"},
		{"--pp 16,16", "--pp: 16 stands there twice"},
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
		{"--rate 2,2", "--rate: 2 stands there twice"},
		{"--rate 2 --concurrency 2", "--rate: requests are sent by schedule"},
		{"--arrival constant", "--rate: --arrival and --max-concurrency belong"},
		{"--max-concurrency 4", "--rate: --arrival and --max-concurrency belong"},
		{"--rate 2 --max-concurrency -1", "--max-concurrency: -1"},
		{"--rate 2 --arrival burst", `--arrival: "burst" is neither`},
		{"--api responses", `--api: "responses" is neither`},
		{"--latency-mode ping", `--latency-mode: "ping" is none of`},
		{"--temperature -1", "--temperature: -1 is not between"},
		{"--temperature NaN", "--temperature: NaN is not between"},
		{"--random-tokens --api chat", "--random-tokens: a chat takes messages"},
		{"--depth-cached", "--depth-cached: there is no context"},
		{"--format xml", `--format: "xml" is none of`},
		{"--plot x.pdf", `--plot: "x.pdf" ends in neither`},
		{"--plot same.svg --out ./same.svg", "--plot: same.svg is the file of --out as well"},
		{"--out " + dir, "cannot be written: is a directory"},
		{"--request-timeout 0s", "time limits must be above zero"},
		{"--max-lag -1s", "time limits must be above zero"},
		{"--header X", "--header: "},
		{"--slo ttfb=1s", `--slo: "ttfb" is none of ttft, tpot, itl, e2e`},
		{"--slo ttft=300", `--slo: ttft="300" is no time above zero`},
		{"--slo ttft=-1s", `--slo: ttft="-1s" is no time above zero`},
		{"--api-key-env BENCH_KEY_EMPTY", "--api-key-env: the environment variable BENCH_KEY_EMPTY is not set"},
		{"--api-key-env BENCH_KEY_BAD", "--api-key-env: the value of BENCH_KEY_BAD cannot be sent"},
		{"--dataset " + rows, "does not answer"},
		{"--dataset " + rows + " --pp 16", "--dataset: the file says what is sent"},
		{"--dataset " + rows + " --tg 16", "says how long its answer is: leave out --tg"},
		{"--dataset " + chat, "line 1 of " + chat + " can only be sent as a chat: add --api chat"},
		{"--dataset " + chat + " --api chat", "does not answer"},
		{"--dataset " + short, "has 1 rows, and 8 requests and 2 for warm-up are to be sent"},
		{"--dataset " + short + " --requests 1 --warmup 0", "does not answer"},
		{"--dataset " + blank, "is empty"},
		{"--dataset " + wrong, "wrong.jsonl:2"},
		{"--dataset " + dir, "is no regular file"},
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

// Prompts of two measurements that nobody gave a seed are not the same.
func TestBenchSeed(t *testing.T) {
	seed := func(given bool) int {
		b := bench{seed: 5}
		b.chooseSeed(given)
		return b.seed
	}
	if seed(true) != 5 {
		t.Error("a seed that was given is not used")
	}
	if a, b, c := seed(false), seed(false), seed(false); a == b && b == c {
		t.Errorf("three measurements have the seed %d", a)
	}
}

// sampleResult is three runs of two cells, and a fourth metric of which a run
// has nothing.
func sampleResult(t *testing.T) *benchResult {
	t.Helper()
	r := &benchResult{Tool: "mxflow 1", Started: time.Unix(0, 0).UTC(), URL: "http://box:8000", Engine: "vllm", Model: "org/m|x\x1b", Seed: 7, Correction: "none"}
	w := plans.NewWorkload("bench")
	w.PromptTokens, w.PromptList, w.OutputTokens, w.OutputList = []int{2048}, true, []int{32, 128}, true
	w.Depth, w.DepthList, w.Concurrency, w.ConcurrencyList = []int{4096}, true, []int{4}, true
	for run := range 3 {
		step := float64(run)
		metrics := map[string]measure.Summary{}
		for _, c := range w.Cells() {
			metrics[c.Address+".pp"] = measure.Summary{Unit: "tok/s", N: 8, Stats: map[string]float64{"median": 1000 + 10*step, "max": 1100, "p99": math.NaN()}}
			metrics[c.Address+".tg"] = measure.Summary{Unit: "tok/s", N: 8, Stats: map[string]float64{"median": 50}}
			metrics[c.Address+".tg_total"] = measure.Summary{Unit: "tok/s", N: 1, Stats: map[string]float64{"median": 160 + step}}
			metrics[c.Address+".ttft"] = measure.Summary{Unit: "ms", N: 8, Stats: map[string]float64{"median": 0.25 + 0.00001*step}}
			if c.Output == 32 && run > 0 {
				metrics[c.Address+".goodput"] = measure.Summary{Unit: "req/s", N: 1, Stats: map[string]float64{"median": 0}}
				metrics[c.Address+".accept_length"] = measure.Summary{Unit: "tokens", N: 1, Stats: map[string]float64{"median": 2.5}}
			}
		}
		r.add(w, record.Taken{
			Metrics: metrics, Notes: facts("8 answers of bench.p2048.o128.d4096.c4 were shorter, those of bench.p2048.o32.d4096.c4 not"),
			Prompts: map[string]record.PromptsMade{"bench.p2048.o32.d4096.c4": {Method: "tokenizer", Verified: true}},
		})
	}
	return r
}

func written(t *testing.T, r *benchResult, format string) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.write(&b, format, 0, false); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestBenchMarkdown(t *testing.T) {
	const want = `org/m\|x? at http://box:8000 (vllm)

| model | test | t/s | 95% interval | total t/s | peak t/s | ttft ms | tpot ms | e2e ms |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
| org/m\|x? | pp2048 + tg32 @ d4096 (c4) | 1010 ± 10 | 985 to 1035 |  |  | 0.2500 ± 1e-05 |  |  |
| org/m\|x? | tg32 @ d4096 (c4) | 50.00 ± 0 |  | 161.0 ± 1.0 |  |  |  |  |
| org/m\|x? | pp2048 + tg128 @ d4096 (c4) | 1010 ± 10 | 985 to 1035 |  |  | 0.2500 ± 1e-05 |  |  |
| org/m\|x? | tg128 @ d4096 (c4) | 50.00 ± 0 |  | 161.0 ± 1.0 |  |  |  |  |

| model | cell | goodput req/s | accept_length |
| --- | --- | --- | --- |
| org/m\|x? | pp2048 tg32 @ d4096, c4 | 0 ± 0 | 2.500 ± 0 |
| org/m\|x? | pp2048 tg128 @ d4096, c4 |  |  |

note: 8 answers of pp2048 tg128 @ d4096, c4 were shorter, those of pp2048 tg32 @ d4096, c4 not

3 runs of one server: mean ± sample standard deviation of the runs' medians.

The prompts are those of --seed 7.

`
	if got := written(t, sampleResult(t), "md"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestBenchCSV(t *testing.T) {
	r := sampleResult(t)
	r.Invalid = facts("cached")
	got := strings.Split(written(t, r, "csv"), "\n")
	for i, want := range []string{
		"model,engine,prompt_tokens,output_tokens,depth,concurrency,rate,latency_mode,metric,unit,mean,std,low95,high95,runs,seed,valid",
		"org/m|x?,vllm,2048,32,4096,4,0,none,accept_length,tokens,2.5,0,,,2,7,false",
		"org/m|x?,vllm,2048,32,4096,4,0,none,goodput,req/s,0,0,,,2,7,false",
	} {
		if got[i] != want {
			t.Errorf("line %d is %q, want %q", i, got[i], want)
		}
	}
	if len(got) != 1+6+4+1 {
		t.Errorf("%d lines", len(got))
	}
}

func TestBenchJSON(t *testing.T) {
	var got struct {
		Cells []struct {
			Label   string
			Prompts struct {
				Method   string
				Verified bool
			}
			Metrics map[string]struct {
				Mean           float64
				Std, Low, High *float64
				Values         []float64
				N              []int
				Stats          []map[string]float64
			}
		}
	}
	if err := json.Unmarshal([]byte(written(t, sampleResult(t), "json")), &got); err != nil {
		t.Fatal(err)
	}
	c := got.Cells[0]
	pp, tg := c.Metrics["pp"], c.Metrics["tg"]
	if len(got.Cells) != 2 || c.Label != "pp2048 tg32 @ d4096, c4" || c.Prompts.Method != "tokenizer" || !c.Prompts.Verified {
		t.Errorf("%+v", got)
	}
	if pp.Mean != 1010 || *pp.Std != 10 || !(*pp.Low < 1000 && *pp.High > 1020) || len(pp.Values) != 3 || pp.N[2] != 8 {
		t.Errorf("pp is %+v", pp)
	}
	if _, there := pp.Stats[0]["p99"]; there || len(pp.Stats) != 3 || pp.Stats[2]["median"] != 1020 || pp.Stats[2]["max"] != 1100 {
		t.Errorf("statistics of pp are %v", pp.Stats)
	}
	if tg.Low != nil || tg.High != nil || *tg.Std != 0 {
		t.Errorf("an interval of values that do not vary: %+v", tg)
	}
}

func TestBenchHTML(t *testing.T) {
	r := sampleResult(t)
	r.Model, r.Invalid = "<script>alert(1)</script>", facts("2 < 3")
	got := written(t, r, "html")
	for text, n := range map[string]int{
		"<svg": 1, "<?xml": 0, "<script": 0, "<table>": 2, `<p class="invalid">invalid: 2 &lt; 3</p>`: 1, `class="invalid"`: 1, "http://www.w3.org": -1, "<td>1010 ± 10</td>": 2,
	} {
		if found := strings.Count(got, text); n >= 0 && found != n {
			t.Errorf("%q is there %d times, want %d", text, found, n)
		}
	}
}

// Without speeds there is nothing to plot, and the page is whole all the same.
func TestBenchNothingToPlot(t *testing.T) {
	r := &benchResult{Correction: "none", Cells: []benchCell{{Label: "pp8 tg8", Prompt: 8, Output: 8}}}
	if _, err := r.picture("x.svg"); err == nil {
		t.Error("plots of nothing")
	}
	if got := written(t, r, "html"); strings.Contains(got, "<svg") || !strings.Contains(got, "</html>") {
		t.Error(got)
	}
}

// Pictures hold a ring for each run and a plus for each mean, and titles as text.
func TestBenchPictures(t *testing.T) {
	r := sampleResult(t)
	svg, err := r.picture("x.svg")
	if err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(svg, new(struct{ XMLName xml.Name })); err != nil {
		t.Error(err)
	}
	points := 0
	for _, c := range r.Cells {
		for _, name := range []string{"pp", "tg", "tg_total", "ttft"} {
			if m := c.Metrics[name]; m != nil {
				points += len(m.Values)
			}
		}
	}
	if rings := bytes.Count(svg, []byte("<circle")); rings != points || points == 0 || !bytes.Contains(svg, []byte(">decode, tokens a second of a request<")) {
		t.Errorf("%d rings for %d runs\n%s", rings, points, svg)
	}
	pixels, err := r.picture("x.png")
	if err != nil {
		t.Fatal(err)
	}
	if p, err := png.Decode(bytes.NewReader(pixels)); err != nil || p.Bounds().Dx() != panelWidth || p.Bounds().Dy()%panelHeight != 0 {
		t.Errorf("%v", err)
	}
	for least, want := range map[float64]float64{0.9: 1, 1.2: 2, 2.5: 5, 7: 10, 0.03: 0.05, 1: 1} {
		if got := tickStep(least); math.Abs(got-want) > 1e-12 {
			t.Errorf("a step of at least %v is %v, want %v", least, got, want)
		}
	}
}

func TestBenchDigits(t *testing.T) {
	for _, c := range []struct {
		x, like float64
		want    string
	}{
		{0, 5, "0"},
		{57.854, 57.854, "57.85"},
		{0.21, 57.854, "0.21"},
		{0.0021, 57.854, "0.0021"},
		{123456, 123456, "123456"},
		{0.4053, 0.4053, "0.4053"},
		{0.00004, 0.4053, "4e-05"},
		{1, 1, "1.000"},
		{0.00000123, 0.00000123, "1.23e-06"},
		{3, 0, "3.000"},
		{1.9794e19, 50, "1.98e+19"},
		{-2.5, 2.5, "-2.500"},
	} {
		if got := digits(c.x, c.like); got != c.want {
			t.Errorf("digits(%v, %v) = %s, want %s", c.x, c.like, got, c.want)
		}
	}
}

// Answers that end by themselves have to be text; of forced ones most have to.
func TestBenchUnreadable(t *testing.T) {
	taken := func(exact bool, bad int) record.Taken {
		var s record.Taken
		for _, cell := range []string{"bench.o4", "bench.o40"} {
			s.Cells = append(s.Cells, measure.CellRun{Cell: cell, ExactOutput: exact})
			for i := range 4 {
				s.Samples = append(s.Samples, measure.Sample{Workload: cell, Index: i})
			}
		}
		for range bad {
			s.Incoherent = append(s.Incoherent, verdict.New(code.Garbage, verdict.Text("request", "0")).On("bench.o40").From(verdict.New(code.SignEmpty)))
		}
		return s
	}
	for _, c := range []struct {
		exact          bool
		bad            int
		invalid, notes int
	}{{true, 0, 0, 0}, {true, 2, 0, 1}, {true, 3, 1, 0}, {false, 0, 0, 0}, {false, 1, 1, 0}} {
		invalid, notes := unreadable(taken(c.exact, c.bad))
		if len(invalid) != c.invalid || len(notes) != c.notes {
			t.Errorf("forced %v, %d of 4: invalid %q, notes %q", c.exact, c.bad, tell.Lines(invalid), tell.Lines(notes))
		}
		for _, text := range tell.Lines(append(invalid, notes...)) {
			if !strings.Contains(text, `of 4 answers of bench.o40 are not readable text, e.g. request 0: empty ("")`) {
				t.Error(text)
			}
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
