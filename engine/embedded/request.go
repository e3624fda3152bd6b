package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// completionRequest holds the fields of both completion endpoints. Unknown fields are
// ignored, as in the real servers.
type completionRequest struct {
	Model               string          `json:"model"`
	Prompt              promptField     `json:"prompt"`
	Messages            []message       `json:"messages"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	N                   *int            `json:"n"`
	Stop                any             `json:"stop"`
	Echo                bool            `json:"echo"`
	Logprobs            json.RawMessage `json:"logprobs"` // a number in completions, a boolean in chats
	TopLogprobs         *int            `json:"top_logprobs"`
	PromptLogprobs      *int            `json:"prompt_logprobs"`
	TokensAsIDs         bool            `json:"return_tokens_as_token_ids"`
	ReturnTokenIDs      bool            `json:"return_token_ids"`
	Stream              bool            `json:"stream"`
	StreamOptions       struct {
		IncludeUsage         bool `json:"include_usage"`
		ContinuousUsageStats bool `json:"continuous_usage_stats"`
	} `json:"stream_options"`
	sampling
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// promptField is a string or a list of token ids.
type promptField struct {
	text   string
	tokens []token // set when the prompt came as ids
}

func (p *promptField) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &p.text) == nil || json.Unmarshal(data, &p.tokens) == nil {
		return nil
	}
	return badRequest("prompt",
		"prompt must be one string or one list of token ids; send several prompts as several requests")
}

const maxBody = 16 << 20

func readJSON(w http.ResponseWriter, r *http.Request, into any) error {
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(into)
	if own := (*apiError)(nil); err == nil || errors.As(err, &own) {
		return err
	}
	return badRequest("", "the request body is not the JSON that this endpoint reads: %v", err)
}

// generation renders the prompt, checks the request and translates it. Ranges are vLLM's.
func (q *completionRequest) generation(c Config, tk *tokenizer, chat bool) (g generation, err error) {
	if q.Model != "" && q.Model != c.ServedModelName {
		return g, &apiError{
			http.StatusNotFound,
			fmt.Sprintf("the model %q does not exist: this engine serves %q", q.Model, c.ServedModelName), "model",
		}
	}
	g = generation{maxTokens: 16, sampling: q.sampling}
	if chat {
		if g.prompt, err = renderChat(tk, q.Messages); err != nil {
			return g, err
		}
		g.maxTokens = max(c.MaxModelLen-len(g.prompt), 1)
	} else if g.prompt = q.Prompt.tokens; g.prompt == nil {
		g.prompt = tk.encode(q.Prompt.text)
	}
	for _, t := range g.prompt {
		if t < 0 || int(t) >= tk.size() {
			return g, badRequest("prompt", "token id %d is out of the vocabulary (0 to %d)", t, tk.size()-1)
		}
	}
	given(&g.maxTokens, q.MaxTokens)
	given(&g.maxTokens, q.MaxCompletionTokens)
	if g.listing, err = q.listing(chat); err != nil {
		return g, err
	}
	one, total := 1, len(g.prompt)+g.maxTokens
	given(&one, q.N)
	switch {
	case one != 1 || q.Stop != nil || q.Echo:
		return g, badRequest("n", "this engine writes one answer per request, and knows neither stop strings nor echo")
	case len(g.prompt) == 0:
		return g, badRequest("prompt", "the prompt is empty: it needs at least one token")
	case g.maxTokens < 1 || g.MinTokens < 0 || g.MinTokens > g.maxTokens:
		return g, badRequest("max_tokens",
			"max_tokens must be at least 1, got %d, and min_tokens between 0 and it, got %d", g.maxTokens, g.MinTokens)
	case total > c.MaxModelLen:
		return g,
			badRequest("max_tokens",
				"this model's maximum context length is %d tokens, but the request asks for %d (%d in the prompt, %d "+
					"to generate): raise --max-model-len", c.MaxModelLen, total, len(g.prompt), g.maxTokens)
	case !(g.Temperature >= 0 && g.Temperature <= 2):
		return g, badRequest("temperature", "temperature must be between 0 and 2, got %v", g.Temperature)
	case !(g.TopP > 0 && g.TopP <= 1) || !(g.MinP >= 0 && g.MinP <= 1) || g.TopK < -1:
		return g, badRequest("top_p",
			"top_p must be above 0 and at most 1, min_p between 0 and 1, top_k at least 1, or 0 or -1 for all tokens")
	case !(g.RepetitionPenalty > 0 && g.RepetitionPenalty <= 2):
		return g,
			badRequest("repetition_penalty", "repetition_penalty must be above 0 and at most 2, got %v",
				g.RepetitionPenalty)
	}
	return g, nil
}

func given[T any](at, value *T) {
	if value != nil {
		*at = *value
	}
}

// renderChat is the chat template: a role token and the content per message, then the
// token that opens the model's turn.
func renderChat(tk *tokenizer, messages []message) ([]token, error) {
	if len(messages) == 0 {
		return nil, badRequest("messages", "the request has no messages")
	}
	opening := map[string]token{
		"system": systemToken, "developer": systemToken, "user": userToken,
		"assistant": replyToken,
	}
	var prompt []token
	for i, m := range messages {
		role, known := opening[m.Role]
		if !known {
			return nil, badRequest("messages", "message %d has the role %q: use system, user or assistant", i, m.Role)
		}
		prompt = append(append(prompt, role), tk.encode(m.Content)...)
		if role == replyToken {
			prompt = append(prompt, eosToken)
		}
	}
	return append(prompt, replyToken), nil
}

// apiError is an error that a client sees, as OpenAI and vLLM write it.
type apiError struct {
	status  int
	message string
	param   string // the field that is wrong, if it is one
}

func (e *apiError) Error() string { return e.message }

func badRequest(param, format string, args ...any) error {
	return &apiError{http.StatusBadRequest, fmt.Sprintf(format, args...), param}
}

// errorTypes are vLLM's names.
var errorTypes = map[int]string{
	http.StatusBadRequest: "BadRequestError", http.StatusNotFound: "NotFoundError",
	http.StatusTooManyRequests: "RateLimitError", http.StatusInternalServerError: "InternalServerError",
	http.StatusServiceUnavailable: "ServiceUnavailableError",
}

// asAPI is an error as a client sees it: whatever has no status is the engine's.
func asAPI(err error) *apiError {
	if own := (*apiError)(nil); errors.As(err, &own) {
		return own
	}
	return &apiError{http.StatusInternalServerError, err.Error(), ""}
}

func errorBody(err error) any {
	e := asAPI(err)
	return map[string]any{"error": map[string]any{
		"message": e.message, "type": errorTypes[e.status], "param": e.param, "code": e.status,
	}}
}

func writeError(w http.ResponseWriter, err error) { writeJSON(w, asAPI(err).status, errorBody(err)) }

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may have left
}
