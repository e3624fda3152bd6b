package machine

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestPage(t *testing.T) {
	var asked atomic.Int64
	var mu sync.Mutex
	from := map[net.Conn]bool{}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" || r.Header.Get("Authorization") != "Bearer x" ||
			r.Header.Get("Accept-Encoding") != "" {
			http.Error(w, "not you", http.StatusForbidden)
			return
		}
		fmt.Fprintf(w, "# TYPE e:count counter\ne:count_total %d\n", asked.Add(1))
	}))
	s.Config.ConnState = func(c net.Conn, state http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		from[c] = true
	}
	s.Start()
	defer s.Close()
	page := MetricsPage{
		URL: s.URL + "/metrics", Header: http.Header{"Authorization": {"Bearer x"}}, Client: s.Client(),
		Names: map[string][]string{"count": {"e:count"}}, Every: time.Hour,
	}
	begin(t, SamplerConfig{}).Mark(context.Background()) // without a page there is nothing to do
	r := begin(t, SamplerConfig{Metrics: &page})
	before := time.Since(r.config.Zero)
	for range 3 {
		r.Mark(context.Background())
	}
	after := time.Since(r.config.Zero)
	series, notes := r.Stop()
	sound(t, series)
	c := find(series, "engine.count", "")
	if n := int(asked.Load()); len(c.Value) != n || n < 3 || c.Value[n-1] != float64(n) || len(notes) != 0 {
		t.Errorf("asked %d times: %v, %q", n, c.Value, notes)
	}
	if last := c.At[len(c.At)-1]; last < before || last > after {
		t.Errorf("marked at %v, not between %v and %v", last, before, after)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(from) != 1 {
		t.Errorf("%d connections", len(from))
	}
}

// An engine started without its page is asked once, and the note says how to get one.
func TestNoPage(t *testing.T) {
	for _, status := range []int{http.StatusNotFound, http.StatusNotImplemented} {
		var asked atomic.Int64
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			http.Error(w, "no", status)
		}))
		r := begin(t,
			SamplerConfig{Metrics: &MetricsPage{
				URL: s.URL + "/metrics", Needs: []string{"--metrics"},
				Names: map[string][]string{"count": {"e:count"}}, Every: time.Millisecond,
			}})
		for range 5 {
			r.Mark(context.Background())
		}
		_, notes := r.Stop()
		s.Close()
		want := fmt.Sprintf("the engine has no metrics page: /metrics answered %d %s; to get one, start it with "+
			"--metrics", status, http.StatusText(status))
		if len(notes) != 1 || notes[0] != want || asked.Load() != 1 {
			t.Errorf("asked %d times: %q, want %q", asked.Load(), notes, want)
		}
	}
}

func TestPageTrouble(t *testing.T) {
	release := make(chan struct{})
	var mode atomic.Value
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch mode.Load() {
		case "slow":
			select {
			case <-release:
			case <-r.Context().Done():
			}
		case "refuses":
			http.Error(w, "no", http.StatusServiceUnavailable)
		case "redirects":
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		case "html":
			fmt.Fprint(w, "<html>hello\n</html>")
		case "huge":
			w.Write([]byte(strings.Repeat("# nothing\n", maxPage/10+1)))
		case "breaks":
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "e:count 1\n")
		case "nothing known":
			fmt.Fprint(w, "# TYPE x gauge\nx 1\n")
		}
	}))
	defer s.Close()
	defer close(release)
	for kind, want := range map[string]string{
		"slow": "no answer within 50ms", "refuses": "503", "redirects": "302",
		"html": "is not a page of Prometheus metrics",
		"huge": "larger than 8 MiB", "breaks": "connection broken", "nothing known": "never had: count",
	} {
		mode.Store(kind)
		r := still()
		p := newPageReader(MetricsPage{URL: s.URL, Names: map[string][]string{"count": {"e:count"}}}, r)
		limit := 10 * time.Second
		if kind == "slow" {
			limit = 50 * time.Millisecond
		}
		go r.loop()
		p.read(context.Background(), limit)
		r.page = p
		series, notes := r.Stop()
		if len(series) != 0 || len(notes) != 1 || !strings.Contains(notes[0], want) {
			t.Errorf("%s: %v, %q", kind, series, notes)
		}
	}
	// Nobody listens, and then watching ends during a reading: that is not the engine's fault.
	mode.Store("slow")
	r := begin(t, SamplerConfig{Metrics: &MetricsPage{URL: s.URL, Names: map[string][]string{"count": {"e:count"}}}})
	until(t, r, func() bool { return len(r.page.reading) == 1 })
	if _, notes := r.Stop(); len(notes) != 0 {
		t.Errorf("stopped while reading: %q", notes)
	}
	r = begin(t,
		SamplerConfig{Metrics: &MetricsPage{
			URL:   "http://127.0.0.1:1/metrics",
			Names: map[string][]string{"count": {"e:count"}},
		}})
	r.Mark(context.Background())
	if _, notes := r.Stop(); len(notes) != 1 || !strings.Contains(notes[0], "GET http://127.0.0.1:1/metrics: ") {
		t.Errorf("nobody there: %q", notes)
	}
}

// vllmPage is the relevant part of a page of vLLM, with its surroundings.
const vllmPage = `# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 3.0
# TYPE vllm:gpu_cache_usage_perc gauge
vllm:gpu_cache_usage_perc{engine="0",model_name="m"} 0.25
# TYPE vllm:num_preemptions_total counter
vllm:num_preemptions_total{engine="0",model_name="m"} 2.0
# TYPE vllm:num_preemptions_created gauge
vllm:num_preemptions_created{engine="0",model_name="m"} 1.7e+09
# TYPE vllm:request_queue_time_seconds histogram
vllm:request_queue_time_seconds_bucket{engine="0",le="0.3",model_name="m"} 5.0
vllm:request_queue_time_seconds_bucket{engine="0",le="+Inf",model_name="m"} 7.0
vllm:request_queue_time_seconds_count{engine="0",model_name="m"} 7.0
vllm:request_queue_time_seconds_sum{engine="0",model_name="m"} 1.5
# TYPE vllm:spec_decode_num_accepted_tokens_total counter
vllm:spec_decode_num_accepted_tokens_total{engine="0",model_name="m"} 1615.0
# TYPE vllm:spec_decode_num_accepted_tokens_per_pos_total counter
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="0"} 600.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="1"} 400.0
`

var vllmNames = map[string][]string{
	"running":        {"vllm:num_requests_running"},
	"kv_cache_usage": {"vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"},
	"preemptions":    {"vllm:num_preemptions_total"}, "queue_time_sum": {"vllm:request_queue_time_seconds_sum"},
	"queue_time_count":      {"vllm:request_queue_time_seconds_count"},
	"spec_accepted_tokens":  {"vllm:spec_decode_num_accepted_tokens_total"},
	"spec_accepted_per_pos": {"vllm:spec_decode_num_accepted_tokens_per_pos_total"},
	"waiting":               {"vllm:num_requests_waiting"},
	"spec_draft_tokens":     {"vllm:spec_decode_num_draft_tokens_total"},
	"corrupted_requests":    {"vllm:corrupted_requests_total"},
}

// linesOf are the series of pages read a second apart, by name and source.
func linesOf(t *testing.T, names map[string][]string, pages ...string) (map[string][]float64, []string) {
	t.Helper()
	r := still()
	p := newPageReader(MetricsPage{Names: names}, r)
	for i, page := range pages {
		lines, err := p.parse(page)
		if err != nil && len(lines) == 0 {
			t.Fatalf("page %d: %v", i, err)
		}
		p.pages++
		p.keep(r.config.Zero.Add(time.Duration(i)*time.Second), lines)
	}
	r.page = p
	out := map[string][]float64{}
	series, notes := r.result()
	sound(t, series)
	for _, s := range series {
		out[s.Name+" "+s.Source] = s.Value
	}
	return out, notes
}

func TestPageLines(t *testing.T) {
	got, absent := linesOf(t, vllmNames, vllmPage, strings.ReplaceAll(vllmPage, "600.0", "650"))
	want := map[string][]float64{
		"engine.running ": {3, 3}, "engine.kv_cache_usage ": {0.25, 0.25}, "engine.preemptions ": {2, 2},
		"engine.queue_time_sum ":   {1.5, 1.5},
		"engine.queue_time_count ": {7, 7}, "engine.spec_accepted_tokens ": {1615, 1615},
		`engine.spec_accepted_per_pos position="0"`: {600, 650},
		`engine.spec_accepted_per_pos position="1"`: {400, 400},
	}
	for name, values := range want {
		if !slices.Equal(got[name], values) {
			t.Errorf("%s is %v, want %v", name, got[name], values)
		}
	}
	if len(got) != len(want) || !slices.Equal(absent, []string{"the engine's metrics page never had: waiting"}) {
		t.Errorf("got %v; absent %v", got, absent)
	}

	names := map[string][]string{"hits": {"e:hits_total"}, "tokens": {"e:tokens"}, "use": {"e:use", "e:old_use"}}
	for _, test := range []struct {
		name  string
		pages []string
		want  string
	}{
		{"without _total", []string{"e:hits 1\n"}, "engine.hits =[1]"},
		{"with _total", []string{"e:tokens_total 1\n"}, "engine.tokens =[1]"},
		{
			"ranks",
			[]string{"e:use{tp=\"0\",m=\"x\"} 1\ne:use{tp=\"1\",m=\"x\"} 2\n"},
			`engine.use tp="0"=[1] engine.use tp="1"=[2]`,
		},
		{
			"a line that comes later",
			[]string{"e:use{tp=\"0\"} 1\n", "e:use{tp=\"0\"} 2\ne:use{tp=\"1\"} 3\n"},
			`engine.use tp="0"=[1 2] engine.use tp="1"=[3]`,
		},
		{"one position", []string{"e:use{position=\"0\",m=\"x\"} 1\n"}, `engine.use position="0"=[1]`},
		{"the newest name", []string{"e:old_use 1\ne:use 2\n"}, "engine.use =[2]"},
		{"a name is kept to", []string{"e:old_use 1\n", "e:old_use 2\ne:use 9\n"}, "engine.use =[1 2]"},
		{"no number", []string{"e:use NaN\n", "e:use +Inf\n", "e:use 3 1700000000000\n"}, "engine.use =[3]"},
		{"other lines", []string{"e:use_created 3\ne:used 4\nbroken {\ne:use 5\n"}, "engine.use =[5]"},
		{"one that cannot be read", []string{"e:use 5\ne:tokens 6\ne:tokens{tp=\"1\"} x\n"}, "engine.use =[5]"},
		{"nothing yet", []string{"", "# TYPE e:x gauge\ne:x 1\n"}, ""},
	} {
		got, _ := linesOf(t, names, test.pages...)
		var words []string
		for name, values := range got {
			words = append(words, fmt.Sprintf("%s=%v", name, values))
		}
		slices.Sort(words)
		if strings.Join(words, " ") != test.want {
			t.Errorf("%s: %q, want %q", test.name, words, test.want)
		}
	}
	for _, bad := range []string{
		"<html><body>busy</body></html>", `{"running": 1}`, "e:use\n", "e:use{ 1\n",
		"e:use one\n", "e:use 3",
	} {
		if lines, err := newPageReader(MetricsPage{Names: names}, still()).parse(bad); err == nil || len(lines) > 0 {
			t.Errorf("%q: %v", bad, lines)
		}
	}
}
