package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"
)

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

// refuse answers 429 to the first requests, where the fault says so. Requests for
// one token are not among them: whoever looks whether the engine answers would
// use up what is meant for those that measure it.
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

// completeOne answers one request. The error is for the log: the client has
// been told, or has left.
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
	err := engine.generate(r.Context(), g, func(p piece) error {
		reasoning.WriteString(p.reasoning)
		text.WriteString(p.text)
		last = p
		return nil
	})
	if err != nil {
		tellFailure(w, err)
		return abortReason(r.Context(), err)
	}
	response.Choices = []onlyChoice{d.wholeChoice(reasoning.String(), text.String(), last.finish)}
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
		g, e := q.generation(prompt, max(s.config.MaxModelLen-len(prompt), 1), s.config.MaxModelLen)
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
	if e := s.checkTokens("prompt", prompt); e != nil {
		return generation{}, e
	}
	return q.generation(prompt, 16, s.config.MaxModelLen)
}

func (s *server) checkTokens(param string, tokens []token) *apiError {
	for _, t := range tokens {
		if t < 0 || int(t) >= s.tk.size() {
			return badRequest(param, "token id %d is out of the vocabulary (0 to %d)", t, s.tk.size()-1)
		}
	}
	return nil
}

// renderChat is the chat template: a role token and the content for each
// message, then the token that opens the model's turn.
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

// tellFailure answers 500 when nothing was sent yet; a client that left does
// not hear it.
func tellFailure(w http.ResponseWriter, err error) {
	writeError(w, &apiError{http.StatusInternalServerError, "InternalServerError", err.Error(), ""})
}

// abortReason says who ended a request.
func abortReason(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		return fmt.Errorf("aborted: the client disconnected or the engine is stopping (%w)", err)
	}
	return err
}
