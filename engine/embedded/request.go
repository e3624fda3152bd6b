package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// completionRequest holds the fields of both completion endpoints. Unknown fields are
// ignored, as in the real servers; unsupported fields that would change the answer are
// rejected.
type completionRequest struct {
	Model               string          `json:"model"`
	Prompt              promptField     `json:"prompt"`
	Messages            []message       `json:"messages"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	MinTokens           int             `json:"min_tokens"`
	IgnoreEOS           bool            `json:"ignore_eos"`
	Stop                stringOrList    `json:"stop"`
	N                   *int            `json:"n"`
	BestOf              *int            `json:"best_of"`
	Echo                bool            `json:"echo"`
	Suffix              string          `json:"suffix"`
	Logprobs            json.RawMessage `json:"logprobs"` // a number in completions, a boolean in chats
	TopLogprobs         *int            `json:"top_logprobs"`
	PromptLogprobs      *int            `json:"prompt_logprobs"`
	TokensAsIDs         bool            `json:"return_tokens_as_token_ids"`
	ReturnTokenIDs      bool            `json:"return_token_ids"`
	Stream              bool            `json:"stream"`
	StreamOptions       *streamOptions  `json:"stream_options"`
	samplingFields
}

type streamOptions struct {
	IncludeUsage         bool `json:"include_usage"`
	ContinuousUsageStats bool `json:"continuous_usage_stats"`
}

type message struct {
	Role    string       `json:"role"`
	Content contentField `json:"content"`
}

// promptField is a string, a list of token ids, or a list of one of either.
type promptField struct {
	given  bool
	text   string
	tokens []token // set when the prompt came as ids
}

func (p *promptField) UnmarshalJSON(data []byte) error {
	*p = promptField{given: true}
	var several []json.RawMessage
	if p.one(data) || (json.Unmarshal(data, &several) == nil && len(several) == 1 && p.one(several[0])) {
		return nil
	}
	return badRequest("prompt", "prompt must be one string or one list of token ids; send several prompts as several requests")
}

// one parses a string or a list of token ids.
func (p *promptField) one(data []byte) bool {
	if json.Unmarshal(data, &p.text) == nil {
		return true
	}
	var tokens []token
	if json.Unmarshal(data, &tokens) != nil {
		return false
	}
	p.tokens = tokens
	return true
}

// contentField is a string or a list of text parts.
type contentField string

func (c *contentField) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, (*string)(c)) == nil {
		return nil
	}
	var parts []struct {
		Type, Text string
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return badRequest("messages", "message content must be a string or a list of text parts")
	}
	var text strings.Builder
	for _, part := range parts {
		if part.Type != "text" {
			return badRequest("messages", "content parts of type %q are not supported: this model reads text", part.Type)
		}
		text.WriteString(part.Text)
	}
	*c = contentField(text.String())
	return nil
}

// stringOrList is a string or a list of strings.
type stringOrList []string

func (s *stringOrList) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, (*[]string)(s)); err == nil {
		return nil
	}
	var one string
	if err := json.Unmarshal(data, &one); err != nil {
		return badRequest("stop", "stop must be a string or a list of strings")
	}
	*s = stringOrList{one}
	return nil
}

// maxBody limits a request body, in bytes.
const maxBody = 16 << 20

func readJSON(w http.ResponseWriter, r *http.Request, into any) *apiError {
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	if err := decoder.Decode(into); err != nil {
		if own := (*apiError)(nil); errors.As(err, &own) {
			return own
		}
		return badRequest("", "the request body is not the JSON that this endpoint reads: %v", err)
	}
	return nil
}

// generation checks the request and translates it. promptTokens is the rendered prompt;
// defaultMax is max_tokens if the request has none.
func (q *completionRequest) generation(prompt []token, defaultMax, maxModelLen int, chat bool) (generation, *apiError) {
	g := generation{prompt: prompt, maxTokens: defaultMax, minTokens: q.MinTokens, ignoreEOS: q.IgnoreEOS, stops: q.Stop}
	for _, given := range []*int{q.MaxTokens, q.MaxCompletionTokens} {
		if given != nil {
			g.maxTokens = *given
		}
	}
	if e := q.samplingFields.read(&g); e != nil {
		return g, e
	}
	var e *apiError
	if g.listing, e = q.listing(chat); e != nil {
		return g, e
	}
	asked := func(n *int) bool { return n != nil && *n != 1 }
	switch {
	case asked(q.N) || asked(q.BestOf):
		return g, badRequest("n", "n and best_of must be 1: this engine writes one answer per request")
	case q.Echo || q.Suffix != "":
		return g, badRequest("echo", "echo and suffix are not supported")
	case len(prompt) == 0:
		return g, badRequest("prompt", "the prompt is empty: it needs at least one token")
	case len(prompt) >= maxModelLen:
		return g, badRequest("prompt", "this model's maximum context length is %d tokens, and the prompt alone has %d: shorten it or raise --max-model-len", maxModelLen, len(prompt))
	case g.maxTokens < 1:
		return g, badRequest("max_tokens", "max_tokens must be at least 1, got %d", g.maxTokens)
	case len(prompt)+g.maxTokens > maxModelLen:
		return g, badRequest("max_tokens", "this model's maximum context length is %d tokens, but the request asks for %d (%d in the prompt, %d to generate)", maxModelLen, len(prompt)+g.maxTokens, len(prompt), g.maxTokens)
	case g.minTokens < 0 || g.minTokens > g.maxTokens:
		return g, badRequest("min_tokens", "min_tokens must be between 0 and max_tokens (%d), got %d", g.maxTokens, g.minTokens)
	case q.StreamOptions != nil && !q.Stream:
		return g, badRequest("stream_options", "stream_options needs stream to be true")
	}
	if slices.Contains(g.stops, "") {
		return g, badRequest("stop", "stop strings must not be empty")
	}
	return g, nil
}

// apiError is an error that a client sees, as OpenAI and vLLM write it.
type apiError struct {
	status  int
	kind    string
	message string
	param   string
}

func (e *apiError) Error() string { return e.message }

func badRequest(param, format string, args ...any) *apiError {
	return &apiError{http.StatusBadRequest, "BadRequestError", fmt.Sprintf(format, args...), param}
}

func writeError(w http.ResponseWriter, e *apiError) {
	type body struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    int     `json:"code"`
	}
	b := body{Message: e.message, Type: e.kind, Code: e.status}
	if e.param != "" {
		b.Param = &e.param
	}
	writeJSON(w, e.status, map[string]body{"error": b})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may have left
}
