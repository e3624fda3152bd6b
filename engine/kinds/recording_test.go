package kinds_test

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/mxflow/mxflow/engine"
)

// Recording is the behaviour of a server of one kind: how it becomes ready, its pages and streams, its log, how
// it breaks. It was derived from the source and the logs of the version in Of.
type Recording struct {
	Kind, Of, Model string
	// Starting is logged before the port is open, Loaded once the model is.
	Starting, Loaded string
	// Loading is the answer of every page to its first Asks requests.
	Loading *struct {
		Status, Asks int
		Body         string
	}
	// Pages by method and path: "GET /health". The first matching answer is given.
	Pages map[string]struct {
		Loads   bool // the model, by this request
		Answers []struct {
			Times  int   // that it is given; 0 is unlimited
			Loaded *bool // only before or after the model was loaded
			Status int
			Body   string
		}
	}
	// Streams by path: "/v1/completions".
	Streams map[string]RecordedStream
	Crashes map[string]RecordedCrash
	// Expect is how all of it is to be understood.
	Expect struct {
		// ReadyAfter are the requests that must have been made before it is ready, at least so often.
		ReadyAfter      map[string]int `yaml:"ready_after"`
		Observed, Texts map[string]string
		// Prompt, Output and Cached are token counts of both streams; -1 is unknown. Tokens are those of
		// the tokenizer page; 0 if there is none.
		Prompt, Output, Cached, Tokens int
	}
}

// RecordedStream is a streamed answer. Refuses maps unknown members of a request to the server's answer, which
// has status 422.
type RecordedStream struct {
	Refuses map[string]string
	Events  string
}

// RecordedCrash is one way to break: While "starting", when a page "loads" the model, or on the first "request".
type RecordedCrash struct {
	While, Log string
	Status     int
	// Answer is the response of a server that survives: with status 500 to the page that loads, as the whole
	// stream to a request.
	Answer string
	// Class and Line must be recognised: the class, and part of the line.
	Class, Line string
}

//go:embed testdata/recorded/*.yaml
var recorded embed.FS

// Recordings are the names of all recordings, each a kind.
func Recordings() (kinds []string) {
	files, err := recorded.ReadDir("testdata/recorded")
	if err != nil {
		panic(err) // they are part of the binary
	}
	for _, f := range files {
		kinds = append(kinds, strings.TrimSuffix(f.Name(), ".yaml"))
	}
	return kinds
}

// ReadRecording reads the recording of a kind. Unknown members are an error.
func ReadRecording(kind string) (Recording, error) {
	var r Recording
	text, err := recorded.ReadFile(path.Join("testdata/recorded", kind+".yaml"))
	if err != nil {
		return r, fmt.Errorf("there is no recording of kind %q", kind)
	}
	dec := yaml.NewDecoder(strings.NewReader(string(text)))
	dec.KnownFields(true)
	if err := dec.Decode(&r); err != nil {
		return r, fmt.Errorf("the recording of kind %q: %w", kind, err)
	}
	return r, nil
}

// replayEnv makes this process a server that plays a recording: "<kind>" or "<kind>:<crash>".
const replayEnv = "MXFLOW_REPLAY"

// Replay is the Spec of a server that behaves as recorded, of that kind, and breaks in
// the way of a named crash. TestMain starts it.
func Replay(kind, crash string) engine.Spec {
	role := kind
	if crash != "" {
		role += ":" + crash
	}
	r, _ := ReadRecording(kind) // one that is missing shows when it is launched
	return engine.Spec{
		Kind: kind, Model: r.Model, Command: []string{"{mxflow}", "{port}"}, Env: map[string]string{replayEnv: role},
		ReadyTimeout: time.Minute, StopGrace: time.Minute,
	}
}

// ReplayState is the requests to a replayed server, by "METHOD /path", and whether its
// model is loaded. It is served at /__replay, which does not count as a request.
type ReplayState struct {
	Loaded bool           `json:"loaded"`
	Asked  map[string]int `json:"asked"`
}

// ReplayStateOf gets the state of a replayed server.
func ReplayStateOf(baseURL string) (s ReplayState, err error) {
	answer, err := http.Get(baseURL + "/__replay")
	if err != nil {
		return s, err
	}
	defer answer.Body.Close()
	return s, json.NewDecoder(answer.Body).Decode(&s)
}

// player is a server that plays a recording.
type player struct {
	Recording
	crash RecordedCrash // the zero value is none

	mu    sync.Mutex
	state ReplayState
	// given counts answers by page and position.
	given map[string]int
}

// replay is the whole life of a replayed server.
func replay(role string) error {
	kind, name, _ := strings.Cut(role, ":")
	r, err := ReadRecording(kind)
	if err != nil {
		return err
	}
	p := &player{Recording: r, state: ReplayState{Asked: map[string]int{}}, given: map[string]int{}}
	if name != "" {
		c, ok := r.Crashes[name]
		if !ok {
			return fmt.Errorf("the recording of %s has no crash %q", kind, name)
		}
		p.crash = c
	}
	fmt.Fprint(os.Stderr, r.Starting)
	if p.crash.While == "starting" {
		os.Exit(p.die())
	}
	loads := r.Loading != nil
	for _, page := range r.Pages {
		loads = loads || page.Loads
	}
	if !loads {
		p.load()
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", os.Args[1]))
	if err != nil {
		return err
	}
	return http.Serve(l, p)
}

func (p *player) die() int {
	fmt.Fprint(os.Stderr, p.crash.Log)
	return p.crash.Status
}

// load is called once, with the lock held or before there is a server.
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
	page := p.Pages[ask]
	if page.Loads && p.crash.While == "loads" {
		p.die()
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(w, p.crash.Answer)
		return
	}
	if page.Loads {
		p.load()
	}
	for i, a := range page.Answers {
		key := fmt.Sprint(ask, i)
		if a.Times > 0 && p.given[key] >= a.Times || a.Loaded != nil && *a.Loaded != p.state.Loaded {
			continue
		}
		p.given[key]++
		w.WriteHeader(cmp.Or(a.Status, http.StatusOK))
		fmt.Fprint(w, a.Body)
		return
	}
	w.WriteHeader(http.StatusNotFound)
	fmt.Fprint(w, `{"detail":"Not Found"}`)
}

// stream sends each event separately, as servers do.
func (p *player) stream(w http.ResponseWriter, s RecordedStream, request map[string]json.RawMessage) {
	for member, refusal := range s.Refuses {
		if _, asked := request[member]; asked {
			w.WriteHeader(http.StatusUnprocessableEntity)
			fmt.Fprint(w, refusal)
			return
		}
	}
	if p.crash.While == "request" {
		status := p.die()
		if p.crash.Answer == "" {
			os.Exit(status)
		}
		s.Events = p.crash.Answer
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	flush := http.NewResponseController(w).Flush
	for event := range strings.SplitSeq(strings.TrimSpace(s.Events), "\n\n") {
		fmt.Fprint(w, event, "\n\n")
		_ = flush()
	}
}
