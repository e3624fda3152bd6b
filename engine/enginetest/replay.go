package enginetest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine"
)

// replayRole begins the role of a fake engine that plays a recording:
// "replay:<kind>" or "replay:<kind>:<crash>".
const replayRole = "replay:"

// Replay is the Spec of a server that behaves as recorded, of that kind. With
// the name of a crash it breaks so. It works in test binaries whose TestMain is
// Main.
func Replay(kind, crash string) engine.Spec {
	role := replayRole + kind
	if crash != "" {
		role += ":" + crash
	}
	r, _ := ReadRecording(kind) // one that is missing shows when it is launched
	return engine.Spec{
		Kind: kind, Model: r.Model, Command: []string{"{mxflow}", "{port}"}, Env: map[string]string{fakeEnv: role},
		ReadyTimeout: time.Minute, StopGrace: time.Minute,
	}
}

// ReplayState is what a replayed server has been asked, by "METHOD /path", and
// whether its model is loaded. It answers it at /__replay, which is no question.
type ReplayState struct {
	Loaded bool           `json:"loaded"`
	Asked  map[string]int `json:"asked"`
}

// ReplayStateOf asks a replayed server.
func ReplayStateOf(baseURL string) (s ReplayState, err error) {
	text, err := get(baseURL + "/__replay")
	if err == nil {
		err = json.Unmarshal([]byte(text), &s)
	}
	return s, err
}

// player is a server that plays a recording.
type player struct {
	Recording
	crash *RecordedCrash

	mu    sync.Mutex
	state ReplayState
	// given counts answers by page and position.
	given map[string]int
}

// replay is the whole life of a replayed server; the result is its exit status.
func replay(role string) int {
	kind, name, _ := strings.Cut(strings.TrimPrefix(role, replayRole), ":")
	r, err := ReadRecording(kind)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	p := &player{Recording: r, state: ReplayState{Asked: map[string]int{}}, given: map[string]int{}}
	if name != "" {
		c, ok := r.Crashes[name]
		if !ok {
			fmt.Fprintf(os.Stderr, "the recording of %s has no crash %q\n", kind, name)
			return 1
		}
		p.crash = &c
	}
	fmt.Fprint(os.Stderr, r.Starting)
	if p.crash != nil && p.crash.While == "starting" {
		return p.die()
	}
	loads := r.Loading != nil
	for _, page := range r.Pages {
		loads = loads || page.Loads
	}
	if !loads {
		p.load()
	}
	l, err := net.Listen("tcp", "127.0.0.1:"+os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Fprintln(os.Stderr, http.Serve(l, p))
	return 1
}

func (p *player) die() int {
	fmt.Fprint(os.Stderr, p.crash.Log)
	return p.crash.Status
}

// load is called once, with the lock or before there is a server.
func (p *player) load() {
	if !p.state.Loaded {
		p.state.Loaded = true
		fmt.Fprint(os.Stderr, p.Loaded)
	}
}

// ServeHTTP implements http.Handler.
func (p *player) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == "/__replay" {
		_ = json.NewEncoder(w).Encode(p.state)
		return
	}
	ask := r.Method + " " + r.URL.Path
	p.state.Asked[ask]++
	if p.Loading != nil && !p.state.Loaded {
		if p.given["loading"]++; p.given["loading"] <= p.Loading.Asks {
			w.WriteHeader(p.Loading.Status)
			fmt.Fprint(w, p.Loading.Body)
			return
		}
		p.load()
	}
	body, _ := io.ReadAll(r.Body)
	var request map[string]json.RawMessage
	_ = json.Unmarshal(body, &request)
	if stream, ok := p.Streams[r.URL.Path]; ok && string(request["stream"]) == "true" {
		p.stream(w, stream, request)
		return
	}
	page, ok := p.Pages[ask]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"detail":"Not Found"}`)
		return
	}
	if page.Loads {
		p.load()
	}
	p.answer(w, ask, page)
}

func (p *player) answer(w http.ResponseWriter, ask string, page RecordedPage) {
	for i, a := range page.Answers {
		key := fmt.Sprint(ask, i)
		if a.Times > 0 && p.given[key] >= a.Times || a.Loaded != nil && *a.Loaded != p.state.Loaded {
			continue
		}
		p.given[key]++
		if a.Status != 0 {
			w.WriteHeader(a.Status)
		}
		fmt.Fprint(w, a.Body)
		return
	}
	w.WriteHeader(http.StatusInternalServerError)
}

// stream sends each event by itself, as servers do.
func (p *player) stream(w http.ResponseWriter, s RecordedStream, request map[string]json.RawMessage) {
	for member, refusal := range s.Refuses {
		if _, asked := request[member]; asked {
			w.WriteHeader(http.StatusUnprocessableEntity)
			fmt.Fprint(w, refusal)
			return
		}
	}
	if p.crash != nil && p.crash.While == "request" {
		os.Exit(p.die())
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	flush := http.NewResponseController(w).Flush
	for event := range strings.SplitSeq(strings.TrimSpace(s.Events), "\n\n") {
		fmt.Fprint(w, event, "\n\n")
		_ = flush()
	}
}
