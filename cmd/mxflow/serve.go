package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/ending"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/report/page"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/apply"
)

func newServeCommand(a *app) *cobra.Command {
	var port int
	var child bool
	var vars []load.Given
	c := &cobra.Command{
		Use:   "serve [PLAN]",
		Short: "Show the results and the run under way in a browser",
		Long: `Serves the page of report --format html on 127.0.0.1, and keeps it up to date while an
apply is under way: the launch and the stage of the engine's start with the last line of
its log, the numbers of each launch as it ends, after each round where the tests stand
(the look of how many, the bounds against what is required, the chance that more launches
decide), each verdict as it is decided. The address has a random token: who does
not know it sees nothing, and nobody can change anything. Ctrl-C ends it.

It reads the state directory and needs no lock. While nobody looks it does nothing; for
a page that is open it looks once a second whether something was recorded.`,
		Example: "  mxflow serve plan.hcl\n  mxflow serve --port 8080 plan.hcl",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			st, err := a.reader(args)
			if err != nil {
				return err
			}
			dir := st.Dir()
			if len(vars) > 0 {
				_, err = edgesOf(st, vars)
			}
			if st.Close(); err != nil {
				return err
			}
			listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
			if err != nil {
				return fmt.Errorf("--port %d cannot be served on: %w. Choose another, or leave it out", port, err)
			}
			ctx, stop := context.WithCancel(c.Context())
			defer stop()
			interrupts := ending.Interrupts()
			go func() {
				if child {
					// It ends with the apply that started it, however that ends.
					_, _ = io.Copy(io.Discard, os.Stdin)
				} else {
					<-interrupts
				}
				stop()
			}()
			s := newOnlooker(dir, listener.Addr().String())
			s.vars = vars
			fmt.Fprintf(a.stdout, "%s\nCtrl-C ends it.\n", s.url())
			return s.serve(ctx, listener)
		},
	}
	c.Flags().IntVar(&port, "port", 0, "port to serve on (default: a free one)")
	c.Flags().BoolVar(&child, "child", false, "end when standard input does")
	_ = c.Flags().MarkHidden("child")
	varFlag(c, &vars)
	return c
}

// look is how often an open page is brought up to date, and how often a page is made anew
// at most.
const look = time.Second

// mostStreams is how many open pages are kept up to date.
const mostStreams = 16

// onlooker shows one state directory. It only reads.
type onlooker struct {
	dir, host, token string
	// vars are what the plan is compiled with, beside what it was applied with.
	vars    []load.Given
	streams chan struct{}

	mu sync.Mutex
	// text is the page of a revision of the ledger, made at a time.
	text     []byte
	revision string
	made     time.Time
	// took is what launches took until then, by node and variant.
	took map[string]took
}

type took struct {
	launches int
	seconds  float64
}

func newOnlooker(dir, host string) *onlooker {
	return &onlooker{dir: dir, host: host, token: rand.Text(), streams: make(chan struct{}, mostStreams)}
}

func (s *onlooker) url() string { return "http://" + s.host + "/" + s.token + "/" }

// serve answers until ctx ends, which is no error.
func (s *onlooker) serve(ctx context.Context, listener net.Listener) error {
	web := &http.Server{Handler: s, ReadHeaderTimeout: 5 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	stop := context.AfterFunc(ctx, func() { _ = web.Close() })
	defer stop()
	if err := web.Serve(listener); ctx.Err() == nil {
		return err
	}
	return nil
}

// ServeHTTP answers who names this host and knows the token. A page of another site that
// had its own name point here (DNS rebinding) names another host.
func (s *onlooker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
		http.Error(w, "nothing can be changed here", http.StatusMethodNotAllowed)
		return
	}
	for name, value := range map[string]string{"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY"} {
		w.Header().Set(name, value)
	}
	switch what {
	case "":
		s.page(w)
	case "events":
		s.events(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (s *onlooker) page(w http.ResponseWriter) {
	text, err := s.current()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(text)
}

// revisionNow tells one state of the ledger, and of the looks at a session, from another
// without reading the ledger.
func (s *onlooker) revisionNow() string {
	info, err := os.Stat(store.LedgerPath(s.dir))
	if err != nil {
		return "gone"
	}
	revision := fmt.Sprintf("%d-%d", info.Size(), info.ModTime().UnixNano())
	if at, underWay := atWork(s.dir); underWay {
		for _, l := range at.Looks {
			revision += fmt.Sprintf("-%d", l.Time.UnixNano())
		}
	}
	return revision
}

// current is the page as the ledger has it now, made at most once a second however many
// ask for it.
func (s *onlooker) current() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	revision := s.revisionNow()
	if s.text != nil && (revision == s.revision || time.Since(s.made) < look) {
		return s.text, nil
	}
	st, err := store.OpenReadOnly(s.dir)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	var looks []runtime.Event
	if at, underWay := atWork(s.dir); underWay {
		looks = at.Looks
	}
	edges, err := edgesOf(st, s.vars)
	if err != nil {
		return nil, err
	}
	m, err := page.Of(st, edges, looks)
	if err != nil {
		return nil, err
	}
	m.Revision, s.took = revision, map[string]took{}
	for _, l := range st.Launches(store.LaunchFilter{OK: true}) {
		of := s.took[l.Node+" "+l.Variant]
		s.took[l.Node+" "+l.Variant] = took{of.launches + 1, of.seconds + l.Seconds}
	}
	var text bytes.Buffer
	if err := page.Write(&text, m); err != nil {
		return nil, err
	}
	s.text, s.revision, s.made = text.Bytes(), revision, time.Now()
	return s.text, nil
}

// shown is what an open page is told.
type shown struct {
	Revision string `json:"revision"`
	// Line is what goes on now, empty where nothing does; Log the last line of an engine
	// that starts.
	Line string `json:"line"`
	Log  string `json:"log,omitempty"`
	Made int    `json:"made"`
	Left int    `json:"left"`
	// Gone is how long the launch in hand goes on, Takes what launches of its variant took
	// on average; 0 where none was made.
	Gone  int `json:"gone,omitempty"`
	Takes int `json:"takes,omitempty"`
}

// events tells an open page what goes on, whenever that changes.
func (s *onlooker) events(w http.ResponseWriter, r *http.Request) {
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
	for told := ""; ; {
		data, err := json.Marshal(s.now())
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
		case <-tick.C:
		}
	}
}

// now is how the run stands. A page that is older than the ledger is due anew.
func (s *onlooker) now() shown {
	state := shown{Revision: s.revisionNow()}
	at, underWay := atWork(s.dir)
	if !underWay {
		return state
	}
	state.Line, state.Made, state.Left = status(at.Event), at.Made, at.Left
	if at.Loading != nil {
		state.Line, state.Log = loadingWords(at.Loading, at.Seconds)+" · "+state.Line, at.Loading.Log
	}
	if !at.Began.IsZero() {
		s.mu.Lock()
		of := s.took[at.Node+" "+at.Variant]
		s.mu.Unlock()
		if gone := time.Since(at.Began).Seconds(); of.launches > 0 {
			takes := of.seconds / float64(of.launches)
			state.Gone, state.Takes = int(min(gone, takes)), int(math.Ceil(takes))
			state.Line += " · " + tell.Rough(gone) + " of about " + tell.Rough(takes)
		} else {
			state.Line += " · " + tell.Rough(gone)
		}
	}
	state.Line += " · " + left(at.ETALeast, at.ETA)
	return state
}

// progress is what a run under way says of itself.
type progress struct {
	runtime.Event
	// Began is when the launch in hand did; absent while there is none.
	Began time.Time `json:"began,omitzero"`
	// Looks are where the tests of the sessions under way stand, one a feature.
	Looks []runtime.Event `json:"looks,omitempty"`
}

// atWork is what the run under way on a state directory said of itself last.
func atWork(dir string) (at progress, underWay bool) {
	held, by, err := store.AtWork(dir)
	if err != nil || !held || by == nil || by.Run == nil {
		return at, false
	}
	text, err := store.Progress(dir, *by.Run)
	if err != nil || json.Unmarshal(text, &at) != nil || at.Type == "run_done" {
		return at, false
	}
	return at, true
}

// recorder keeps where a run is for mxflow serve to read. It writes when a node, a launch
// or a stage begins or ends, for each new line of an engine that starts, and after a
// round of a session; nothing while a launch is measured.
type recorder struct {
	apply.Observer
	app *app
	dir string
	// serve, where set, shows the run from its begin to its end; done ends that.
	serve func() (done func())
	done  func()

	mu  sync.Mutex
	run string
	// launch is the newest event with the place in the plan that later ones of it lack.
	launch runtime.Event
	began  time.Time
	looks  []runtime.Event
}

func (r *recorder) Begin(s apply.Start) {
	r.mu.Lock()
	r.run = s.Run
	r.mu.Unlock()
	r.Observer.Begin(s)
	if r.serve != nil {
		r.done = r.serve()
	}
}

func (r *recorder) End(res *apply.Result) {
	r.Observer.End(res)
	if r.done != nil {
		r.done()
	}
}

func (r *recorder) Event(ev runtime.Event) {
	r.keep(ev)
	r.Observer.Event(ev)
}

func (r *recorder) keep(ev runtime.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch ev.Type {
	case "launch_started":
		r.launch, r.began = ev, ev.Time
	case "level_started":
		r.launch = ev
	case "launch_ready", "stage_started", "launch_loading":
		// These say less of where they belong.
		launch := r.launch
		launch.Seconds, launch.ETALeast, launch.ETA = ev.Seconds, ev.ETALeast, ev.ETA
		if ev.Type != "launch_ready" && ev.Loading != nil {
			// A log's name is an identity, and this is its text.
			loading := *ev.Loading
			loading.Log = r.app.secrets.Text(loading.Log)
			launch.Loading = &loading
		}
		ev = launch
	case "looked":
		r.looks = append(slices.DeleteFunc(r.looks, func(l runtime.Event) bool { return l.Feature == ev.Feature }), ev)
		r.began = time.Time{}
	case "node_started", "node_done":
		r.looks = slices.DeleteFunc(r.looks, func(l runtime.Event) bool { return l.Node == ev.Node })
		r.began = time.Time{}
	case "run_done":
		r.looks = nil
	default:
		return
	}
	// Reasons and messages may hold what nobody should keep, and the ledger has them.
	kept := progress{Began: r.began, Looks: r.looks, Event: runtime.Event{
		Time: ev.Time, Type: ev.Type, Run: r.run, Node: ev.Node, Phase: ev.Phase, Feature: ev.Feature, Level: ev.Level, Variant: ev.Variant, Loading: ev.Loading,
		Launch: ev.Launch, Launches: ev.Launches, LaunchesLeast: ev.LaunchesLeast, Again: ev.Again, Seconds: ev.Seconds, ETALeast: ev.ETALeast, ETA: ev.ETA, Made: ev.Made, Left: ev.Left,
	}}
	said, err := json.Marshal(r.app.secrets.Any(kept, apply.Identities...))
	if err == nil {
		err = store.KeepProgress(r.dir, r.run, said)
	}
	_ = err // it is for onlookers: a run does not end for want of them
}

// serveBeside starts mxflow serve on a state directory, in a process of its own, so that the
// measuring client shares neither scheduler nor garbage collector with it. It ends with
// this process, since its standard input does.
func (a *app) serveBeside(dir string) (done func()) {
	fail := func(err error) func() {
		fmt.Fprintf(a.stderr, "note: --serve does not serve: %v\n", err)
		return func() {}
	}
	program, err := os.Executable()
	if err != nil {
		return fail(err)
	}
	c := exec.Command(program, "serve", "--child", "--state", dir)
	c.Stderr = a.stderr
	stdin, err := c.StdinPipe()
	if err != nil {
		return fail(err)
	}
	stdout, err := c.StdoutPipe()
	if err != nil {
		return fail(err)
	}
	if err := c.Start(); err != nil {
		return fail(err)
	}
	if address, err := bufio.NewReader(stdout).ReadString('\n'); err == nil {
		fmt.Fprint(a.stderr, "serving "+address)
	}
	return func() {
		_ = stdin.Close()
		_ = c.Wait()
	}
}
