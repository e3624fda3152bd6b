package embedded

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// maxLogProbs is how many of the likeliest tokens a request may ask for, as with vLLM.
const maxLogProbs = 20

// listing is which log-probabilities a request asks for.
type listing struct {
	answer, prompt bool // those of the answer, and of the prompt
	top, promptTop int  // with so many of the likeliest tokens of each position
	asIDs          bool // tokens are named "token_id:7"
	ids            bool // and their ids come beside
}

// listing parses a request's log-probability fields, in vLLM's form.
func (q *completionRequest) listing(chat bool) (l listing, err error) {
	l.asIDs, l.ids = q.TokensAsIDs, q.ReturnTokenIDs
	asked := string(q.Logprobs)
	switch {
	case asked == "" || asked == "null" || asked == "false":
	case chat && asked == "true":
		l.answer = true
		given(&l.top, q.TopLogprobs)
	case chat:
		return l, badRequest("logprobs", "logprobs of a chat must be true or false, got %s", asked)
	default:
		if l.top, err = strconv.Atoi(asked); err != nil {
			return l, badRequest("logprobs", "logprobs of a completion must be a number, got %s", asked)
		}
		l.answer = true
	}
	if q.PromptLogprobs != nil {
		l.prompt, l.promptTop = true, *q.PromptLogprobs
	}
	if min(l.top, l.promptTop) < 0 || max(l.top, l.promptTop) > maxLogProbs {
		return l,
			badRequest("logprobs", "log-probabilities of 0 to %d tokens can be asked for, got %d and %d of the prompt",
				maxLogProbs, l.top, l.promptTop)
	}
	if l.prompt && q.Stream {
		return l, badRequest("prompt_logprobs", "prompt_logprobs are not available in streams")
	}
	return l, nil
}

// position is a token with its log-probability and those of the likeliest.
type position struct {
	scored
	top []scored // the likeliest first
}

type scored struct {
	id      token
	logProb float64
}

// rank lists the logits of a position, where id was chosen or given. Logits with a NaN
// rank no token.
func rank(logits []float32, id token, top int) position {
	largest := math.Inf(-1)
	for _, x := range logits {
		largest = max(largest, float64(x)) // NaN where one is
	}
	if math.IsNaN(largest) {
		return position{scored: scored{id, math.NaN()}}
	}
	var sum float64
	for _, x := range logits {
		sum += math.Exp(float64(x) - largest)
	}
	norm := largest + math.Log(sum)
	p := position{scored: scored{id, float64(logits[id]) - norm}}
	for range top {
		best := noToken
		for t, x := range logits {
			if (best < 0 || x > logits[best]) &&
				!slices.ContainsFunc(p.top, func(s scored) bool { return s.id == token(t) }) {
				best = token(t)
			}
		}
		p.top = append(p.top, scored{best, float64(logits[best]) - norm})
	}
	return p
}

// jsonLogProb is a log-probability as servers write it: null for NaN, which JSON does not
// have, and vLLM's -9999 for a probability of 0.
type jsonLogProb float64

func (l jsonLogProb) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(l)) {
		return []byte("null"), nil
	}
	return json.Marshal(max(float64(l), -9999))
}

// choiceLogProbs are those of an answer: parallel lists in completions, one object per
// token in chats.
type choiceLogProbs struct {
	Tokens        []string                 `json:"tokens,omitempty"`
	TokenLogProbs []jsonLogProb            `json:"token_logprobs,omitempty"`
	TopLogProbs   []map[string]jsonLogProb `json:"top_logprobs,omitempty"`
	Content       []chatLogProb            `json:"content,omitempty"`
}

type chatLogProb struct {
	Token   string        `json:"token"`
	LogProb jsonLogProb   `json:"logprob"`
	Bytes   []int         `json:"bytes"`
	Top     []chatLogProb `json:"top_logprobs,omitempty"`
}

func (l listing) name(tk *tokenizer, id token) string {
	if l.asIDs {
		return fmt.Sprintf("token_id:%d", id)
	}
	return spelled(tk, id)
}

func spelled(tk *tokenizer, id token) string {
	return strings.ToValidUTF8(string(tk.piece(id)), "\uFFFD")
}

func (l listing) chat(tk *tokenizer, s scored) chatLogProb {
	c := chatLogProb{Token: l.name(tk, s.id), LogProb: jsonLogProb(s.logProb), Bytes: []int{}}
	for _, b := range tk.piece(s.id) {
		c.Bytes = append(c.Bytes, int(b))
	}
	return c
}

// write adds a choice's lists, none if nothing was requested.
func (l listing) write(c *onlyChoice, chat bool, tk *tokenizer, positions []position) {
	if l.answer {
		c.Logprobs = &choiceLogProbs{}
	}
	for _, p := range positions {
		if l.ids {
			c.TokenIDs = append(c.TokenIDs, p.id)
		}
		if !l.answer {
			continue
		}
		if chat {
			entry := l.chat(tk, p.scored)
			for _, s := range p.top {
				entry.Top = append(entry.Top, l.chat(tk, s))
			}
			c.Logprobs.Content = append(c.Logprobs.Content, entry)
			continue
		}
		top := map[string]jsonLogProb{l.name(tk, p.id): jsonLogProb(p.logProb)}
		for _, s := range p.top {
			top[l.name(tk, s.id)] = jsonLogProb(s.logProb)
		}
		c.Logprobs.Tokens = append(c.Logprobs.Tokens, l.name(tk, p.id))
		c.Logprobs.TokenLogProbs = append(c.Logprobs.TokenLogProbs, jsonLogProb(p.logProb))
		c.Logprobs.TopLogProbs = append(c.Logprobs.TopLogProbs, top)
	}
}

// promptLogProbs are those of a prompt, in completions beside the choice's text and in
// chats beside the choices.
type promptLogProbs struct {
	LogProbs []promptPosition `json:"prompt_logprobs,omitempty"`
	TokenIDs []token          `json:"prompt_token_ids,omitempty"`
}

// ofPrompt lists a prompt, of which the first token follows nothing.
func (l listing) ofPrompt(tk *tokenizer, prompt []token, positions []position) (p promptLogProbs) {
	if l.ids {
		p.TokenIDs = prompt
	}
	if !l.prompt {
		return p
	}
	p.LogProbs = append(p.LogProbs, promptPosition{})
	for _, at := range positions {
		p.LogProbs = append(p.LogProbs, promptPosition{tk, at})
	}
	return p
}

// promptPosition is written as an object by token id, the actual token first; null for
// the first of a prompt.
type promptPosition struct {
	tk *tokenizer
	position
}

func (p promptPosition) MarshalJSON() ([]byte, error) {
	if p.tk == nil {
		return []byte("null"), nil
	}
	var b strings.Builder
	for i, s := range append([]scored{p.scored}, p.top...) {
		if i > 0 && s.id == p.id {
			continue
		}
		value, err := json.Marshal(map[string]any{
			"logprob":       jsonLogProb(s.logProb),
			"decoded_token": spelled(p.tk, s.id),
		})
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, ",\"%d\":%s", s.id, value)
	}
	return []byte("{" + b.String()[1:] + "}"), nil
}
