package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

type streamOptions struct {
	IncludeUsage    bool `json:"include_usage"`
	ContinuousUsage bool `json:"continuous_usage_stats,omitempty"`
}

// member is one member of a request's body. The client's own are listed also
// where they are not sent, so that nobody sends another in their place.
type member struct {
	name  string
	value any
	sent  bool
}

// members are the client's own, by the names that vLLM and SGLang have for them.
func (r Request) members(model string, mode UsageMode) []member {
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
		{"stream", true, true},
		{"stream_options", streamOptions{IncludeUsage: true, ContinuousUsage: mode == UsageContinuous}, mode != UsageNone},
	}
}

// encode is the request's body: the client's own members, then those of the
// engine's kind, then the request's.
func (c *Client) encode(r Request, model string, mode UsageMode) ([]byte, error) {
	switch {
	case r.API == Chat && len(r.Tokens) > 0:
		return nil, errors.New("token ids cannot be sent to /v1/chat/completions, which takes messages: use the API \"completions\"")
	case r.API != Chat && len(r.Before) > 0:
		return nil, errors.New("messages before the prompt cannot be sent to /v1/completions, which takes one text: use the API \"chat\"")
	}
	all := r.members(model, mode)
	for i, m := range all {
		if name, ok := c.Rename[m.name]; ok {
			all[i].name = name
		}
	}
	for _, extra := range []map[string]any{c.Extra, r.Extra} {
		for _, name := range slices.Sorted(maps.Keys(extra)) {
			if slices.ContainsFunc(all, func(m member) bool { return m.name == name }) {
				return nil, fmt.Errorf("the field %q is set by mxflow itself, or twice: leave it out of the further fields of a request", name)
			}
			all = append(all, member{name, extra[name], true})
		}
	}
	var b strings.Builder
	for _, m := range all {
		if !m.sent {
			continue
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, fmt.Errorf("the field %q of a request cannot be written as JSON: %w", m.name, err)
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		} else {
			b.WriteByte('{')
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return []byte(b.String()), nil
}
