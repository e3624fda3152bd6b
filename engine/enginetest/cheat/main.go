// Command cheat is an engine under test that lies. It knows how numbers are made to
// look good (docs/trust.md), one mode each, beside honest controls. It computes
// nothing: its answers are words that follow each other as in a shipped text, at
// its own pace. It is for tests, which start it as parent and as candidate, and is
// not part of the product.
//
//	cheat --port N
//
// MXFLOW_CHEAT is the mode: see modes. MXFLOW_CHEAT_DIR is a folder in which a mode
// may remember what it has seen from one launch to the next.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// mode is how the server deviates from an honest one; the zero value is the parent's.
type mode struct {
	// pace is the time per token relative to the parent's, first that of the first one. 0
	// is 1.
	pace, first float64
	// say modifies an answer before it is sent.
	say func(a *answer)
	// log is printed when the server starts, line before its first answer: only in the
	// first launch if once is set.
	log, line string
	once      bool
	// differs is the share of positions at which the model takes another token than the
	// parent's, opening what every answer begins with.
	differs float64
	opening string
	// dies ends the server after so many requests of a benchmark.
	dies int64
	// computes makes each token take two threads' work instead of time.
	computes bool
	// leaves leaves a daemon that hinders engines of these modes.
	leaves string
	// begins runs when the server starts, ends when it is asked to end.
	begins, ends func()
}

// answer is one answer to be sent.
type answer struct {
	s      *server
	r      *request
	prompt string
	pieces []string
	// wait is before the first piece, gap before each other; held holds all back until
	// the last is due and last delays that one.
	wait, gap, last time.Duration
	held            bool
	// ahead are pieces sent on arrival, as text of a choice.
	ahead  []string
	choice int
	// joined is how many pieces one event has; 0 is one.
	joined int
	// prompted, generated and cached are the counts in usage.
	prompted, generated int
	cached              int
}

// request is the part of a request that is read.
type request struct {
	Prompt      any       `json:"prompt"`
	Messages    []message `json:"messages"`
	MaxTokens   int       `json:"max_tokens"`
	IgnoreEOS   bool      `json:"ignore_eos"`
	Temperature float64   `json:"temperature"`
	Options     struct {
		Continuous bool `json:"continuous_usage_stats"`
	} `json:"stream_options"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func (r request) text() string {
	var b strings.Builder
	if s, ok := r.Prompt.(string); ok {
		b.WriteString(s)
	}
	for _, m := range r.Messages {
		b.WriteString(m.Content + "\n")
	}
	return b.String()
}

const (
	// gap and prefill are the honest parent's times per token of an answer and of a
	// prompt, drift is how much faster one launch is than another.
	gap     = 2 * time.Millisecond
	prefill = 100 * time.Microsecond
	drift   = 0.004
)

// openings are those of one model, which is nearly as fond of one as of the other.
var openings = []string{" Certainly, here is more:", " Naturally, here is more:"}

type server struct {
	mode
	lang     *language
	speed    float64
	requests atomic.Int64
	dir      string
	// asked are the texts that it was asked to count.
	asked sync.Map
	// launch is how many of its mode were before it in dir.
	launch int
}

func main() {
	if len(os.Args) == 5 && os.Args[1] == daemonArg {
		hinder(os.Args[2:])
		return
	}
	port := flag.Int("port", 0, "listen on 127.0.0.1 at this port")
	flag.Parse()
	name := os.Getenv("MXFLOW_CHEAT")
	m, ok := modes[name]
	if !ok && name != "" {
		log.Fatalf("unknown mode %q", name)
	}
	s := &server{mode: m, lang: english(), speed: 1 + drift*(2*rand.Float64()-1), dir: os.Getenv("MXFLOW_CHEAT_DIR")}
	for name != "" && s.remembered(fmt.Sprint(name, s.launch)) {
		s.launch++
	}
	if s.log != "" {
		fmt.Println(s.log)
	}
	if s.leaves != "" {
		leaveDaemon(s.leaves)
	}
	if s.begins != nil {
		s.begins()
	}
	if s.ends != nil {
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		go func() {
			<-asked
			s.ends()
			os.Exit(0)
		}()
	}
	http.HandleFunc("/health", func(http.ResponseWriter, *http.Request) {})
	http.HandleFunc("/v1/models", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"data":[{"id":"imitation"}]}`) })
	http.HandleFunc("/v1/completions", func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, "text") })
	http.HandleFunc("/v1/chat/completions", func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, "chat") })
	// The mode's lies do not reach it: its honest parent counts again.
	http.HandleFunc("/tokenize", func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Prompt string }
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.asked.Store(q.Prompt, true)
		fmt.Fprintf(w, `{"count": %d}`, s.lang.count(q.Prompt))
	})
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.Serve(listener, nil))
}

// serve answers one request as the mode wants it.
func (s *server) serve(w http.ResponseWriter, r *http.Request, api string) {
	arrived := time.Now()
	var q request
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if s.requests.Add(1) == 1 {
		fmt.Printf("engaged mode %q\n", os.Getenv("MXFLOW_CHEAT"))
		if s.line != "" && !(s.once && s.remembered(s.line)) {
			fmt.Println(s.line)
		}
	}
	text := q.text()
	a := &answer{s: s, r: &q, prompt: text, prompted: s.lang.count(text)}
	a.pieces = s.pieces(text, q)
	a.generated = len(a.pieces)
	a.gap = s.time(gap, s.pace)
	a.wait = s.time(time.Duration(a.prompted)*prefill+gap, s.first)
	if s.say != nil {
		s.say(a)
	}
	if s.dies > 0 && q.IgnoreEOS && s.requests.Load() > s.dies {
		fmt.Println("CUDA error: an illegal memory access was encountered")
		os.Exit(1)
	}
	a.send(w, arrived, api)
}

// pieces is the honest answer of the mode's model.
func (s *server) pieces(text string, q request) []string {
	if strings.Contains(text, "capital of France") {
		return []string{" Paris", "."}
	}
	n := q.MaxTokens
	if n <= 0 {
		n = 64
	}
	opening := s.lang.tokens(s.opens(text))
	differs := s.differs
	if q.Temperature > 0 { // sampled
		differs = max(differs, 0.4*q.Temperature*rand.Float64())
	}
	return append(opening, s.lang.answer(text+strings.Join(opening, ""), n, differs)...)[:n]
}

// opens is what is missing of the opening, which may be sent back in part.
func (s *server) opens(text string) string {
	for _, o := range openings {
		first, _, _ := strings.Cut(o, ",")
		if i := strings.LastIndex(text, first); i >= 0 {
			rest, _ := strings.CutPrefix(o, text[i:])
			return strings.TrimPrefix(rest, o)
		}
	}
	return s.opening
}

func (s *server) time(d time.Duration, share float64) time.Duration {
	if share == 0 {
		share = 1
	}
	return time.Duration(float64(d) * share * s.speed)
}

// send writes the stream. Every piece has its own time, counted from the arrival, so no
// overlong wait delays the next.
func (a *answer) send(w http.ResponseWriter, arrived time.Time, api string) {
	w.Header().Set("Content-Type", "text/event-stream")
	flush := w.(http.Flusher).Flush
	joined := max(a.joined, 1)
	events := (len(a.pieces) + joined - 1) / joined
	due := func(i int) time.Duration {
		at := a.wait + time.Duration(i*joined)*a.gap
		if a.held {
			at = a.wait + time.Duration(len(a.pieces)-1)*a.gap
		}
		if i == events-1 {
			at += a.last
		}
		return at
	}
	for _, text := range a.ahead {
		a.write(w, map[string]any{"id": "x", "object": "text_completion", "choices": []any{map[string]any{"index": a.choice, "text": text}}})
		flush()
	}
	for i := range events {
		if a.s.computes && i > 0 {
			compute()
		} else {
			time.Sleep(time.Until(arrived.Add(due(i))))
		}
		text := strings.Join(a.pieces[i*joined:min((i+1)*joined, len(a.pieces))], "")
		choice := map[string]any{"index": 0, "text": text}
		if api == "chat" {
			choice = map[string]any{"index": 0, "delta": map[string]any{"content": text}}
		}
		if i == events-1 {
			choice["finish_reason"] = "length"
		}
		event := map[string]any{"id": "x", "object": "text_completion", "choices": []any{choice}}
		if a.r.Options.Continuous && a.generated == len(a.pieces) {
			event["usage"] = a.usage(min((i+1)*joined, len(a.pieces)))
		}
		a.write(w, event)
		flush()
	}
	a.write(w, map[string]any{"id": "x", "object": "text_completion", "choices": []any{}, "usage": a.usage(a.generated)})
	fmt.Fprint(w, "data: [DONE]\n\n")
	flush()
}

func (a *answer) usage(generated int) map[string]any {
	return map[string]any{
		"prompt_tokens": a.prompted, "completion_tokens": generated, "total_tokens": a.prompted + generated,
		"prompt_tokens_details": map[string]any{"cached_tokens": a.cached},
	}
}

func (a *answer) write(w http.ResponseWriter, event any) {
	data, err := json.Marshal(event)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprintf(w, "data: %s\n\n", data)
}

// remembered reports whether the answer to a prompt was given before, by any launch that
// uses the folder, and remembers it.
func (s *server) remembered(text string) bool {
	if s.dir == "" {
		return false
	}
	path := filepath.Join(s.dir, fmt.Sprintf("%x", hashOf(text)))
	_, err := os.Stat(path)
	if err == nil {
		return true
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		log.Fatal(err)
	}
	return false
}
