package telemetry

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
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
		if r.URL.Path != "/metrics" || r.Header.Get("Authorization") != "Bearer x" || r.Header.Get("Accept-Encoding") != "" {
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
	page := Page{URL: s.URL + "/metrics", Header: http.Header{"Authorization": {"Bearer x"}}, Client: s.Client(), Names: map[string][]string{"count": {"e:count"}}, Every: time.Hour}
	begin(t, Config{}).Mark(context.Background()) // without a page there is nothing to do
	r := begin(t, Config{Metrics: &page})
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

// An engine that was started without its page is asked once, and says how it gets
// one.
func TestNoPage(t *testing.T) {
	for _, status := range []int{http.StatusNotFound, http.StatusNotImplemented} {
		var asked atomic.Int64
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			http.Error(w, "no", status)
		}))
		r := begin(t, Config{Metrics: &Page{URL: s.URL + "/metrics", Needs: []string{"--metrics"}, Names: map[string][]string{"count": {"e:count"}}, Every: time.Millisecond}})
		for range 5 {
			r.Mark(context.Background())
		}
		_, notes := r.Stop()
		s.Close()
		want := fmt.Sprintf("the engine has no page of metrics: /metrics answered %d %s; it has one when it is started with --metrics", status, http.StatusText(status))
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
		"slow": "no answer within 50ms", "refuses": "503", "redirects": "302", "html": "is not a page of Prometheus metrics",
		"huge": "larger than 8 MiB", "breaks": "broke off", "nothing known": "never had: count",
	} {
		mode.Store(kind)
		tp := newTape(time.Now())
		p := newPageReader(Page{URL: s.URL, Names: map[string][]string{"count": {"e:count"}}}, tp)
		limit := 10 * time.Second
		if kind == "slow" {
			limit = 50 * time.Millisecond
		}
		p.read(context.Background(), limit)
		p.finish()
		series, notes := tp.done()
		if len(series) != 0 || len(notes) != 1 || !strings.Contains(notes[0], want) {
			t.Errorf("%s: %v, %q", kind, series, notes)
		}
	}
	// Nobody there, and then the end while a reading is under way: that is none of
	// the engine's doing.
	mode.Store("slow")
	r := begin(t, Config{Metrics: &Page{URL: s.URL, Names: map[string][]string{"count": {"e:count"}}}})
	until(t, r, func() bool { return len(r.page.reading) == 1 })
	if _, notes := r.Stop(); len(notes) != 0 {
		t.Errorf("stopped while reading: %q", notes)
	}
	r = begin(t, Config{Metrics: &Page{URL: "http://127.0.0.1:1/metrics", Names: map[string][]string{"count": {"e:count"}}}})
	r.Mark(context.Background())
	if _, notes := r.Stop(); len(notes) != 1 || !strings.Contains(notes[0], "GET http://127.0.0.1:1/metrics: ") {
		t.Errorf("nobody there: %q", notes)
	}
}
