package stress

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/launch"
)

// fake is an engine that answers a word every millisecond, with what is wrong with it.
type fake struct {
	engine.Instance // nil: what is not below is not asked
	url, log        string
	ended           chan struct{}

	running atomic.Int64
	// places is how many requests it takes at once; more are refused with status, 0 is
	// any number.
	places int64
	status int
	// word answers instead of a word, once more than one request is there.
	word string
	// unended leaves out how an answer ended.
	unended bool
	// stuck answers nothing, once more than one request is there; dies ends.
	stuck, dies bool
	maxLen      int
	// leak is how many bytes it keeps of every request.
	leak int
}

// kept is never given back: memory that a process has, it may use again unseen.
var (
	mu   sync.Mutex
	kept [][]byte
)

// PIDs has the memory of the fake be that of the test.
func (f *fake) PIDs() []int              { return []int{os.Getpid()} }
func (f *fake) About() map[string]string { return nil }

func (f *fake) BaseURL() string         { return f.url }
func (f *fake) Access() engine.Access   { return engine.Access{BaseURL: f.url} }
func (f *fake) Exited() <-chan struct{} { return f.ended }
func (f *fake) LogPath() string         { return f.log }

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/v1/models":
		fmt.Fprintf(w, `{"data":[{"id":"fake","max_model_len":%d}]}`, f.maxLen)
	case "/tokenize":
		var q struct{ Prompt string }
		_ = json.NewDecoder(r.Body).Decode(&q)
		n := len(strings.Fields(q.Prompt))
		fmt.Fprintf(w, `{"count": %d}`, n)
	case "/v1/completions":
		f.answer(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (f *fake) answer(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Prompt    string `json:"prompt"`
		MaxTokens int    `json:"max_tokens"`
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	n := f.running.Add(1)
	defer f.running.Add(-1)
	if f.leak > 0 {
		mu.Lock()
		kept = append(kept, bytes.Repeat([]byte{1}, f.leak))
		mu.Unlock()
	}
	switch {
	case f.places > 0 && n > f.places:
		http.Error(w, "too many", f.status)
		return
	case f.stuck && n > 1:
		<-r.Context().Done()
		return
	case f.dies && n > 1:
		select {
		case <-f.ended:
		default:
			close(f.ended)
		}
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	words := prompt.Prose()
	said := strings.Fields(words[len(q.Prompt)%len(words)] + " " + words[q.MaxTokens%len(words)])
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for i := range q.MaxTokens {
		word := said[i%len(said)]
		if f.word != "" && n > 1 {
			word = f.word
		}
		finish := `null`
		if i == q.MaxTokens-1 && !f.unended {
			finish = `"length"`
		}
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"text\":%q,\"finish_reason\":%s}]}\n\n", " "+word, finish)
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
		if f.unended && i > 2 && i == q.MaxTokens/2 {
			break
		}
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// start is a launch of the fake.
func start(t *testing.T, f *fake) *launch.Started {
	t.Helper()
	server := httptest.NewServer(f)
	f.url, f.ended, f.log = server.URL, make(chan struct{}), filepath.Join(t.TempDir(), "log")
	must.Write(t, f.log, "torch.OutOfMemoryError: CUDA out of memory\n")
	client := openai.New(f.url, "fake")
	t.Cleanup(func() { client.Close(); server.CloseClientConnections(); server.Close() })
	kind := kinds.Kind{
		Name:    "fake",
		Crashes: []kinds.Signature{{Glob: "*OutOfMemoryError*", Class: "oom", Means: "out of memory"}},
	}
	models, _ := client.Models(t.Context())
	return &launch.Started{
		Inst: f, Models: models, Client: client, Record: &ledger.Launch{ID: "q"}, Lab: &launch.Lab{},
		API: openai.Completions, Kind: kind,
	}
}

// config is a level with the defaults of its schema.
func config(t *testing.T, attrs map[string]any) *Config {
	t.Helper()
	b := &plans.Block{Kind: "stress", Attrs: map[string]any{}}
	for _, a := range Schema.Attrs {
		if a.Default != nil {
			b.Attrs[a.Name] = a.Default
		}
	}
	for name, value := range map[string]any{
		"prompt_tokens": []any{12.0, 24.0}, "output_tokens": []any{6.0, 12.0},
		"stall_timeout": "5s",
	} {
		b.Attrs[name] = value
	}
	for name, value := range attrs {
		b.Attrs[name] = value
	}
	var c Config
	must.Do(t, b.Decode(&c))
	if errs := check(b, c); len(errs) > 0 {
		t.Fatal(errs)
	}
	return &c
}

// none takes no number.
func none(string, ...float64) {}

func TestStress(t *testing.T) {
	all := map[string]any{
		"sequential": 20.0, "concurrency": []any{2.0, 4.0}, "context_tokens": []any{128.0},
		"soak": "200ms",
	}
	for name, c := range map[string]struct {
		fake  *fake
		attrs map[string]any
		want  verdict.Verdict
		why   code.Kind
	}{
		"honest": {fake: &fake{}, want: verdict.Pass, attrs: all, why: "stress.served"},
		"refuses the ramp": {
			fake:  &fake{places: 1, status: 503},
			attrs: map[string]any{"concurrency": []any{4.0}}, want: verdict.Fail, why: code.StressBroke.Kind,
		},
		"fails in the ramp": {
			fake:  &fake{places: 1, status: 500},
			attrs: map[string]any{"concurrency": []any{4.0}}, want: verdict.Fail, why: code.StressBroke.Kind,
		},
		"stuck at two": {fake: &fake{stuck: true}, attrs: map[string]any{
			"concurrency":     []any{2.0},
			"request_timeout": "1500ms",
		}, want: verdict.Fail, why: "stress.stuck"},
		"garbage under load": {
			fake: &fake{word: "\ufffd"}, attrs: map[string]any{"concurrency": []any{4.0}},
			want: verdict.Fail, why: code.StressGarbage.Kind,
		},
		"garbage by declaration": {fake: &fake{word: "\ufffd"}, attrs: map[string]any{
			"concurrency": []any{4.0},
			"coherence":   "off",
		}, want: verdict.Pass, why: "stress.unread"},
		"ends early": {
			fake: &fake{unended: true}, attrs: map[string]any{"sequential": 5.0},
			want: verdict.Fail, why: code.StressUnended.Kind,
		},
		"serves less": {
			fake: &fake{maxLen: 512}, attrs: map[string]any{"context_tokens": []any{1024.0}},
			want: verdict.Fail, why: "stress.too_long",
		},
		"no memory seen": {
			fake: &fake{}, attrs: map[string]any{"sequential": 1.0, "max_memory_slope": 1.0},
			want: verdict.Inconclusive, why: "stress.memory_unknown",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := config(t, c.attrs)
			tape, err := l.Run(t.Context(), start(t, c.fake))
			must.Do(t, err)
			got, why, err := l.Judge(*tape, none)
			if cut := *tape; len(cut.Entries) > 1 && got == verdict.Pass {
				cut.Entries = cut.Entries[:len(cut.Entries)-1]
				if v, _, err := l.Judge(cut, none); err == nil && v == verdict.Pass {
					t.Error("a tape that was cut passes")
				}
			}
			if silent := *tape; len(silent.Samples) > 0 && got == verdict.Pass {
				for i := range silent.Samples {
					if s := silent.Samples[i]; s.Measured() && s.Err == "" {
						silent.Samples = slices.Clone(tape.Samples)
						silent.Samples[i].Events, silent.Samples[i].Err = nil, "lost"
						if v, _, err := l.Judge(silent, none); err == nil && v == verdict.Pass {
							t.Errorf("a tape without an answer of %s passes", s.Workload)
						}
					}
				}
			}
			if err != nil || got != c.want || !verdict.Holds(why, c.why) {
				t.Errorf("%s %+v, %v; want %s for %s", got, why, err, c.want, c.why)
			}
			if got == verdict.Fail && c.why != "stress.too_long" && !verdict.Holds(why, code.Diagnosed.Kind) {
				t.Errorf("what the log says is not told: %+v", why)
			}
		})
	}
}

// judged is the verdict on what a level receives of an engine.
func judged(t *testing.T, c *Config, f *fake, found func(string, ...float64)) (verdict.Verdict,
	[]verdict.Reason, error,
) {
	t.Helper()
	tape, err := c.Run(t.Context(), start(t, f))
	if err != nil {
		return "", nil, err
	}
	return c.Judge(*tape, found)
}

// TestUnread: texts that were too many to keep are judged by what was seen of them.
func TestUnread(t *testing.T) {
	c := config(t, map[string]any{"sequential": 5.0})
	tape, err := c.Run(t.Context(), start(t, &fake{}))
	must.Do(t, err)
	last := &tape.Entries[len(tape.Entries)-1]
	tape.Samples = slices.Clone(tape.Samples)
	for i := len(tape.Samples) - last.Samples; i < len(tape.Samples); i++ {
		tape.Samples[i].Text = strings.Repeat("\ufffd", 64)
	}
	garbage := failure("sequential", code.StressGarbage)
	for _, c2 := range []struct {
		unread bool
		seen   *finding
		want   verdict.Verdict
	}{{false, nil, verdict.Fail}, {true, nil, verdict.Pass}, {true, garbage, verdict.Fail}} {
		if last.Unread = c2.unread; c2.seen != nil {
			last.Verdict, last.Why = c2.seen.verdict, c2.seen.why
		}
		if got, why, err := c.Judge(*tape, none); err != nil || got != c2.want {
			t.Errorf("unread %v: %s %+v, %v; want %s", c2.unread, got, why, err, c2.want)
		}
	}
}

// TestFinds: what the level declares to find is what it finds.
func TestFinds(t *testing.T) {
	c := config(t, map[string]any{"sequential": 2.0, "soak": "200ms"})
	got := map[string]bool{}
	f := &fake{leak: 1}
	v, why, err := judged(t, c, f, func(name string, values ...float64) {
		got[name] = len(values) == 1 && values[0] == values[0]
	})
	if err != nil || v != verdict.Pass {
		t.Fatal(v, why, err)
	}
	for _, n := range c.finds() {
		// So few requests have no 99th percentile, and on a busy machine no slope of memory.
		if rare := strings.HasSuffix(n.Name, "_p99") || strings.HasSuffix(n.Name, "memory_slope"); !rare &&
			!got[n.Name] {
			t.Errorf("%s is not found: %v", n.Name, got)
		}
		delete(got, n.Name)
	}
	if len(got) > 0 {
		t.Errorf("found and not declared: %v", got)
	}
}

// TestStressLeak: what every request leaves behind is seen in the memory of real
// processes. How sure that is depends on how busy this machine is (see TestMemory).
func TestStressLeak(t *testing.T) {
	attrs := map[string]any{"soak": "1s", "concurrency": []any{2.0}, "max_memory_slope": 50.0}
	got, why, err := judged(t, config(t, attrs), &fake{leak: 1 << 19}, none)
	if err != nil || got == verdict.Pass || !verdict.Holds(why, "stress.memory_leaks") &&
		!verdict.Holds(why, "stress.memory_open") {
		t.Fatalf("%s %+v, %v", got, why, err)
	}
	if slope := why[0].Values["slope"].Number; *slope < 150 || *slope > overhead*1500 {
		t.Errorf("a leak of 524 MB for 1000 requests is told as one of %g", *slope)
	}
}

// TestStressDeath: an engine that dies under load is no finding of the level, which its
// launch explains by exit status, signature and log.
func TestStressDeath(t *testing.T) {
	f := &fake{dies: true}
	if tape, err := config(t, map[string]any{"concurrency": []any{8.0}}).Run(t.Context(), start(t, f)); err == nil {
		t.Errorf("%+v", tape)
	}
}

// TestStressInterrupted ends with what ended it.
func TestStressInterrupted(t *testing.T) {
	f := &fake{stuck: true}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 600*time.Millisecond, context.Canceled)
	defer cancel()
	if _, err := config(t, map[string]any{"concurrency": []any{8.0}}).Run(ctx, start(t, f)); err !=
		context.Canceled { //nolint:errorlint // the cause itself
		t.Error(err)
	}
}

// memoryOf are readings of memory while requests are answered, ten a second.
func memoryOf(name string, gb func(request int) float64) measure.Series {
	s := measure.Series{Name: name}
	for i := range 300 {
		s.At, s.Value = append(s.At, time.Duration(i)*100*time.Millisecond), append(s.Value, gb(i))
	}
	return s
}

func TestMemory(t *testing.T) {
	var steady []measure.Sample
	for i := range 300 {
		steady = append(steady, measure.Sample{
			Start:  time.Duration(i) * 100 * time.Millisecond,
			Events: []measure.Event{{At: time.Millisecond}},
		})
	}
	limit := 50.0
	flat := func(i int) float64 { return 2 + 0.001*float64(i*7%5) }
	leak := func(i int) float64 { return flat(i) + 0.0002*float64(i) } // 200 MB for 1000
	noisy := func(i int) float64 { return 2 + 0.05*float64(i*7919%13) }
	fills := func(i int) float64 { return 2 + 0.01*float64(min(i, 90)) }
	for name, c := range map[string]struct {
		series []measure.Series
		gpus   []string
		limit  *float64
		want   verdict.Verdict
		why    code.Kind
	}{
		"flat": {
			series: []measure.Series{memoryOf(measure.EngineMemory, flat)}, limit: &limit,
			want: verdict.Pass, why: code.MemorySlope.Kind,
		},
		"leaks": {
			series: []measure.Series{memoryOf(measure.EngineMemory, leak)}, limit: &limit,
			want: verdict.Fail, why: "stress.memory_leaks",
		},
		"leaks, no limit": {
			series: []measure.Series{memoryOf(measure.EngineMemory, leak)}, want: verdict.Pass,
			why: code.MemorySlope.Kind,
		},
		"noisy": {
			series: []measure.Series{memoryOf(measure.EngineMemory, noisy)}, limit: &limit,
			want: verdict.Inconclusive, why: "stress.memory_open",
		},
		"fills its pools": {
			series: []measure.Series{memoryOf(measure.EngineMemory, fills)}, limit: &limit,
			want: verdict.Pass, why: code.MemorySlope.Kind,
		},
		"nothing read":      {limit: &limit, want: verdict.Inconclusive, why: "stress.memory_unknown"},
		"nothing, no limit": {want: verdict.Pass, why: "stress.memory_unknown"},
		"GPU unread": {
			series: []measure.Series{memoryOf(measure.EngineMemory, flat)}, gpus: []string{"G1"},
			limit: &limit, want: verdict.Inconclusive, why: "stress.memory_unknown",
		},
		"GPU leaks": {
			series: []measure.Series{memoryOf(measure.EngineMemory, flat), func() measure.Series {
				s := memoryOf(measure.GPUMemory, leak)
				s.Source = "G1"
				return s
			}()},
			gpus: []string{"G1"}, limit: &limit, want: verdict.Fail, why: "stress.memory_leaks",
		},
	} {
		found := map[string]float64{}
		level := &Config{MaxMemorySlope: c.limit}
		got, why := level.memory(steady, c.series, c.gpus, func(name string, values ...float64) {
			found[name] = values[0]
		})
		if len(found) != len(c.series) {
			t.Errorf("%s: rules read %v", name, found)
		}
		if got != c.want || len(why) == 0 || why[0].Kind != c.why {
			t.Errorf("%s: %s %+v, want %s for %s", name, got, why, c.want, c.why)
		}
	}
}

func TestCheck(t *testing.T) {
	usual := Config{
		Sequential: 10, Prompt: []int{16, 32}, Output: []int{8}, RequestTimeout: plans.Dur(time.Second),
		StallTimeout: plans.Dur(time.Second),
	}
	for name, c := range map[string]struct {
		change func(*Config)
		attr   string
	}{
		"nothing to do":   {func(c *Config) { c.Sequential = 0 }, ""},
		"no lengths":      {func(c *Config) { c.Prompt = nil }, "prompt_tokens"},
		"three lengths":   {func(c *Config) { c.Prompt = []int{1, 2, 3} }, "prompt_tokens"},
		"falling lengths": {func(c *Config) { c.Output = []int{8, 4} }, "output_tokens"},
	} {
		changed := usual
		c.change(&changed)
		errs := check(nil, changed)
		if len(errs) != 1 || errs[0].Attr != c.attr {
			t.Errorf("%s: %+v", name, errs)
		}
	}
	if errs := check(nil, usual); len(errs) > 0 {
		t.Errorf("%+v", errs)
	}
}
