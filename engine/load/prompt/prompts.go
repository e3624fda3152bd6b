// Package prompt makes the prompts for an engine: of a given length in the engine's own
// tokens, unique from the first one, or from data sets. It asks the engine for token
// counts. It does not know when and how often prompts are sent (engine/load), and of
// answers only the prompt tokens in their usage.
package prompt

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
)

// Method is how the length of prompts was fitted.
type Method string

const (
	// Tokenizer: prompts are made of words that the engine's own tokenizer counted.
	Tokenizer Method = "tokenizer"
	// ByUsage: the engine has no tokenizer endpoint, and its usage gave the counts of words.
	// Where these do not add up in its vocabulary, the usage for two prompts gave the average length of a
	// token: then nothing is verified, and lengths are approximate and must be compared with
	// usage afterwards (load.Deviating).
	ByUsage Method = "usage"
	// Guess: the engine counts nothing. Four bytes are taken as a token.
	Guess Method = "guess"
	// Given: the prompts of a data set, whatever their length.
	Given Method = "given"
)

// Prompt is one prompt; Fill determines how it is sent.
type Prompt struct {
	Text string `json:"text"`
	// Tokens is its length, with the template of a first message; 0 if none was requested.
	// Context, System and Before are not counted: a first message for which the engine does
	// not count Tokens plus ContextTokens deviates.
	Tokens int `json:"tokens"`
	// System is a system prompt that all prompts of a cell share (those of a data set
	// have their own), Context a text before Text that counts as depth, not as prompt;
	// ContextTokens is the length of both together. The unique start is in whichever
	// comes first of Context and Text.
	System        string `json:"system,omitempty"`
	Context       string `json:"context,omitempty"`
	ContextTokens int    `json:"context_tokens,omitempty"`
	// Before are messages of a data set's conversation before Text, System
	// excluded.
	Before []openai.Message `json:"before,omitempty"`
	// Output is the length of the answer if prompts differ in it (a distribution, a data
	// set, a trace); 0 uses the plan's.
	Output int `json:"output,omitempty"`
	// At is when it is sent, since the first of a trace, and After how long after the answer before it at least, if it
	// is a later message. Shared is how many of its tokens an earlier prompt of the trace began with.
	At     time.Duration `json:"at_ns,omitempty"`
	After  time.Duration `json:"after_ns,omitempty"`
	Shared int           `json:"shared,omitempty"`
	// Alone is a later message that is sent without those before it: a trace has all of them in its text.
	Alone bool `json:"alone,omitempty"`
	// Next is the user's next message of the same conversation, sent after the answer to
	// this one, nil at its end. Only its Text, Tokens, Output and Next are set, and what a trace has;
	// its tokens are its own, without a template's.
	Next *Prompt `json:"next,omitempty"`
	// Extra are additional fields of its request (tools of a data set).
	Extra map[string]any `json:"extra,omitempty"`
}

// Prompts are the prompts of one cell. They depend on the spec and on the engine's
// tokenizer, not on the launch, so all arms send the same ones; build them once, or
// compare their Digest.
type Prompts struct {
	Warmup   []Prompt `json:"warmup"`
	Measured []Prompt `json:"measured"`
	Method   Method   `json:"method"`
	// Template is the number of tokens that a chat's template adds to the texts of its
	// first request, including what starts every text; for completions, only the latter.
	// All prompts share them.
	Template int `json:"template"`
	// Verified is set if the engine's usage for two requests of this shape and of
	// different lengths matched the counts.
	Verified bool `json:"verified,omitempty"`
}

// Engine is what prompts are built for; *openai.Client is one.
type Engine interface {
	Stream(ctx context.Context, r openai.Request) (measure.Sample, error)
	Tokenize(ctx context.Context, text string) (count int, ids []int, err error)
}

// noTokenizer reports whether an engine's error means that it has no tokenizer endpoint,
// or none that understands the request, rather than that it broke.
func noTokenizer(err error) bool {
	var status *openai.StatusError
	if !errors.As(err, &status) {
		return false
	}
	// SGLang's fails with 500 on a tokenizer without a length limit, and answers
	// everything else. An engine that is shutting down fails what is asked next.
	return status.Status <= http.StatusNotImplemented
}

// Fill puts a prompt into a request, whose API is already set: what precedes the user's
// message (a system prompt, a recorded conversation), the context and the text as one
// message, and the prompt's additional fields. The lengths of prompts hold for requests
// filled this way.
//
// A chat has the system prompt as a separate message. The completions endpoint has no
// messages, so there the system prompt is the start of the text.
func (p Prompt) Fill(r *openai.Request) {
	r.Prompt, r.Before, r.Extra = p.Context+p.Text, nil, p.Extra
	if r.API != openai.Chat {
		r.Prompt = p.System + r.Prompt
		return
	}
	if p.System != "" {
		r.Before = append(r.Before, openai.Message{Role: "system", Content: p.System})
	}
	r.Before = append(r.Before, p.Before...)
}

// ContextAlone is the request that puts a prompt's context, and nothing after it, into an
// engine's prefix cache.
func (p Prompt) ContextAlone() *Prompt {
	return &Prompt{System: p.System, Text: p.Context, Tokens: p.ContextTokens, Output: 1, Extra: p.Extra}
}

// Turns is how many requests the conversation of a prompt has.
func (p *Prompt) Turns() int {
	n := 0
	for ; p != nil; p = p.Next {
		n++
	}
	return n
}
