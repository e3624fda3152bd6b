// Package prompt knows what is sent to an engine: prompts of a length in the
// engine's own tokens, unique from their first one, and those of data sets. It
// asks the engine for as much as it takes to make them. It does not know when and
// how often they are sent (engine/load), and nothing of answers but the prompt's
// tokens that their usage says.
package prompt

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
)

// Method says how the length of prompts was fitted.
type Method string

const (
	// Tokenizer: every prompt was counted with the engine's own tokenizer.
	Tokenizer Method = "tokenizer"
	// Pieces: the engine has no tokenizer endpoint; prompts are put together from
	// sentences and words of which its usage gave the tokens of each.
	Pieces Method = "pieces"
	// ByUsage: as Pieces, but in this vocabulary they do not add up; the usage of
	// two prompts gave the average length of a token. Lengths are approximate and
	// must be compared with usage afterwards (load.Deviating).
	ByUsage Method = "usage"
	// Guess: the engine counts nothing. Four bytes are taken for a token.
	Guess Method = "guess"
	// IDs: token ids are sent, so that nothing is counted.
	IDs Method = "ids"
	// Given: the prompts of a data set, of whatever length they have.
	Given Method = "given"
)

// Prompt is one prompt; Fill says how it is sent.
type Prompt struct {
	Text string `json:"text"`
	// Tokens is its length as the engine will see it, the template of a first
	// message included: counted with Tokenizer, expected otherwise, 0 where it is
	// not known. Context, System and Before are not counted.
	Tokens int `json:"tokens"`
	// Asked is the length that was asked for, counted in the same way; 0 where
	// none was. A first message for which the engine counts other than Asked and
	// ContextTokens together deviates.
	Asked int `json:"asked,omitempty"`
	// IDs are sent in place of Text where they are set (random tokens).
	IDs []int `json:"ids,omitempty"`
	// System is a system prompt that all prompts of a cell share (those of a data
	// set have their own), Context a text before Text that is not counted as prompt
	// but as depth; ContextTokens is the length of both together. The unique
	// beginning is in whichever comes first of Context and Text.
	System        string `json:"system,omitempty"`
	Context       string `json:"context,omitempty"`
	ContextIDs    []int  `json:"context_ids,omitempty"`
	ContextTokens int    `json:"context_tokens,omitempty"`
	// Before are messages of a data set's conversation before Text, System
	// excluded.
	Before []openai.Message `json:"before,omitempty"`
	// Output is the length of the answer where prompts differ in it (a
	// distribution, a data set, a trace); 0 takes the plan's.
	Output int `json:"output,omitempty"`
	// Next is the user's next message of the same conversation, sent after the
	// answer to this one, nil at its end. Of it only Text, Tokens, Asked, Output
	// and Next are set; its tokens are its own, without a template's.
	Next *Prompt `json:"next,omitempty"`
	// At is when a trace sends it, since the trace's beginning.
	At time.Duration `json:"at_ns,omitempty"`
	// Extra are further fields of its request (tools of a data set).
	Extra map[string]any `json:"extra,omitempty"`
}

// Prompts are the prompts of one cell. They depend on the spec and on the
// engine's tokenizer, not on the launch, so that all arms send the same ones;
// build them once, or compare their Digest.
type Prompts struct {
	Warmup   []Prompt `json:"warmup"`
	Measured []Prompt `json:"measured"`
	Method   Method   `json:"method"`
	// Template is the number of tokens that a chat's template adds to the texts of
	// its first request, with what begins every text; of completions, what begins
	// every text alone. All prompts have them in common.
	Template int `json:"template"`
	// Verified says that the engine's usage of two requests of this shape and of
	// different lengths was what had been counted.
	Verified bool `json:"verified,omitempty"`
}

// Engine is what prompts are built for; *openai.Client is one.
type Engine interface {
	Stream(ctx context.Context, r openai.Request) (measure.Sample, error)
	Tokenize(ctx context.Context, text string) (count int, ids []int, err error)
}

// noTokenizer reports whether an engine's error means that it has no tokenizer
// endpoint, or none that understands the question, rather than that it broke.
func noTokenizer(err error) bool {
	var status *openai.StatusError
	if !errors.As(err, &status) {
		return false
	}
	return status.Status < http.StatusInternalServerError || status.Status == http.StatusNotImplemented
}
