// Package live serves the page of a state directory to a browser on this machine and keeps
// it up to date while an apply runs. It only reads; nothing can be changed through it.
package live

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/progress"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/replay"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/report/page"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
	"github.com/mxflow/mxflow/steps/apply"
	"github.com/mxflow/mxflow/steps/questions/reproduce"
)

// look is how often an open page is updated, and the minimum time between rebuilds of a
// page.
var look = time.Second

// mostStreams limits the open pages that are updated, farewell how long they have to take
// in what is shown last.
const (
	mostStreams = 16
	farewell    = 3 * time.Second
)

// Onlooker shows one state directory. It only reads.
type Onlooker struct {
	dir, host, token string
	// begins is the command that makes the first run.
	begins string
	// note tells the person who started it what the page lacks.
	note    func(verdict.Reason)
	streams chan struct{}
	// ended is closed when it stops serving.
	ended chan struct{}

	mu sync.Mutex
	// text is the page for a revision of the ledger, made at a time.
	text     []byte
	revision string
	made     time.Time
	// last is the speed of the newest launch then.
	last string
}

// New shows a state directory at an address, which need not exist before begins, a command, was run.
// note tells a person, once, what the page lacks.
func New(dir, host, begins string, note func(verdict.Reason)) *Onlooker {
	var once sync.Once
	say := func(r verdict.Reason) { once.Do(func() { note(r) }) }
	return &Onlooker{
		dir: dir, host: host, begins: begins, note: say, token: rand.Text(), streams: make(chan struct{}, mostStreams),
		ended: make(chan struct{}),
	}
}

// URL is the address for a person's browser.
func (s *Onlooker) URL() string { return "http://" + s.host + "/" + s.token + "/" }

// Serve answers until ctx ends, which is not an error, and open pages show how things
// stand then.
func (s *Onlooker) Serve(ctx context.Context, listener net.Listener) error {
	web := &http.Server{Handler: s, ReadHeaderTimeout: 5 * time.Second}
	stop := context.AfterFunc(ctx, func() {
		close(s.ended)
		wait, enough := context.WithTimeout(context.Background(), farewell)
		defer enough()
		for range mostStreams { // each place is free again when its page has closed
			select {
			case s.streams <- struct{}{}:
			case <-wait.Done():
			}
		}
		_ = web.Close()
	})
	defer stop()
	if err := web.Serve(listener); ctx.Err() == nil {
		return err
	}
	return nil
}

// ServeHTTP answers requests that name this host and have the token. Another site's page
// whose name was pointed here (DNS rebinding) names another host.
func (s *Onlooker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, what, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	_, port, _ := net.SplitHostPort(s.host)
	switch {
	case r.Host != s.host && r.Host != "localhost:"+port:
		http.Error(w, "this is not "+r.Host, http.StatusMisdirectedRequest)
		return
	case subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) != 1:
		http.NotFound(w, r)
		return
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "this page is read-only", http.StatusMethodNotAllowed)
		return
	}
	for name, value := range sorted.All(map[string]string{
		"Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
		"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
	}) {
		w.Header().Set(name, value)
	}
	switch what {
	case "":
		answer(w, s.current)
	case "results.html":
		answer(w, s.saved)
	case "events":
		s.events(w, r)
	default:
		http.NotFound(w, r)
	}
}

func answer(w http.ResponseWriter, of func() ([]byte, error)) {
	text, err := of()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(text)
}

// revisionNow identifies the state of the ledger, of the looks at a session and of what is locked,
// without reading the ledger.
func (s *Onlooker) revisionNow() string {
	info, err := os.Stat(store.LedgerPath(s.dir))
	if err != nil {
		return "gone"
	}
	revision := fmt.Sprintf("%d-%d", info.Size(), info.ModTime().UnixNano())
	if at, underWay := apply.AtWork(s.dir); underWay {
		for _, l := range at.Looks {
			revision += fmt.Sprintf("-%d", l.Time.UnixNano())
		}
		if n := len(at.Locked); n > 0 {
			revision += fmt.Sprintf("-%d", n)
		}
	}
	return revision
}

// current is the page of the ledger as it is now, rebuilt at most once a second however
// many ask for it: they wait, as a page that was told of a revision asks only once.
func (s *Onlooker) current() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.text != nil && s.revisionNow() == s.revision {
		return s.text, nil
	}
	time.Sleep(look - time.Since(s.made))
	revision := s.revisionNow()
	text, err := s.write(revision)
	if err == nil {
		s.text, s.revision, s.made = text, revision, time.Now()
	}
	return text, err
}

// saved is the page as a file to keep, which report --format html writes.
func (s *Onlooker) saved() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.write("")
}

// write is the page as things stand, which follows the run if it is given a revision.
func (s *Onlooker) write(revision string) ([]byte, error) {
	var text bytes.Buffer
	st, err := store.OpenReadOnly(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		err := page.Write(&text, &page.Model{Revision: revision, Waits: s.begins})
		return text.Bytes(), err
	}
	if err != nil {
		return nil, err
	}
	defer st.Close()
	m, err := model(st, s.note)
	if errors.Is(err, report.ErrNothing) {
		m, err = &page.Model{Waits: s.begins}, nil
	}
	if err != nil {
		return nil, err
	}
	m.Revision = revision
	if made := st.Launches(store.LaunchFilter{OK: true, Purpose: ledger.ForBenchmark}); len(made) > 0 {
		l := made[len(made)-1]
		if heads := report.Headlines([]*ledger.Launch{l}); len(heads) > 0 {
			of, _ := heads[0].Of(l)
			s.last = "last: " + l.Variant + " " + verdict.Short(of.Stats[heads[0].Stat], of.Unit)
		}
	}
	err = page.Write(&text, m)
	return text.Bytes(), err
}

// shown is what an open page receives.
type shown struct {
	Revision string `json:"revision"`
	// Line is the current activity, empty if there is none; Log the last line of a
	// starting engine.
	Line string `json:"line"`
	Log  string `json:"log,omitempty"`
	// Last is the speed of the launch before, Time what is left.
	Last string `json:"last,omitempty"`
	Time string `json:"time,omitempty"`
	Made int    `json:"made"`
	Left int    `json:"left"`
	// Ended is set in the last one: the page takes in the revision, and closes.
	Ended bool `json:"ended,omitempty"`
}

// events sends an open page the current activity, whenever it changes.
func (s *Onlooker) events(w http.ResponseWriter, r *http.Request) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		http.Error(w, "too many pages are open", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	tick := time.NewTicker(look)
	defer tick.Stop()
	ended := s.ended
	for told := ""; ; {
		state := s.now()
		state.Ended = ended == nil
		data, err := json.Marshal(state)
		if err != nil {
			return
		}
		if text := string(data); text != told {
			told = text
			if _, err := fmt.Fprintf(w, "data: %s\n\n", data); err != nil {
				return
			}
			if out.Flush() != nil {
				return
			}
		}
		select {
		case <-r.Context().Done():
			return
		case <-ended:
			ended = nil
		case <-tick.C:
		}
	}
}

// now is the state of the run. A page older than the ledger is due for a rebuild.
func (s *Onlooker) now() shown {
	state := shown{Revision: s.revisionNow()}
	at, underWay := apply.AtWork(s.dir)
	if !underWay {
		return state
	}
	state.Line, state.Made, state.Left = progress.Status(at.Event), at.Made, at.Left
	if at.Line != "" {
		state.Line, state.Log = progress.Starting(at.Seconds)+" · "+state.Line, at.Line
	}
	s.mu.Lock()
	state.Last = s.last
	s.mu.Unlock()
	state.Time = progress.Left(at.ETALeast, at.ETAMost)
	return state
}

// Page writes the page for a browser, with the phases as in the newest run's plan if that
// still compiles; note says why it does not.
func Page(w io.Writer, st *store.Store, note func(verdict.Reason)) error {
	m, err := model(st, note)
	if err != nil {
		return err
	}
	return page.Write(w, m)
}

func model(st *store.Store, note func(verdict.Reason)) (*page.Model, error) {
	runs := st.Runs()
	if len(runs) == 0 {
		return nil, report.ErrNothing
	}
	p, why := replay.New(st, steps.Registry(), nil).Plan(runs[len(runs)-1].ID)
	if p == nil {
		note(why)
	}
	at, _ := apply.AtWork(st.Dir())
	s := report.SummaryOf(st, p, time.Now())
	var err error
	if s.Reproduction, err = reproduce.Of(st); err != nil {
		note(verdict.OfError(err))
	}
	return page.Of(s, at.Looks, at.Locked), nil
}
