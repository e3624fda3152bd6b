package load

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/mxflow/mxflow/engine/openai"
)

// Method says how the length of prompts was fitted.
type Method string

const (
	// Tokenizer: every prompt was counted with the engine's own tokenizer.
	Tokenizer Method = "tokenizer"
	// ByUsage: the engine has no tokenizer endpoint; its usage of two prompts
	// gave the average length of a token. Lengths are approximate and must be
	// compared with usage afterwards (Deviating).
	ByUsage Method = "usage"
	// Guess: the engine counts nothing. Four bytes are taken for a token.
	Guess Method = "guess"
)

// Prompt is one prompt.
type Prompt struct {
	Text string `json:"text"`
	// Tokens is its length as the engine will see it, template included: counted
	// with Tokenizer, expected otherwise. Context and System are not counted.
	Tokens int `json:"tokens"`
	// IDs are sent in place of Text where they are set (random tokens).
	IDs []int `json:"ids,omitempty"`
	// System is a system prompt that all prompts of a cell share, Context a text
	// before Text that is not counted as prompt but as depth; ContextTokens is the
	// length of both together. The unique beginning is in whichever comes first
	// of Context and Text.
	System        string `json:"system,omitempty"`
	Context       string `json:"context,omitempty"`
	ContextIDs    []int  `json:"context_ids,omitempty"`
	ContextTokens int    `json:"context_tokens,omitempty"`
	// Output is the length of the answer where prompts differ in it (a
	// distribution, a data set, a trace); 0 takes the plan's.
	Output int `json:"output,omitempty"`
	// Next is the user's next message of the same conversation, sent after the
	// answer to this one, nil at its end.
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
	// Template is the number of tokens that the API adds to the text of a prompt.
	Template int `json:"template"`
}

// PromptSpec is what is asked of the prompts of one cell.
type PromptSpec struct {
	// Cell and Seed fix the texts.
	Cell string
	Seed int64
	API  openai.API
	// Tokens is the length of each prompt.
	Tokens int
	// Warmup and Requests are how many there shall be.
	Warmup, Requests int
	// Timeouts limit the requests that may have to be sent; they may be the first
	// that the engine gets.
	Timeouts openai.Timeouts
}

// Engine is what prompts are built for; *openai.Client is one.
type Engine interface {
	Streamer
	Tokenize(ctx context.Context, text string) (count int, ids []int, err error)
}

// BuildPrompts makes a cell's prompts: unique, with what makes them so at the
// very beginning, so that a prefix cache finds nothing to reuse, and of the
// length asked for as exactly as the engine allows (Method, Exact). The same
// spec gives the same prompts, and a prompt does not depend on how many there
// are. It may send the engine a short request or two, so that the engine is no
// longer fresh.
//
// It fails when the engine does, and when the length leaves no room for unique
// prompts.
func BuildPrompts(ctx context.Context, engine Engine, spec PromptSpec) (Prompts, error) {
	if spec.Tokens < 1 || spec.Requests < 0 || spec.Warmup < 0 {
		return Prompts{}, fmt.Errorf("cell %s: prompts of %d tokens, %d and %d for warm-up, cannot be made",
			spec.Cell, spec.Tokens, spec.Requests, spec.Warmup)
	}
	f, err := newFitter(ctx, engine, spec)
	if err != nil {
		return Prompts{}, fmt.Errorf("cell %s: fitting prompts: %w", spec.Cell, err)
	}
	p := Prompts{Method: f.method, Template: f.template}
	seen := map[string]bool{}
	series := func(name string, n int) ([]Prompt, error) {
		prompts := make([]Prompt, 0, n)
		for i := range n {
			one, err := f.fit(ctx, newSource(spec.Seed, spec.Cell, name, i), spec.Tokens)
			if err != nil {
				return nil, fmt.Errorf("cell %s: %s prompt %d: %w", spec.Cell, name, i, err)
			}
			if seen[one.Text] {
				return nil, fmt.Errorf("cell %s: prompts of %d tokens are too short to be unique", spec.Cell, spec.Tokens)
			}
			seen[one.Text] = true
			prompts = append(prompts, one)
		}
		return prompts, nil
	}
	if p.Warmup, err = series("warmup", spec.Warmup); err != nil {
		return Prompts{}, err
	}
	if p.Measured, err = series("measured", spec.Requests); err != nil {
		return Prompts{}, err
	}
	return p, nil
}

// Exact reports whether every prompt was counted and has the length asked for.
func (p Prompts) Exact(tokens int) bool {
	if p.Method != Tokenizer {
		return false
	}
	for _, series := range [][]Prompt{p.Warmup, p.Measured} {
		for _, one := range series {
			if one.Tokens != tokens {
				return false
			}
		}
	}
	return true
}

// Digest is the SHA-256 over the texts in order, in hexadecimal: equal digests
// are equal prompts. Each text is preceded by its length, so that no two lists
// read the same.
func (p Prompts) Digest() string {
	h := sha256.New()
	for _, series := range [][]Prompt{p.Warmup, p.Measured} {
		fmt.Fprintf(h, "%d\n", len(series))
		for _, one := range series {
			fmt.Fprintf(h, "%d\n%s", len(one.Text), one.Text)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
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
