package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// API is which of the two text endpoints is used.
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

type Request struct {
	API    API
	Prompt string
	// Tokens, if set, are sent instead of Prompt: token ids, which /v1/completions takes
	// as they are. In a chat they are an error.
	Tokens []int
	// Before are the messages before Prompt in a chat: a system prompt, earlier turns.
	// With them, an empty Prompt adds no message of its own. In completions they are an
	// error.
	Before []Message
	// MaxTokens limits the output; 0 leaves the limit to the engine.
	MaxTokens int
	// Temperature is always sent, since engines' defaults differ; 0 is greedy.
	Temperature float64
	// TopP, TopK, MinP and RepetitionPenalty are sent unless zero; otherwise the engine's
	// defaults apply.
	TopP, MinP, RepetitionPenalty float64
	TopK                          int
	// Extra are additional fields of this request, such as tools. A name that the client
	// sends itself, or that Client.Extra has, is an error.
	Extra map[string]any
	// Seed of the sampling; nil sends none.
	Seed *int64
	// IgnoreEOS continues after the end-of-text token. An engine that does not know it
	// returns an error, or ignores it, and the output falls short.
	IgnoreEOS bool
	// MinTokens is sent when positive. Some engines enforce it by a processor
	// that slows sampling, so IgnoreEOS is the better way to fix the length.
	MinTokens int
	// Stop ends the output at the first of these texts.
	Stop     []string
	Timeouts Timeouts
	// Heard is called at each event with text, while the answer comes, with what came so far;
	// may be nil. Its events are then decoded as they come. Once it returns true the answer
	// ends there, and the connection is closed: most engines then stop.
	Heard func(said string) (enough bool)
	// Ended is called when the answer has ended well, as far as that is known before it is
	// decoded, which then waits until no other answer of the client is streaming; may be nil.
	Ended func()
	// ContinuousUsage requests token counts in every event, unless the engine is known to
	// reject it.
	ContinuousUsage bool
	// LogProbs requests the log-probabilities of so many of the likeliest tokens at each
	// position, and PromptLogProbs those of the prompt's positions too. Client.Answer
	// requests them; Stream does not, since they would be part of the measurement.
	LogProbs       int
	PromptLogProbs bool
}

// Timeouts limit how long a request may take. Zero is no limit.
type Timeouts struct {
	// Total limits the time from the send to the end of the answer.
	Total time.Duration
	// First limits the time from the send to the first generated token, where
	// just-in-time compilation shows. An event without one, such as the role that some
	// servers send before they have read the prompt, is not enough.
	First time.Duration
	// Stall limits the wait between data events from the first generated token on, and
	// the time from an event's first byte to its end. Before the first token only First
	// and Total limit the wait, whether or not the server opens with the role: a long
	// prompt is not a stall. Comments do not count as progress: servers send them while
	// they are stuck.
	Stall time.Duration
}

type Message struct {
	// Role is "system", "user" or "assistant".
	Role    string `json:"role"`
	Content string `json:"content"`
}

// member is one member of a request's body. The client's own are listed even if not sent,
// so no other can be sent under their name.
type member struct {
	name  string
	value any
	sent  bool
}

// streamed are the client's own members for a stream, by their names in vLLM and SGLang.
func (r Request) streamed(model string, usage usageMode) []member {
	options := map[string]bool{"include_usage": true}
	if usage == usageContinuous {
		options["continuous_usage_stats"] = true
	}
	return append(r.members(model), member{"stream", true, true}, member{"stream_options", options, usage != usageNone})
}

// members are the request's members for its content, streamed or not.
func (r Request) members(model string) []member {
	var prompt any = r.Prompt
	if len(r.Tokens) > 0 {
		prompt = r.Tokens
	}
	chat := r.API == Chat
	messages := r.Before
	if chat && (r.Prompt != "" || len(messages) == 0) {
		messages = append(slices.Clone(messages), Message{Role: "user", Content: r.Prompt})
	}
	return []member{
		{"model", model, model != ""},
		{"prompt", prompt, !chat},
		{"messages", messages, chat},
		{"max_tokens", r.MaxTokens, r.MaxTokens != 0},
		{"temperature", r.Temperature, true},
		{"top_p", r.TopP, r.TopP != 0},
		{"top_k", r.TopK, r.TopK != 0},
		{"min_p", r.MinP, r.MinP != 0},
		{"repetition_penalty", r.RepetitionPenalty, r.RepetitionPenalty != 0},
		{"seed", r.Seed, r.Seed != nil},
		{"ignore_eos", true, r.IgnoreEOS},
		{"min_tokens", r.MinTokens, r.MinTokens != 0},
		{"stop", r.Stop, len(r.Stop) > 0},
	}
}

// encode is the request's body: the client's own members, then those of the engine's kind
// and of the request.
func (c *Client) encode(r Request, own []member) ([]byte, error) {
	switch {
	case r.API == Chat && len(r.Tokens) > 0:
		return nil,
			errors.New(
				"token IDs cannot be sent to /v1/chat/completions, which takes messages: use the API \"completions\"")
	case r.API != Chat && len(r.Before) > 0:
		return nil,
			errors.New("earlier messages cannot be sent to /v1/completions, which takes one text: use the API \"chat\"")
	}
	body, taken := map[string]any{}, map[string]bool{}
	for _, m := range own {
		if name, ok := c.Rename[m.name]; ok {
			m.name = name
		}
		if taken[m.name] = true; m.sent {
			body[m.name] = m.value
		}
	}
	for _, extra := range []map[string]any{c.Extra, r.Extra} {
		for _, name := range slices.Sorted(maps.Keys(extra)) {
			if taken[name] {
				return nil,
					fmt.Errorf("the field %q is set by mxflow or set twice: remove it from the extra request fields",
						name)
			}
			taken[name], body[name] = true, extra[name]
		}
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("cannot write the request as JSON: %w", err)
	}
	return text, nil
}
