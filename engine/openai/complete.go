package openai

import (
	"context"

	"github.com/mxflow/mxflow/engine/measure"
)

// Tokens are the counts of one answer, -1 where unknown.
type Tokens struct {
	Prompt, Output, Cached int
	// Source says who counted the output.
	Source measure.TokenSource
}

// Answer is an answer whose timing nobody asked for.
type Answer struct {
	Text, Reasoning string
	// Tools is the text of tool calls.
	Tools  string
	Finish string
	Tokens Tokens
}

// Complete sends a request and returns the whole answer. Its errors are those
// of Stream.
func (c *Client) Complete(ctx context.Context, r Request) (Answer, error) {
	s, err := c.Stream(ctx, r)
	if err != nil {
		return Answer{}, err
	}
	return Answer{
		Text: s.Text, Reasoning: s.Reasoning, Tools: s.Tools, Finish: s.Finish,
		Tokens: Tokens{s.PromptTokens, s.OutputTokens, s.CachedTokens, s.TokenSource},
	}, nil
}
