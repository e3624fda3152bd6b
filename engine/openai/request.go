package openai

import (
	"encoding/json"
	"fmt"
	"time"
)

// API is which of the two text endpoints is asked.
type API string

const (
	// Completions continues a text: /v1/completions. It is the default.
	Completions API = "completions"
	// Chat answers a message: /v1/chat/completions. The engine adds the tokens
	// of its chat template to the prompt.
	Chat API = "chat"
)

func (a API) path() (string, error) {
	switch a {
	case "", Completions:
		return "/v1/completions", nil
	case Chat:
		return "/v1/chat/completions", nil
	}
	return "", fmt.Errorf("unknown API %q: use %q or %q", string(a), Completions, Chat)
}

// Request is one request for generated text.
type Request struct {
	API    API
	Prompt string
	// Tokens are sent in place of Prompt where they are set: token ids, which
	// /v1/completions takes as they are.
	Tokens []int
	// Before are the messages before Prompt in a chat: a system prompt, earlier
	// turns. The endpoint for completions has none.
	Before []Message
	// MaxTokens limits the output; 0 leaves the limit to the engine.
	MaxTokens int
	// Temperature is always sent, since engines' defaults differ; 0 is greedy.
	Temperature float64
	// TopP, TopK, MinP and RepetitionPenalty are sent where they are not zero;
	// the engine's defaults hold otherwise.
	TopP, MinP, RepetitionPenalty float64
	TopK                          int
	// Extra are further fields of this request, such as tools; they must not be
	// among the usual ones.
	Extra map[string]any
	// Seed of the sampling; nil sends none.
	Seed *int64
	// IgnoreEOS goes on after the end-of-text token. An engine that does not
	// know it answers with an error, or ignores it, and the output falls short.
	IgnoreEOS bool
	// MinTokens is sent when positive. Some engines enforce it by a processor
	// that slows sampling, so IgnoreEOS is the better way to fix the length.
	MinTokens int
	// Stop ends the output where one of these texts appears.
	Stop []string
	// Timeouts limit the waiting.
	Timeouts Timeouts
	// ContinuousUsage asks for token counts in every event, where the engine has
	// not been found to refuse it.
	ContinuousUsage bool
}

// Timeouts limit how long a request may take. Zero is no limit.
type Timeouts struct {
	// Total limits the time from the send to the end of the answer.
	Total time.Duration
	// First limits the time from the send to the first data event, and is where
	// just-in-time compilation shows.
	First time.Duration
	// Stall limits the wait between data events. Comments do not count as signs
	// of progress: servers send them while they are stuck.
	Stall time.Duration
}

// Message is one message of a chat.
type Message struct {
	// Role is "system", "user" or "assistant".
	Role    string `json:"role"`
	Content string `json:"content"`
}

type streamOptions struct {
	IncludeUsage    bool `json:"include_usage"`
	ContinuousUsage bool `json:"continuous_usage_stats,omitempty"`
}

type body struct {
	Model         string         `json:"model,omitempty"`
	Prompt        *string        `json:"prompt,omitempty"`
	Messages      []Message      `json:"messages,omitempty"`
	MaxTokens     int            `json:"max_tokens,omitempty"`
	Temperature   float64        `json:"temperature"`
	Seed          *int64         `json:"seed,omitempty"`
	IgnoreEOS     bool           `json:"ignore_eos,omitempty"`
	MinTokens     int            `json:"min_tokens,omitempty"`
	Stop          []string       `json:"stop,omitempty"`
	Stream        bool           `json:"stream"`
	StreamOptions *streamOptions `json:"stream_options,omitempty"`
}

// encode is the request's body; extra are fields beside its own.
func (r Request) encode(model string, mode UsageMode, extra map[string]any) ([]byte, error) {
	b := body{
		Model: model, MaxTokens: r.MaxTokens, Temperature: r.Temperature, Seed: r.Seed,
		IgnoreEOS: r.IgnoreEOS, MinTokens: r.MinTokens, Stop: r.Stop, Stream: true,
	}
	if r.API == Chat {
		b.Messages = []Message{{Role: "user", Content: r.Prompt}}
	} else {
		b.Prompt = &r.Prompt
	}
	switch mode {
	case UsageContinuous:
		b.StreamOptions = &streamOptions{IncludeUsage: true, ContinuousUsage: true}
	case UsageFinal:
		b.StreamOptions = &streamOptions{IncludeUsage: true}
	case UsageNone:
	}
	text, err := json.Marshal(b)
	if err != nil || len(extra) == 0 {
		return text, err
	}
	more, err := json.Marshal(extra)
	if err != nil {
		return nil, err
	}
	// {"a":1} and {"b":2} joined.
	return append(append(text[:len(text)-1], ','), more[1:]...), nil
}
