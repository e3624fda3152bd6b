package openai

import (
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
	// /v1/completions takes as they are. A chat has none: that is an error.
	Tokens []int
	// Before are the messages before Prompt in a chat: a system prompt, earlier
	// turns. With them, an empty Prompt adds no message of its own. The endpoint
	// for completions has none: that is an error.
	Before []Message
	// MaxTokens limits the output; 0 leaves the limit to the engine.
	MaxTokens int
	// Temperature is always sent, since engines' defaults differ; 0 is greedy.
	Temperature float64
	// TopP, TopK, MinP and RepetitionPenalty are sent where they are not zero;
	// the engine's defaults hold otherwise.
	TopP, MinP, RepetitionPenalty float64
	TopK                          int
	// Extra are further fields of this request, such as tools. A name that the
	// client sends by itself, or that Client.Extra has, is an error.
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
	// First limits the time from the send to the first generated token, and is
	// where just-in-time compilation shows. An event without one, as the role that
	// some servers send before they have read the prompt, is not enough.
	First time.Duration
	// Stall limits the wait between data events from the first generated token on,
	// and the time from an event's first byte to its end. Before the first token
	// only First and Total limit the wait, whether or not the server opens with
	// the role: a long prompt is no stall. Comments do not count as signs of
	// progress: servers send them while they are stuck.
	Stall time.Duration
}

// Message is one message of a chat.
type Message struct {
	// Role is "system", "user" or "assistant".
	Role    string `json:"role"`
	Content string `json:"content"`
}
