package embedded

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"github.com/viterin/vek"
)

// server serves the HTTP API. It listens before the model is loaded; until then
// everything that needs the model gets 503.
type server struct {
	config   Config
	tk       *tokenizer
	log      io.Writer
	engine   atomic.Pointer[scheduler] // nil while loading
	requests atomic.Uint64
	long     atomic.Uint64 // of them, those for more than one token
	profiles int           // written so far; guarded by the turn
	started  time.Time
}

func newServer(config Config, log io.Writer) *server {
	return &server{config: config, tk: newCorpusTokenizer(), log: log, started: time.Now()}
}

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", s.health)
	mux.HandleFunc("GET /version", s.version)
	mux.HandleFunc("GET /metrics", s.prometheus)
	mux.HandleFunc("GET /v1/models", s.models)
	mux.HandleFunc("POST /tokenize", s.tokenize)
	if s.config.ProfilerDir != "" {
		mux.HandleFunc("POST /start_profile", s.startProfile)
		mux.HandleFunc("POST /stop_profile", s.stopProfile)
	}
	mux.HandleFunc("POST /v1/completions", s.complete(textDialect))
	mux.HandleFunc("POST /v1/chat/completions", s.complete(chatDialect))
	return mux
}

// ready returns the engine, or answers 503 and returns nil.
func (s *server) ready(w http.ResponseWriter) *scheduler {
	engine := s.engine.Load()
	if engine == nil {
		writeError(w, &apiError{http.StatusServiceUnavailable, "ServiceUnavailableError", "the model is still loading", ""})
	}
	return engine
}

// health answers 200 with an empty body once the model is loaded.
func (s *server) health(w http.ResponseWriter, _ *http.Request) {
	if s.ready(w) != nil {
		w.WriteHeader(http.StatusOK)
	}
}

func (s *server) version(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]string{"version": Version})
}

func (s *server) prometheus(w http.ResponseWriter, _ *http.Request) {
	if engine := s.ready(w); engine != nil {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		engine.metrics.write(w)
	}
}

func (s *server) models(w http.ResponseWriter, _ *http.Request) {
	type card struct {
		ID          string `json:"id"`
		Object      string `json:"object"`
		Created     int64  `json:"created"` // Unix seconds
		OwnedBy     string `json:"owned_by"`
		MaxModelLen int    `json:"max_model_len"` // tokens
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"object": "list",
		"data":   []card{{s.config.ServedModelName, "model", s.started.Unix(), "mxflow", s.config.MaxModelLen}},
	})
}

func (s *server) tokenize(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Prompt   *string   `json:"prompt"`
		Messages []message `json:"messages"`
	}
	if e := readJSON(w, r, &q); e != nil {
		writeError(w, e)
		return
	}
	tokens := []token{}
	switch {
	case q.Prompt != nil:
		tokens = append(tokens, s.tk.encode(*q.Prompt)...)
	default:
		rendered, e := renderChat(s.tk, q.Messages)
		if e != nil {
			writeError(w, badRequest("prompt", "the request has neither a prompt nor messages that can be rendered: %s", e.message))
			return
		}
		tokens = rendered
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"count": len(tokens), "tokens": tokens, "max_model_len": s.config.MaxModelLen,
	})
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
	log := &lineLog{out: stderr}
	listener, err := net.Listen("tcp", net.JoinHostPort(config.Host, strconv.Itoa(config.Port)))
	if err != nil {
		return fmt.Errorf("cannot listen: %w", err)
	}
	fmt.Fprintf(log, "[embedded] version %s, vectors: %s\n", Version, vectorBackend())
	fmt.Fprintf(log, "[embedded] listening on http://%s\n", listener.Addr())
	if listening != nil {
		listening(listener.Addr())
	}
	requests, cancel := context.WithCancel(ctx)
	defer cancel()
	s := newServer(config, log)
	web := &http.Server{
		Handler:           s.handler(),
		BaseContext:       func(net.Listener) context.Context { return requests },
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          stdlog.New(log, "[embedded] http: ", 0),
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
	fmt.Fprintf(log, "[embedded] stopping\n")
	grace, done := context.WithTimeout(context.Background(), shutdownGrace)
	defer done()
	if web.Shutdown(grace) != nil {
		_ = web.Close()
	}
	<-served
	fmt.Fprintf(log, "[embedded] stopped\n")
	return nil
}

// load constructs the model and opens the API.
func (s *server) load(exit func(int)) error {
	faults := s.config.Faults
	if faults.OOM {
		fmt.Fprintf(s.log, "[embedded] ERROR torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 1.00 GiB of which 0.12 GiB is free. (fault oom)\n")
		return errors.New("loading failed: out of memory (fault oom)")
	}
	m, err := newModel(s.config, s.log)
	if err != nil {
		return fmt.Errorf("loading failed: %w", err)
	}
	fmt.Fprintf(s.log, "[embedded] Model loading took %.4f GiB and %.3f seconds\n", float64(m.weights.bytes())/(1<<30), time.Since(s.started).Seconds())
	if s.config.KVCache {
		perToken := 2 * m.shape.layers * m.shape.kvDims() * 4 // keys and values in float32
		fmt.Fprintf(s.log, "[embedded] KV cache size: %d tokens (%d bytes a token)\n", s.config.MaxNumSeqs*s.config.MaxModelLen, perToken)
		if s.config.KVFormat == KVInt8 {
			fmt.Fprintf(s.log, "[embedded] KV cache format: %s (a scale for each head and token, held as float32)\n", s.config.KVFormat)
		}
	} else {
		fmt.Fprintf(s.log, "[embedded] KV cache disabled\n")
	}
	if s.config.PrefixCache {
		fmt.Fprintf(s.log, "[embedded] Prefix cache size: %d tokens\n", s.config.PrefixCacheTokens/blockTokens*blockTokens)
	}
	if faults.NeverReady {
		fmt.Fprintf(s.log, "[embedded] WARNING staying unready (fault never_ready)\n")
		return nil
	}
	engine := newScheduler(m, s.log, exit)
	if s.config.Autotune {
		var where string
		engine.tuned, where = Tune(s.config.CacheDir, rand.IntN)
		fmt.Fprintf(s.log, "[embedded] [Autotuner]: %s takes %.2f of its time, %s\n", tunedOp, engine.tuned, where)
	}
	s.engine.Store(engine)
	fmt.Fprintf(s.log, "[embedded] Application startup complete.\n")
	return nil
}

func vectorBackend() string {
	if vek.Info().Acceleration {
		return "vek AVX2"
	}
	return "vek pure Go"
}

// lineLog serialises the lines of concurrent requests.
type lineLog struct {
	mu  sync.Mutex
	out io.Writer
}

func (l *lineLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}

// complete serves both completion endpoints.
func (s *server) complete(d dialect) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		engine := s.ready(w)
		if engine == nil {
			return
		}
		ordinal := s.requests.Add(1)
		id := fmt.Sprintf("%s%08x", d.idPrefix, ordinal)
		err := s.completeOne(engine, d, id, w, r)
		if err == nil {
			engine.metrics.succeeded.Add(1)
			return
		}
		engine.metrics.failed.Add(1)
		fmt.Fprintf(s.log, "[embedded] request %s failed: %v\n", id, err)
	}
}

// refuse answers 429 to the first requests, if the fault is set. Requests for one token
// do not count: checks whether the engine answers would use up what is meant for the
// measuring ones.
func (s *server) refuse(g generation, w http.ResponseWriter) error {
	faults := s.config.Faults
	if faults.Refuse == 0 || g.maxTokens < 2 || s.long.Add(1) > uint64(faults.Refuse) {
		return nil
	}
	e := &apiError{http.StatusTooManyRequests, "RateLimitError", fmt.Sprintf("the first %d requests are refused (fault retry_after)", faults.Refuse), ""}
	w.Header().Set("Retry-After", strconv.Itoa(faults.RetryAfter))
	writeError(w, e)
	return e
}

// completeOne answers one request. The error is for the log: the client has received it,
// or has left.
func (s *server) completeOne(engine *scheduler, d dialect, id string, w http.ResponseWriter, r *http.Request) error {
	if s.config.Faults.HTTP500 {
		e := &apiError{http.StatusInternalServerError, "InternalServerError", "internal error (fault http_500)", ""}
		writeError(w, e)
		return e
	}
	var q completionRequest
	if e := readJSON(w, r, &q); e != nil {
		writeError(w, e)
		return e
	}
	g, e := s.translate(d, &q)
	if e != nil {
		writeError(w, e)
		return e
	}
	if err := s.refuse(g, w); err != nil {
		return err
	}
	response := completion{ID: id, Object: d.whole, Created: time.Now().Unix(), Model: s.config.ServedModelName}
	if q.Stream {
		response.Object = d.event
		return s.stream(engine, d, g, q.StreamOptions, response, w, r)
	}
	var reasoning, text strings.Builder
	var last piece
	var listed, prompt []position
	err := engine.generate(r.Context(), g, func(p piece) error {
		reasoning.WriteString(p.reasoning)
		text.WriteString(p.text)
		listed, prompt = append(listed, p.listed...), append(prompt, p.prompt...)
		last = p
		return nil
	})
	if err != nil {
		tellFailure(w, err)
		return abortReason(r.Context(), err)
	}
	choice := d.wholeChoice(reasoning.String(), text.String(), last.finish)
	g.listing.write(&choice, d.chat, s.tk, listed)
	if of := g.listing.ofPrompt(s.tk, g.prompt, prompt); d.chat {
		response.promptLogProbs = of
	} else {
		choice.promptLogProbs = of
	}
	response.Choices = []onlyChoice{choice}
	response.Usage = g.usage(last.cached, last.count)
	if s.config.Faults.Malformed {
		body, _ := json.Marshal(response)
		w.Header().Set("Content-Type", "application/json")
		_, err = w.Write(body[:len(body)/2])
		return err
	}
	writeJSON(w, http.StatusOK, response)
	return nil
}

// translate renders the prompt and checks the request.
func (s *server) translate(d dialect, q *completionRequest) (generation, *apiError) {
	if q.Model != "" && q.Model != s.config.ServedModelName {
		return generation{}, &apiError{http.StatusNotFound, "NotFoundError", fmt.Sprintf("the model %q does not exist: this engine serves %q", q.Model, s.config.ServedModelName), "model"}
	}
	if d.chat {
		prompt, e := renderChat(s.tk, q.Messages)
		if e != nil {
			return generation{}, e
		}
		g, e := q.generation(prompt, max(s.config.MaxModelLen-len(prompt), 1), s.config.MaxModelLen, true)
		g.reasoning = s.config.Reasoning
		return g, e
	}
	if !q.Prompt.given {
		return generation{}, badRequest("prompt", "the request has no prompt")
	}
	prompt := q.Prompt.tokens
	if prompt == nil {
		prompt = s.tk.encode(q.Prompt.text)
	}
	if e := s.checkTokens(prompt); e != nil {
		return generation{}, e
	}
	return q.generation(prompt, 16, s.config.MaxModelLen, false)
}

func (s *server) checkTokens(tokens []token) *apiError {
	for _, t := range tokens {
		if t < 0 || int(t) >= s.tk.size() {
			return badRequest("prompt", "token id %d is out of the vocabulary (0 to %d)", t, s.tk.size()-1)
		}
	}
	return nil
}

// renderChat is the chat template: a role token and the content per message, then the
// token that opens the model's turn.
func renderChat(tk *tokenizer, messages []message) ([]token, *apiError) {
	if len(messages) == 0 {
		return nil, badRequest("messages", "the request has no messages")
	}
	opening := map[string]token{"system": systemToken, "developer": systemToken, "user": userToken, "assistant": replyToken}
	var prompt []token
	for i, m := range messages {
		role, known := opening[m.Role]
		if !known {
			return nil, badRequest("messages", "message %d has the role %q: use system, user or assistant", i, m.Role)
		}
		prompt = append(append(prompt, role), tk.encode(string(m.Content))...)
		if role == replyToken {
			prompt = append(prompt, eosToken)
		}
	}
	return append(prompt, replyToken), nil
}

// tellFailure answers 500 if nothing was sent yet; a client that left does not receive
// it.
func tellFailure(w http.ResponseWriter, err error) {
	writeError(w, &apiError{http.StatusInternalServerError, "InternalServerError", err.Error(), ""})
}

// abortReason is who ended a request.
func abortReason(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		return fmt.Errorf("aborted: the client disconnected or the engine is stopping (%w)", err)
	}
	return err
}

// usage is the server's own count of tokens.
type usage struct {
	PromptTokens      int                `json:"prompt_tokens"`
	CompletionTokens  int                `json:"completion_tokens"`
	TotalTokens       int                `json:"total_tokens"`
	PromptDetails     promptDetails      `json:"prompt_tokens_details"`
	CompletionDetails *completionDetails `json:"completion_tokens_details,omitempty"`
}

// promptDetails has the tokens found in the prefix cache: none with the cache off.
type promptDetails struct {
	CachedTokens int `json:"cached_tokens"`
}

// completionDetails exists if answers start with reasoning.
type completionDetails struct {
	ReasoningTokens int `json:"reasoning_tokens"`
}

// usage counts a request of which count tokens were generated.
func (g *generation) usage(cached, count int) *usage {
	u := &usage{
		PromptTokens: len(g.prompt), CompletionTokens: count, TotalTokens: len(g.prompt) + count,
		PromptDetails: promptDetails{cached},
	}
	if g.reasoning > 0 {
		u.CompletionDetails = &completionDetails{min(g.reasoning, count)}
	}
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
	Message      *said           `json:"message,omitempty"`
	Delta        *said           `json:"delta,omitempty"`
	Logprobs     *choiceLogProbs `json:"logprobs"`
	FinishReason *string         `json:"finish_reason"`
	TokenIDs     []token         `json:"token_ids,omitempty"`
	promptLogProbs
}

type said struct {
	Role      string  `json:"role,omitempty"`
	Reasoning string  `json:"reasoning_content,omitempty"`
	Content   *string `json:"content,omitempty"`
}

// dialect is the differences between the two endpoints.
type dialect struct {
	idPrefix, whole, event string
	chat                   bool
}

var (
	textDialect = dialect{"cmpl-", "text_completion", "text_completion", false}
	chatDialect = dialect{"chatcmpl-", "chat.completion", "chat.completion.chunk", true}
)

func (d dialect) wholeChoice(reasoning, text, finish string) onlyChoice {
	if d.chat {
		return onlyChoice{Message: &said{Role: "assistant", Reasoning: reasoning, Content: &text}, FinishReason: &finish}
	}
	return onlyChoice{Text: &text, FinishReason: &finish}
}

// eventChoice is one piece of a stream. While there is only reasoning, chat events have
// no content, as in vLLM.
func (d dialect) eventChoice(p piece) onlyChoice {
	c := onlyChoice{Text: &p.text}
	if d.chat {
		c = onlyChoice{Delta: &said{Reasoning: p.reasoning, Content: &p.text}}
		if p.reasoning != "" && p.text == "" {
			c.Delta.Content = nil
		}
	}
	if p.finish != "" {
		c.FinishReason = &p.finish
	}
	return c
}

// roleChoice opens a chat stream.
func roleChoice() onlyChoice {
	empty := ""
	return onlyChoice{Delta: &said{Role: "assistant", Content: &empty}}
}

// eventWriter writes server-sent events and flushes each one, so a client's clock sees
// every token when it is made.
type eventWriter struct {
	w         http.ResponseWriter
	flusher   *http.ResponseController
	malformed bool
	buffer    bytes.Buffer
}

func (e *eventWriter) send(event any) error {
	body, err := json.Marshal(event)
	if err != nil {
		return err
	}
	if e.malformed {
		body = body[:len(body)/2]
	}
	return e.sendRaw(body)
}

func (e *eventWriter) sendRaw(body []byte) error {
	e.buffer.Reset()
	e.buffer.WriteString("data: ")
	e.buffer.Write(body)
	e.buffer.WriteString("\n\n")
	if _, err := e.w.Write(e.buffer.Bytes()); err != nil {
		return err
	}
	return e.flusher.Flush()
}

// stream answers with one event per step, which is one token, or several if drafted ones
// were right. Chat streams open with the role, as vLLM's do. After the last token comes,
// on request, an event with the usage and no choice, and always [DONE].
func (s *server) stream(engine *scheduler, d dialect, g generation, options *streamOptions, frame completion, w http.ResponseWriter, r *http.Request) error {
	if options == nil {
		options = &streamOptions{}
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	events := &eventWriter{w: w, flusher: http.NewResponseController(w), malformed: s.config.Faults.Malformed}
	send := func(c onlyChoice, cached, count int) error {
		frame.Choices = []onlyChoice{c}
		frame.Usage = nil
		if options.ContinuousUsageStats {
			frame.Usage = g.usage(cached, count)
		}
		return events.send(frame)
	}
	var last piece
	err := engine.generate(r.Context(), g, func(p piece) error {
		if d.chat && last.count == 0 {
			if err := send(roleChoice(), p.cached, 0); err != nil {
				return err
			}
		}
		last = p
		choice := d.eventChoice(p)
		g.listing.write(&choice, d.chat, s.tk, p.listed)
		return send(choice, p.cached, p.count)
	})
	if err != nil {
		if r.Context().Err() == nil {
			_ = events.send(map[string]any{"error": map[string]any{"message": err.Error(), "type": "InternalServerError", "code": 500}})
		}
		return abortReason(r.Context(), err)
	}
	if options.IncludeUsage {
		frame.Choices, frame.Usage = []onlyChoice{}, g.usage(last.cached, last.count)
		if err := events.send(frame); err != nil {
			return err
		}
	}
	return events.sendRaw([]byte("[DONE]"))
}
