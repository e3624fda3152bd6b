package embedded

import (
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// server answers the HTTP API. It listens before the model is loaded; until
// then everything that needs the model answers 503.
type server struct {
	config   Config
	tk       *tokenizer
	log      io.Writer
	engine   atomic.Pointer[scheduler] // nil while loading
	requests atomic.Uint64
	long     atomic.Uint64 // of them, those for more than one token
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
	mux.HandleFunc("POST /detokenize", s.detokenize)
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

func (s *server) detokenize(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Tokens []token `json:"tokens"`
	}
	if e := readJSON(w, r, &q); e != nil {
		writeError(w, e)
		return
	}
	if e := s.checkTokens("tokens", q.Tokens); e != nil {
		writeError(w, e)
		return
	}
	writeJSON(w, http.StatusOK, map[string]string{"prompt": s.tk.decode(q.Tokens)})
}
