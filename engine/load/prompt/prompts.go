// Package prompt knows what is sent to an engine: prompts of a given length in
// the engine's own tokens, unique from their first one, and those of data sets.
// It asks the engine for what it needs to make them. It does not know when and
// how often they are sent (engine/load), and of answers only the prompt tokens in
// their usage.
package prompt

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
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
	// SGLang's breaks with 500 on a tokenizer without a limit of its own, and answers all
	// else. An engine that is ending does not pass what is asked instead.
	return status.Status <= http.StatusNotImplemented
}

// Fill puts a prompt into a request, which has its API already: what comes
// before the user's message (a system prompt, a recorded conversation), the
// context and the text as one message, or token ids, and the prompt's own
// further fields. The lengths of prompts hold for requests that are filled so.
//
// A chat has the system prompt as a message of its own. The endpoint for
// completions has no messages, so there the system prompt is the beginning of
// the text.
func (p Prompt) Fill(r *openai.Request) {
	r.Prompt, r.Tokens, r.Before, r.Extra = p.Context+p.Text, nil, nil, p.Extra
	if p.IDs != nil {
		r.Prompt = ""
		r.Tokens = append(append([]int(nil), p.ContextIDs...), p.IDs...)
		return
	}
	if r.API != openai.Chat {
		r.Prompt = p.System + r.Prompt
		return
	}
	if p.System != "" {
		r.Before = append(r.Before, openai.Message{Role: "system", Content: p.System})
	}
	r.Before = append(r.Before, p.Before...)
}

// ContextAlone is the prompt that puts a prompt's context, and nothing of what
// follows it, into an engine's prefix cache; ok is false where it has none.
func (p Prompt) ContextAlone() (alone Prompt, ok bool) {
	alone = Prompt{System: p.System, Text: p.Context, IDs: p.ContextIDs, Tokens: p.ContextTokens, Extra: p.Extra}
	return alone, p.Context != "" || len(p.ContextIDs) > 0
}

// Check refuses prompts that cannot be sent as they are.
func (p *Prompt) Check(api openai.API) error {
	for turn := p; turn != nil; turn = turn.Next {
		switch ids := len(turn.IDs)+len(turn.ContextIDs) > 0; {
		case !ids:
		case api == openai.Chat:
			return errors.New(`token IDs cannot be sent in a chat: use api = "completions", or prompts = "text"`)
		case turn.Next != nil || turn != p:
			return errors.New(`a conversation cannot continue from token IDs, because answers are text: use prompts = "text", or one turn`)
		case turn.System != "" || turn.Context != "" || len(turn.IDs) == 0:
			return errors.New("a prompt cannot mix token IDs and text")
		}
		if turn.Output < 0 {
			return fmt.Errorf("output of %d tokens, required ≥ 1", turn.Output)
		}
	}
	return nil
}

// Turns is how many requests the conversation of a prompt has.
func (p *Prompt) Turns() int {
	n := 0
	for ; p != nil; p = p.Next {
		n++
	}
	return n
}

// digest is the same for prompts of which the engine gets the same, whenever.
func (p Prompt) digest() string {
	p.At = 0
	sum := sha256.Sum256(p.encode())
	return string(sum[:])
}

// encode is the prompt as JSON. All that is in it can be encoded: what comes
// from a data set was JSON.
func (p Prompt) encode() []byte {
	text, err := json.Marshal(p)
	if err != nil {
		panic(fmt.Sprintf("a prompt that is not JSON: %v", err))
	}
	return text
}

// shortest are texts, at least one of which is a single token in any vocabulary.
var shortest = []string{"a", "I", "The"}

// openers are words that begin a text which no tokenizer can count.
var openers = strings.Fields(`
	In At On By For From With Under Over After Before Where When While Some Most
	Many Each Every Both All Only Here There Then Now Our Their His Her My One`)

// singles are common words, most of which are one token in most vocabularies
// when a space precedes them. Which of them are is counted.
var singles = strings.Fields(`
	the of and to in is that for it as with was on be by at this have from or
	one had not but what all were when we there can an your which their said if do
	will each about how up out them then she many some so these would other into
	has more her two like him see time could no make than first been its who now
	people my made over did down only way find use may water long little very after
	words called just where most know get through back much before go good new write
	our used me man too any day same right look think also around another came come
	work three word must because does part even place well such here take why things
	help put years different away again off went old number great tell men say small
	every found still between name should home big give air line set own under read
	last never us left end along while might next sound below saw something thought
	both few those always looked show large often together asked house world going
	want school important until form food keep children feet land side without boy
	once animals life enough took sometimes four head above kind began almost live
	page got earth need far hand high year mother light country father let night
	picture being study second soon story since white ever paper hard near sentence
	better best across during today however sure knew try told young sun thing whole
	hear example heard several change answer room sea against top turned learn point
	city play toward five himself usually money seen car morning`)
