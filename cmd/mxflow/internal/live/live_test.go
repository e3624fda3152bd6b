package live

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/progress"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/apply"
)

// serving is a state directory with a run under way, and who shows it.
func serving(t *testing.T) (*store.Store, *store.DirLock, *Onlooker) {
	dir := t.TempDir()
	lock, err := store.Lock(dir)
	must.Do(t, err)
	t.Cleanup(func() { _ = lock.Unlock() })
	st, err := store.Open(dir)
	must.Do(t, err)
	t.Cleanup(func() { st.Close() })
	must.Do(t, lock.Begin("r1"))
	must.Do(t,
		st.Append(&ledger.Record{
			Type: "run", Run: "r1", Time: time.Now(),
			RunStart: &ledger.RunStart{Plan: "tiny", Nodes: []string{"phase.a", "phase.b"}},
		}))
	if _, err := st.RunDir("r1"); err != nil {
		t.Fatal(err)
	}
	return st, lock, New(dir, "127.0.0.1:4000", "mxflow apply plan.hcl", func(verdict.Reason) {})
}

// TestServeRefuses: who does not know the token, comes by another name, or wants to change
// something gets nothing of what is on record.
func TestServeRefuses(t *testing.T) {
	_, _, s := serving(t)
	for _, c := range []struct {
		method, host, path string
		status             int
	}{
		{"GET", "127.0.0.1:4000", "/" + s.token + "/", 200},
		{"HEAD", "localhost:4000", "/" + s.token + "/", 200},
		{"GET", "127.0.0.1:4000", "/" + s.token + "/results.html", 200},
		{"GET", "127.0.0.1:4000", "/", 404},
		{"GET", "127.0.0.1:4000", "/" + s.token[1:] + "/", 404},
		{"GET", "127.0.0.1:4000", "/" + s.token + "/../../etc/passwd", 404},
		{"GET", "127.0.0.1:4000", "/" + s.token + "/ledger", 404},
		{"POST", "127.0.0.1:4000", "/" + s.token + "/", 405},
		{"DELETE", "127.0.0.1:4000", "/" + s.token + "/events", 405},
		{"GET", "rebound.example:4000", "/" + s.token + "/", 421},
		{"GET", "127.0.0.1", "/" + s.token + "/", 421},
	} {
		r := httptest.NewRequest(c.method, "http://x/", nil)
		r.Host, r.URL.Path = c.host, c.path
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != c.status || c.status != 200 && strings.Contains(w.Body.String(), "tiny") {
			t.Errorf("%s %s%s: %d, wanted %d: %.200s", c.method, c.host, c.path, w.Code, c.status, w.Body)
		}
		if strings.Contains(w.Body.String(), s.token) {
			t.Errorf("%s %s says the token", c.method, c.path)
		}
	}
}

// TestServeWaits: before the first apply a page says how to begin, and shows the run when it has begun.
func TestServeWaits(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "later")
	s := New(dir, "127.0.0.1:4000", "mxflow apply plan.hcl", func(verdict.Reason) {})
	text := string(must.Get(s.current())(t))
	for _, part := range []string{"<code>mxflow apply plan.hcl</code>", `data-revision="gone"`, `id="data"`} {
		must.Contain(t, "a page that waits", text, part)
	}
	st := must.Get(store.Open(dir))(t)
	t.Cleanup(func() { st.Close() })
	text = string(must.Get(s.current())(t))
	must.Contain(t, "a directory without a run", text, "<code>mxflow apply plan.hcl</code>")
	must.Do(t, st.Append(&ledger.Record{
		Type: "run", Run: "r1", Time: time.Now(),
		RunStart: &ledger.RunStart{Plan: "tiny", Nodes: []string{"phase.a"}},
	}))
	text = string(must.Get(s.current())(t))
	if strings.Contains(text, "Nothing was applied") || !strings.Contains(text, "tiny") ||
		!strings.Contains(text, "connect-src") || !strings.Contains(text, `href="results.html"`) {
		t.Error("the first run is not shown")
	}
	text = string(must.Get(s.saved())(t))
	if strings.Contains(text, "connect-src") || strings.Contains(text, "results.html") {
		t.Error("a page that was saved asks for another")
	}
}

// TestServeFollows: an open page hears of the launch that goes on, in words, of what was
// recorded as another revision, of a look at a session, and of the end; of what an engine
// wrote the last line while it starts, without secrets.
func TestServeFollows(t *testing.T) {
	often := look
	look = often / 10
	t.Cleanup(func() { look = often })
	st, lock, s := serving(t)
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	s.host = strings.TrimPrefix(web.URL, "http://")
	if _, err := s.current(); err != nil {
		t.Fatal(err)
	}
	on := progress.Screen{Out: func() io.Writer { return t.Output() }, Width: func() int { return 80 }}
	r := &apply.Recorder{
		Dir: st.Dir(), Secrets: func() *redact.Redactor { return redact.New([]string{"hunter2"}) },
		Observer: progress.New(on),
	}
	r.Begin(apply.Start{Run: "r1", Plan: &plans.Plan{Name: "tiny"}})
	answer, err := http.Get(s.URL() + "events")
	must.Do(t, err)
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	next := func() string {
		for lines.Scan() {
			if text, is := strings.CutPrefix(lines.Text(), "data: "); is {
				return text
			}
		}
		t.Fatal("the stream ended")
		return ""
	}
	before := next()
	must.Contain(t, "nothing goes on, and it says", before, `"line":""`)
	r.Event(runtime.Event{
		Type: "node_locked", Node: "phase.b", Why: verdict.New(code.Outcome).On("phase.a").Is(verdict.Fail),
	})
	r.Event(runtime.Event{
		Type: "launch_started", Phase: "a", Feature: "moe", Level: "benchmark", Variant: "moe",
		Launch: 3, Launches: 8, Made: 2, Left: 6,
	})
	r.Event(runtime.Event{Type: "launch_loading", Line: "weights, password=hunter2", Seconds: 41})
	said := next()
	for ; !strings.Contains(said, "weights"); said = next() {
	}
	if !strings.Contains(said, "launch 3 of 8") || !strings.Contains(said, `"log":"weights, password=[redacted]"`) ||
		!strings.Contains(said, `"left":6`) {
		t.Errorf("the start of a launch: %s", said)
	}
	if kept, err := os.ReadFile(filepath.Join(st.Dir(), "runs", "r1", "progress.json")); err != nil ||
		strings.Contains(string(kept), "hunter2") {
		t.Errorf("%s, %v", kept, err)
	}
	must.Contain(t, "what is locked while a run goes on", string(must.Get(s.current())(t)), "locked by a")
	r.Event(runtime.Event{Type: "launch_ready"})
	written := progressAt(t, st)
	for range 3 {
		r.Event(runtime.Event{Type: "request_done", Launch: 3, Request: 1, Requests: 8})
	}
	must.Equal(t, "something was written while a launch is measured", progressAt(t, st), written)
	for said = next(); strings.Contains(said, "weights") || strings.Contains(said, "password"); said = next() {
	}
	open, low, high := verdict.Test{
		Form: verdict.Ratio, Metric: "chat.tg", Relation: "gain", More: true,
		Threshold: 0.1, Stop: stats.Open, Plan: []int{4, 6, 8}, Values: []float64{50, 51, 52, 53},
	}, 0.02, 0.3
	estimate := 0.15
	open.Estimate, open.Low, open.High, open.Looks = &estimate, &low, &high, []stats.Look{{N: 4, Chance: 0.62}}
	r.Event(runtime.Event{
		Type: "looked", Time: time.Now(), Node: "feature.moe.benchmark", Phase: "a", Feature: "moe",
		Look: &runtime.Look{Launches: 4, Most: 8, Next: 6, Rules: []verdict.Rule{{
			Name: "decode", Expr: "chat.tg.gain >= 0.1", Verdict: verdict.Inconclusive,
			Comparisons: []verdict.Comparison{{Verdict: verdict.Inconclusive, Test: &open}},
		}}},
	})
	for said = next(); revisionOf(said) == revisionOf(before); said = next() {
	}
	before = said
	s.made = time.Time{}
	text, err := s.current()
	must.Do(t, err)
	for _, want := range []string{
		"4 of up to 8 launches per arm, next look at 6",
		"decode &#43;15% (≥ &#43;10%, between &#43;2.0% and &#43;30%)", "with a chance of about 62%", "undecided",
	} {
		must.Contain(t, "where the test stands lacks", string(text), want)
	}
	must.Do(t, st.Append(&ledger.Record{Type: "end", Run: "r1", Time: time.Now(), End: &ledger.End{Exit: 130}}))
	for said = next(); revisionOf(said) == revisionOf(before); said = next() {
	}
	must.Do(t, lock.Unlock())
	for said = next(); !strings.Contains(said, `"line":""`); said = next() {
	}
}

// TestServeEnds: when what serves ends, an open page is told, is given the page with the
// end of the run though it took one a moment ago, and is waited for no longer than it is
// open.
func TestServeEnds(t *testing.T) {
	often := look
	look = often / 10
	t.Cleanup(func() { look = often })
	st, _, s := serving(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	s.host = listener.Addr().String()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, listener) }()
	shows := func() string {
		answer, err := http.Get(s.URL())
		must.Do(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		must.Do(t, err)
		return string(text)
	}
	events, err := http.Get(s.URL() + "events")
	must.Do(t, err)
	must.Contain(t, "while it goes on", shows(), "<title>tiny: under way</title>")
	must.Do(t,
		st.Append(&ledger.Record{
			Type: "end", Run: "r1", Time: time.Now(),
			End: &ledger.End{Exit: 2, Verdict: verdict.Fail},
		}))
	stop()
	lines := bufio.NewScanner(events.Body)
	for lines.Scan() && !strings.Contains(lines.Text(), `"ended":true`) {
	}
	if told := s.revisionNow(); revisionOf(lines.Text()) != told {
		t.Errorf("the last message is %q, the revision %s", lines.Text(), told)
	}
	if text := shows(); strings.Contains(text, "<title>tiny: under way</title>") {
		t.Errorf("at the end: %.300s", text)
	}
	select {
	case err := <-ended:
		t.Errorf("it ended before the page: %v", err)
	default:
	}
	events.Body.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func progressAt(t *testing.T, st *store.Store) time.Time {
	info, err := os.Stat(filepath.Join(st.Dir(), "runs", "r1", "progress.json"))
	must.Do(t, err)
	return info.ModTime()
}

func revisionOf(said string) string {
	_, rest, _ := strings.Cut(said, `"revision":"`)
	revision, _, _ := strings.Cut(rest, `"`)
	return revision
}

var _ apply.Observer = &apply.Recorder{}
