package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/pflag"
)

// server serves the HTTP API. It listens before the model is loaded; until then
// everything that needs the model gets 503.
type server struct {
	config   Config
	tk       *tokenizer
	log      *log.Logger
	engine   atomic.Pointer[scheduler] // nil while loading
	requests atomic.Uint64
	long     atomic.Uint64 // of them, those for more than one token
	profiles int           // written so far; guarded by the turn
	started  time.Time
}

func newServer(config Config, to io.Writer) *server {
	return &server{
		config: config, tk: newCorpusTokenizer(), log: log.New(to, "[embedded] ", 0), started: time.Now(),
	}
}

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /health", s.withEngine(func(http.ResponseWriter, *http.Request, *scheduler) error { return nil }))
	mux.HandleFunc("GET /v1/models", s.models)
	mux.HandleFunc("POST /tokenize", s.tokenize)
	mux.Handle("POST /v1/completions", s.complete(false))
	mux.Handle("POST /v1/chat/completions", s.complete(true))
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]string{"version": Version})
	})
	mux.Handle("GET /metrics", s.withEngine(func(w http.ResponseWriter, _ *http.Request, engine *scheduler) error {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		engine.metrics.write(w)
		return nil
	}))
	if s.config.ProfilerDir != "" {
		mux.Handle("POST /start_profile", s.profile(true))
		mux.Handle("POST /stop_profile", s.profile(false))
	}
	return mux
}

// withEngine is a handler that needs the model, and answers 503 while that is loading. The client sees the error.
func (s *server) withEngine(handle func(http.ResponseWriter, *http.Request, *scheduler) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var err error = &apiError{http.StatusServiceUnavailable, "the model is still loading", ""}
		if engine := s.engine.Load(); engine != nil {
			err = handle(w, r, engine)
		}
		if err != nil {
			writeError(w, err)
		}
	}
}

func (s *server) models(w http.ResponseWriter, _ *http.Request) {
	card := map[string]any{
		"id": s.config.ServedModelName, "object": "model", "created": s.started.Unix(), "owned_by": "mxflow",
		"max_model_len": s.config.MaxModelLen, // tokens
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{card}})
}

func (s *server) tokenize(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Prompt *string `json:"prompt"`
	}
	err := readJSON(w, r, &q)
	if err == nil && q.Prompt == nil {
		err = badRequest("prompt", "the request has no prompt")
	}
	if err != nil {
		writeError(w, err)
		return
	}
	tokens := append([]token{}, s.tk.encode(*q.Prompt)...)
	writeJSON(w, http.StatusOK,
		map[string]any{"count": len(tokens), "tokens": tokens, "max_model_len": s.config.MaxModelLen})
}

// shutdownGrace is how long a stop waits for handlers to return. Their contexts are
// cancelled at once, so it only matters for a client that does not read its answer.
const shutdownGrace = 500 * time.Millisecond

// Serve is `mxflow engine serve`: it parses args and environment, listens, constructs the
// model and answers until ctx ends, which is a clean stop and returns nil. The log goes
// to stderr, help to stdout.
func Serve(ctx context.Context, args []string, env func(string) string, stdout, stderr io.Writer) error {
	config, err := parseConfig(args, env, stdout)
	if errors.Is(err, pflag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	return serve(ctx, config, stderr, os.Exit, nil)
}

// serve runs a parsed configuration. exit ends the process in the crash fault; listening,
// if not nil, receives the address.
func serve(ctx context.Context, config Config, stderr io.Writer, exit func(int), listening func(net.Addr)) error {
	s := newServer(config, stderr)
	listener, err := net.Listen("tcp", net.JoinHostPort(config.Host, strconv.Itoa(config.Port)))
	if err != nil {
		return fmt.Errorf("cannot listen: %w", err)
	}
	s.log.Printf("version %s, vectors: %s", Version, vectors)
	s.log.Printf("listening on http://%s", listener.Addr())
	if listening != nil {
		listening(listener.Addr())
	}
	requests, cancel := context.WithCancel(ctx)
	defer cancel()
	web := &http.Server{
		Handler:           s.handler(),
		BaseContext:       func(net.Listener) context.Context { return requests },
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          s.log,
	}
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	if err := s.load(exit); err != nil {
		_ = web.Close()
		<-served
		return err
	}
	select {
	case err = <-served:
		return fmt.Errorf("the HTTP server ended: %w", err)
	case <-ctx.Done():
	}
	s.log.Print("stopping")
	grace, done := context.WithTimeout(context.Background(), shutdownGrace)
	defer done()
	if web.Shutdown(grace) != nil {
		_ = web.Close()
	}
	<-served
	s.log.Print("stopped")
	return nil
}

func (s *server) load(exit func(int)) error {
	c := s.config
	if c.Faults["oom"] > 0 {
		s.log.Printf("ERROR torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a " +
			"total capacity of 1.00 GiB of which 0.12 GiB is free. (fault oom)")
		return errors.New("loading failed: out of memory (fault oom)")
	}
	m, err := newModel(c, s.log)
	if err != nil {
		return fmt.Errorf("loading failed: %w", err)
	}
	s.log.Printf("Model loading took %.4f GiB and %.3f seconds", float64(m.weights.bytes())/(1<<30),
		time.Since(s.started).Seconds())
	if c.KVCache {
		perToken := 2 * m.shape.layers * m.shape.kvDims() * 4 // keys and values in float32
		s.log.Printf("KV cache size: %d tokens (%d bytes a token)",
			c.kvTokens(), perToken)
	} else {
		s.log.Print("KV cache disabled")
	}
	if c.Faults["never_ready"] > 0 {
		s.log.Print("WARNING staying unready (fault never_ready)")
		return nil
	}
	engine := newScheduler(m, exit)
	if c.Autotune {
		var where string
		engine.tuned, where = Tune(c.CacheDir, rand.IntN)
		s.log.Printf("[Autotuner]: %s takes %.2f of its time, %s", tunedOp, engine.tuned, where)
	}
	s.engine.Store(engine)
	s.log.Print("Application startup complete.")
	return nil
}

func (s *server) complete(chat bool) http.HandlerFunc {
	return s.withEngine(func(w http.ResponseWriter, r *http.Request, engine *scheduler) error {
		a := &response{s: s, w: w, chat: chat, frame: completion{
			ID: fmt.Sprintf("cmpl-%08x", s.requests.Add(1)), Object: "text_completion", Created: time.Now().Unix(),
			Model: s.config.ServedModelName,
		}}
		if chat {
			a.frame.ID, a.frame.Object = "chat"+a.frame.ID, "chat.completion"
		}
		err := a.answer(engine, r)
		if err == nil {
			engine.metrics.succeeded.Add(1)
			return nil
		}
		engine.metrics.failed.Add(1)
		said := err
		if r.Context().Err() != nil || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
			said = fmt.Errorf("aborted: the client disconnected or the engine is stopping (%w)", err)
		}
		s.log.Printf("request %s failed: %v", a.frame.ID, said)
		if !a.begun {
			return err
		}
		if r.Context().Err() == nil {
			_ = a.send(errorBody(err))
		}
		return nil
	})
}

// response is the answer to a request on its way.
type response struct {
	generation
	s     *server
	w     http.ResponseWriter
	chat  bool
	begun bool // the status has been sent: what goes wrong from now on is an event
	frame completion
}

func (a *response) answer(engine *scheduler, r *http.Request) error {
	s := a.s
	if s.config.Faults["http_500"] > 0 {
		return errors.New("internal error (fault http_500)")
	}
	q := completionRequest{sampling: sampling{Temperature: 1, TopP: 1, RepetitionPenalty: 1}} // vLLM's defaults
	err := readJSON(a.w, r, &q)
	if err != nil {
		return err
	}
	if a.generation, err = q.generation(s.config, s.tk, a.chat); err != nil {
		return err
	}
	// Requests for one token do not count: checks whether the engine answers would use up
	// what is meant for the measuring ones.
	if n := s.config.Faults["retry_after"]; a.maxTokens > 1 && s.long.Add(1) <= uint64(n) {
		a.w.Header().Set("Retry-After", "0")
		return &apiError{
			http.StatusTooManyRequests, fmt.Sprintf("the first %d requests are refused (fault retry_after)", n), "",
		}
	}
	if q.Stream {
		return a.stream(engine, r, &q)
	}
	var all piece
	total, err := engine.generate(r.Context(), a.generation, func(p piece) error {
		all.text, all.finish = all.text+p.text, p.finish
		all.listed, all.prompt = append(all.listed, p.listed...), append(all.prompt, p.prompt...)
		return nil
	})
	if err != nil {
		return err
	}
	choice := a.choice(all)
	of := a.listing.ofPrompt(s.tk, a.prompt, all.prompt)
	if a.chat {
		choice.Message, choice.Delta, a.frame.promptLogProbs = &message{"assistant", all.text}, nil, of
	} else {
		choice.promptLogProbs = of
	}
	a.frame.Choices, a.frame.Usage = []onlyChoice{choice}, total
	a.w.Header().Set("Content-Type", "application/json")
	a.begun = true
	return a.write("%s\n", a.frame)
}

// choice is a piece as a stream's event has it.
func (a *response) choice(p piece) onlyChoice {
	c := onlyChoice{Text: &p.text}
	if a.chat {
		c = onlyChoice{Delta: &delta{Content: p.text}}
	}
	if p.finish != "" {
		c.FinishReason = &p.finish
	}
	a.listing.write(&c, a.chat, a.s.tk, p.listed)
	return c
}

// stream answers with one event per step, which is one token, or several if drafted ones
// were right. Chat streams open with the role, as vLLM's do. After the last token comes,
// on request, an event with the usage and no choice, and always [DONE].
func (a *response) stream(engine *scheduler, r *http.Request, q *completionRequest) error {
	a.begun = true
	a.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	a.w.Header().Set("Cache-Control", "no-cache")
	if a.chat {
		a.frame.Object += ".chunk"
	}
	send := func(usage *usage, choices ...onlyChoice) error {
		a.frame.Choices, a.frame.Usage = append([]onlyChoice{}, choices...), usage
		return a.send(a.frame)
	}
	open := !a.chat
	total, err := engine.generate(r.Context(), a.generation, func(p piece) error {
		var before, so *usage
		if q.StreamOptions.ContinuousUsageStats {
			before, so = newUsage(p.usage.PromptTokens, 0, p.usage.PromptDetails.CachedTokens), p.usage
		}
		if !open {
			open = true
			if err := send(before, onlyChoice{Delta: &delta{Role: "assistant"}}); err != nil {
				return err
			}
		}
		return send(so, a.choice(p))
	})
	if err == nil && q.StreamOptions.IncludeUsage {
		err = send(total)
	}
	if err == nil {
		_, err = io.WriteString(a.w, "data: [DONE]\n\n")
	}
	return err
}

// send flushes each event, so a client's clock sees every token when it is made.
func (a *response) send(event any) error {
	if err := a.write("data: %s\n\n", event); err != nil {
		return err
	}
	return http.NewResponseController(a.w).Flush()
}

// write writes JSON, or the first half of it.
func (a *response) write(format string, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if a.s.config.Faults["malformed"] > 0 {
		body = body[:len(body)/2]
	}
	_, err = fmt.Fprintf(a.w, format, body)
	return err
}

// usage is the server's own count of tokens.
type usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
	PromptDetails    struct {
		CachedTokens int `json:"cached_tokens"` // found in the prefix cache: none with the cache off
	} `json:"prompt_tokens_details"`
}

func newUsage(prompt, answer, cached int) *usage {
	u := &usage{PromptTokens: prompt, CompletionTokens: answer, TotalTokens: prompt + answer}
	u.PromptDetails.CachedTokens = cached
	return u
}

// completion is a response of either endpoint, whole or one stream event.
type completion struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"` // Unix seconds
	Model   string       `json:"model"`
	Choices []onlyChoice `json:"choices"`
	Usage   *usage       `json:"usage,omitempty"`
	promptLogProbs
}

// onlyChoice is the only choice of a response. Text belongs to completions,
// Message to whole chat responses and Delta to chat stream events.
type onlyChoice struct {
	Index        int             `json:"index"`
	Text         *string         `json:"text,omitempty"`
	Message      *message        `json:"message,omitempty"`
	Delta        *delta          `json:"delta,omitempty"`
	Logprobs     *choiceLogProbs `json:"logprobs"`
	FinishReason *string         `json:"finish_reason"`
	TokenIDs     []token         `json:"token_ids,omitempty"`
	promptLogProbs
}

type delta struct {
	Role    string `json:"role,omitempty"`
	Content string `json:"content"`
}
