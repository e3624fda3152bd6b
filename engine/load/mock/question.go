package mock

import (
	"encoding/json"
	"fmt"
)

// question is what a request for text says, as far as the mock cares.
type question struct {
	Prompt   json.RawMessage `json:"prompt"`
	Messages []struct {
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	MaxTokens     int  `json:"max_tokens"`
	MaxCompletion int  `json:"max_completion_tokens"`
	Stream        bool `json:"stream"`
	Options       struct {
		Usage      bool `json:"include_usage"`
		Continuous bool `json:"continuous_usage_stats"`
	} `json:"stream_options"`
	Mock Pacing `json:"mock"`

	// text is the prompt, or the last message, and tokens the length of all.
	text   string
	tokens int
}

const (
	// longestName bounds the prompts that name their answer.
	longestName = 64
	// bytesPerToken is a guess like that of engine/load: nobody measures the
	// mock's prompts.
	bytesPerToken = 4
)

// read fills q, whose Mock holds the defaults.
func (q *question) read(body []byte, chat bool) error {
	if err := json.Unmarshal(body, q); err != nil {
		return fmt.Errorf("the body is not the JSON of a request: %w", err)
	}
	texts := []json.RawMessage{q.Prompt}
	if chat {
		texts = nil
		for _, m := range q.Messages {
			texts = append(texts, m.Content)
		}
	}
	for _, raw := range texts {
		var ids []int
		switch {
		case json.Unmarshal(raw, &q.text) == nil:
			q.tokens += (len(q.text) + bytesPerToken - 1) / bytesPerToken
		case json.Unmarshal(raw, &ids) == nil:
			q.tokens += len(ids)
		default: // a list of texts, or of parts of a message
			q.tokens += len(raw) / bytesPerToken
		}
	}
	if q.tokens == 0 {
		return fmt.Errorf("the request has no prompt: give prompt, or messages in a chat")
	}
	for _, tokens := range []int{q.MaxCompletion, q.MaxTokens, defaultTokens} {
		if q.Mock.Tokens == 0 {
			q.Mock.Tokens = tokens
		}
	}
	return q.Mock.check()
}

// name is the answer's name in Truth where the request gives none.
func (q *question) name(id uint64) string {
	if q.text != "" && len(q.text) <= longestName {
		return q.text
	}
	return fmt.Sprintf("cmpl-%016x", id)
}
