// Package lies has an imitation of an engine, which the tests measure in place of one: it computes nothing, and
// answers with words that follow each other as in a shipped text, sent by the clock, to make its numbers look good.
package lies

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mxflow/mxflow/engine/embedded"
)

const (
	envLie    = "MXFLOW_EMBEDDED_LIE"
	envLieDir = "MXFLOW_EMBEDDED_LIE_DIR"
)

// Serve is `mxflow engine serve` in a build with the tag lies: the embedded engine, or an imitation if a lie is
// named.
func Serve(ctx context.Context, args []string, env func(string) string, stdout, stderr io.Writer) error {
	name := env(envLie)
	if name == "" {
		return embedded.Serve(ctx, args, env, stdout, stderr)
	}
	port := slices.Index(args, "--port") + 1
	if _, known := lies[name]; !known || port == 0 || port == len(args) {
		return fmt.Errorf("%s=%q with %q: use --port and one of %s", envLie, name, args,
			strings.Join(slices.Sorted(maps.Keys(lies)), ", "))
	}
	s := newImitation(name, env(envLieDir), stderr)
	if s.begins != nil {
		if err := s.begins(s.folder); err != nil {
			return err
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+args[port])
	if err != nil {
		return err
	}
	fmt.Fprintf(stderr, "[lies] %s on http://%s\n", name, listener.Addr())
	web := &http.Server{Handler: s.handler()}
	defer context.AfterFunc(ctx, func() { _ = web.Close() })()
	if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	if s.ends != nil {
		return s.ends()
	}
	return nil
}

type imitation struct {
	lie
	name     string
	folder   string // what launches share
	launch   int    // how many of its lie were before it in the folder
	lang     *language
	speed    float64
	requests atomic.Int64
	asked    sync.Map // the texts that it was asked to count
	log      io.Writer
}

func newImitation(name, folder string, log io.Writer) *imitation {
	s := &imitation{
		lie: lies[name], name: name, folder: folder, lang: english(), speed: 1 + drift*(2*rand.Float64()-1), log: log,
	}
	for s.remembered(fmt.Sprint(name, s.launch)) {
		s.launch++
	}
	if s.logs != "" {
		fmt.Fprintln(log, s.logs)
	}
	return s
}

// request holds the fields of both completion endpoints that make a difference.
type request struct {
	Prompt              string    `json:"prompt"`
	Messages            []message `json:"messages"`
	MaxTokens           *int      `json:"max_tokens"`
	MaxCompletionTokens *int      `json:"max_completion_tokens"`
	IgnoreEOS           bool      `json:"ignore_eos"`
	Temperature         float64   `json:"temperature"`
	Stream              bool      `json:"stream"`
	StreamOptions       struct {
		IncludeUsage         bool `json:"include_usage"`
		ContinuousUsageStats bool `json:"continuous_usage_stats"`
	} `json:"stream_options"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// usage is the count that the server claims.
type usage struct {
	Prompt    int            `json:"prompt_tokens"`
	Generated int            `json:"completion_tokens"`
	Total     int            `json:"total_tokens"`
	Details   map[string]int `json:"prompt_tokens_details"`
}

func newUsage(prompt, generated, cached int) *usage {
	return &usage{prompt, generated, prompt + generated, map[string]int{"cached_tokens": cached}}
}

// piece is an event of an answer.
type piece struct {
	text      string
	choice    int
	reasoning bool
	finish    string // "", or why it is the last
	usage     *usage // up to here; nil where there is no count
}

func (s *imitation) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, map[string]any{"object": "list", "data": []any{
			map[string]any{"id": "mxflow-embedded", "object": "model", "max_model_len": 8192},
		}})
	})
	// An honest parent counts again, so this does not lie.
	mux.HandleFunc("POST /tokenize", func(w http.ResponseWriter, r *http.Request) {
		var q request
		if readJSON(w, r, &q) {
			s.asked.Store(q.Prompt, true)
			writeJSON(w, map[string]int{"count": s.lang.count(q.Prompt)})
		}
	})
	mux.HandleFunc("POST /v1/completions", func(w http.ResponseWriter, r *http.Request) { s.complete(w, r, false) })
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) { s.complete(w, r, true) })
	return mux
}

func readJSON(w http.ResponseWriter, r *http.Request, q *request) bool {
	err := json.NewDecoder(r.Body).Decode(q)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
	return err == nil
}

func writeJSON(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body) // the client may have left
}

// complete answers a request, as a whole or by events, of which a chat's first one has the role only.
func (s *imitation) complete(w http.ResponseWriter, r *http.Request, chat bool) {
	var q request
	if !readJSON(w, r, &q) {
		return
	}
	object := "text_completion"
	if chat {
		object = "chat.completion"
	}
	frame := func(u *usage, choices ...map[string]any) map[string]any {
		f := map[string]any{
			"id": "cmpl-1", "object": object, "model": "mxflow-embedded", "created": time.Now().Unix(),
			"choices": append([]map[string]any{}, choices...),
		}
		if u != nil {
			f["usage"] = u
		}
		return f
	}
	if !q.Stream {
		var whole, finish string
		u, err := s.generate(r.Context(), &q, func(p piece) error {
			whole, finish = whole+p.text, p.finish
			return nil
		})
		choice := map[string]any{"index": 0, "text": whole, "finish_reason": finish}
		if chat {
			choice = map[string]any{"index": 0, "message": message{"assistant", whole}, "finish_reason": finish}
		}
		if err == nil {
			writeJSON(w, frame(u, choice))
		}
		return
	}
	if chat {
		object += ".chunk"
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	send := func(u *usage, choices ...map[string]any) error {
		data, err := json.Marshal(frame(u, choices...))
		if err == nil {
			_, err = fmt.Fprintf(w, cmp.Or(s.frame, "data: %s\n\n"), data)
		}
		return errors.Join(err, http.NewResponseController(w).Flush())
	}
	open := !chat
	u, err := s.generate(r.Context(), &q, func(p piece) error {
		if !q.StreamOptions.ContinuousUsageStats {
			p.usage = nil
		}
		if !open {
			open = true
			begun := p.usage
			if begun != nil {
				begun = newUsage(begun.Prompt, 0, begun.Details["cached_tokens"])
			}
			delta := map[string]string{"role": "assistant", "content": ""}
			role := map[string]any{"index": 0, "delta": delta, "finish_reason": nil}
			if err := send(begun, role); err != nil {
				return err
			}
		}
		choice := map[string]any{"index": p.choice, "finish_reason": nil}
		if p.finish != "" {
			choice["finish_reason"] = p.finish
		}
		switch {
		case p.reasoning:
			choice["delta"] = map[string]string{"content": "", "reasoning_content": p.text}
		case chat:
			choice["delta"] = map[string]string{"content": p.text}
		default:
			choice["text"] = p.text
		}
		return send(p.usage, choice)
	})
	if err == nil && q.StreamOptions.IncludeUsage {
		err = send(u)
	}
	if err == nil {
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}
}

// reply is an answer on its way.
type reply struct {
	s      *imitation
	q      *request
	prompt string
	pieces []string // a token each
	// wait is before the first piece, gap before each other, last one more before the last.
	wait, gap, last time.Duration
	// ahead are pieces sent on arrival, as text of a choice.
	ahead  []string
	choice int
	finish string // why it ended; empty is its length
	// prompted, generated and cached are the counts in usage.
	prompted, generated, cached int
	stream
}

const (
	// honestGap and prefill are the honest parent's times per token of an answer and of a
	// prompt, drift is how much faster one launch is than another.
	honestGap = 2 * time.Millisecond
	prefill   = 100 * time.Microsecond
	drift     = 0.004
	// stall is the wait before one token.
	stall = 20 * time.Millisecond
)

// openings are those of one model, which is nearly as fond of one as of the other.
var openings = []string{" Certainly, here is more:", " Naturally, here is more:"}

// generate sends an answer. Every piece has its own time, counted from the arrival, so no
// overlong wait delays the next.
func (s *imitation) generate(ctx context.Context, q *request, emit func(piece) error) (*usage, error) {
	arrived := time.Now()
	n := s.requests.Add(1)
	if n == max(s.loadsAt, 1) {
		time.Sleep(s.loads)
	}
	if n == 1 {
		fmt.Fprintf(s.log, "engaged mode %q\n", s.name)
		if s.line != "" && !(s.once && s.remembered(s.line)) {
			fmt.Fprintln(s.log, s.line)
		}
	}
	a := s.reply(q)
	if of := s.of; of == nil && benchmark(a) || of != nil && of(a) {
		a.stream = s.lie.stream
		if s.stretch > 0 {
			a.gap = time.Duration(float64(a.gap) * s.stretch)
		}
		if s.change != nil {
			s.change(a)
		}
	}
	if s.dies > 0 && a.q.IgnoreEOS && s.requests.Load() > s.dies {
		fmt.Fprintln(s.log, "CUDA error: an illegal memory access was encountered")
		os.Exit(1)
	}
	for _, text := range a.ahead {
		if err := emit(piece{text: text, choice: a.choice}); err != nil {
			return nil, err
		}
	}
	for joined, i := max(a.joined, 1), 0; i < len(a.pieces); i += joined {
		end := min(i+joined, len(a.pieces))
		due := a.wait + time.Duration(i)*a.gap
		if a.held {
			due = a.wait + time.Duration(len(a.pieces)-1)*a.gap
		}
		if a.paused > 0 && i >= a.paused {
			due += stall
		}
		p := piece{
			text: strings.Join(a.pieces[i:end], ""), reasoning: i >= a.reasoning[0] && i < a.reasoning[1],
		}
		if end == len(a.pieces) {
			due, p.finish = due+a.last, cmp.Or(a.finish, "length")
		}
		if a.generated == len(a.pieces) && !a.uncounted {
			said := end
			if m := a.miscounted; end >= m.from && end <= m.to {
				said = m.said
			}
			p.usage = newUsage(a.prompted, said, a.cached)
		}
		select {
		case <-time.After(time.Until(arrived.Add(due))):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if err := emit(p); err != nil {
			return nil, err
		}
	}
	return newUsage(a.prompted, a.generated, a.cached), nil
}

// reply is the honest one of its model.
func (s *imitation) reply(q *request) *reply {
	text := q.Prompt
	for _, m := range q.Messages {
		text += m.Content + "\n"
	}
	a := &reply{s: s, q: q, prompt: text, prompted: s.lang.count(text), pieces: s.pieces(text, q)}
	a.generated = len(a.pieces)
	a.wait, a.gap = s.time(time.Duration(a.prompted)*prefill+honestGap, s.first), s.time(honestGap, s.pace)
	return a
}

// pieces is the honest answer of its model.
func (s *imitation) pieces(text string, q *request) []string {
	if strings.Contains(text, "capital of France") {
		return []string{" Paris", "."}
	}
	n := 64
	for _, most := range []*int{q.MaxTokens, q.MaxCompletionTokens} {
		if most != nil {
			n = *most
		}
	}
	opening := s.lang.tokens(s.opens(text))
	differs := s.differs
	if q.Temperature > 0 && !s.greedy { // sampled
		differs = max(differs, 0.4*q.Temperature*rand.Float64())
	}
	if s.noise > 0 { // otherwise at each request
		var said []string
		for range n {
			differs := 0.0
			if rand.Float64() < s.noise {
				differs = 1
			}
			said = append(said, s.lang.answer(text+strings.Join(said, ""), 1, differs)...)
		}
		return said
	}
	return append(opening, s.lang.answer(text+strings.Join(opening, ""), n, differs)...)[:n]
}

// opens is what is missing of the opening, which may be sent back in part.
func (s *imitation) opens(text string) string {
	for _, o := range openings {
		first, _, _ := strings.Cut(o, ",")
		if i := strings.LastIndex(text, first); i >= 0 {
			rest, _ := strings.CutPrefix(o, text[i:])
			return strings.TrimPrefix(rest, o)
		}
	}
	return s.opening
}

func (s *imitation) time(d time.Duration, share float64) time.Duration {
	if share == 0 {
		share = 1
	}
	return time.Duration(float64(d) * share * s.speed)
}

// remembered reports whether a text was seen before, by any launch that uses the folder,
// and remembers it.
func (s *imitation) remembered(text string) bool {
	if s.folder == "" {
		return false
	}
	path := filepath.Join(s.folder, fmt.Sprintf("%x", hashOf(text)))
	if _, err := os.Stat(path); err == nil {
		return true
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		fmt.Fprintln(s.log, err)
	}
	return false
}

func hashOf(text string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, text)
	return h.Sum64()
}
