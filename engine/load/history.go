package load

import (
	"errors"
	"fmt"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
)

// history is what has been said before the next prompt of a conversation.
type history struct {
	// messages were said in a chat, text in a completion, where all there is is
	// one text that grows.
	messages []openai.Message
	text     string
	// tokens is how many all of it has, by the server's counts where it counts.
	tokens int
}

// ask puts what was said and a prompt into a request.
func (h *history) ask(p *Prompt, r *openai.Request) {
	p.Fill(r)
	if r.API == openai.Chat {
		// A slice of its own: the request before may still be read.
		r.Before = append(h.messages[:len(h.messages):len(h.messages)], r.Before...)
		return
	}
	r.Prompt = h.text + r.Prompt
}

// answered adds a request and its answer to what was said. Reasoning is left
// out, as templates leave it out of earlier turns.
func (h *history) answered(p *Prompt, r openai.Request, s measure.Sample) {
	if r.API == openai.Chat {
		h.messages = append(r.Before[:len(r.Before):len(r.Before)],
			openai.Message{Role: "user", Content: r.Prompt}, openai.Message{Role: "assistant", Content: s.Text})
	} else {
		h.text = r.Prompt + s.Text
	}
	output, prompt := s.OutputTokens, s.PromptTokens
	if output < 0 {
		output = s.RequestedOutput
	}
	if prompt < 0 {
		prompt = s.ContextTokens + p.Tokens
	}
	h.tokens = prompt + output
}

// context is the number of tokens before a prompt, which are not counted as its
// own. After other messages it is what the server counted in all less the prompt
// itself, since only the server knows how much of an answer its template keeps;
// where either is not known it is what prompts and answers add up to.
func (h *history) context(p *Prompt, turn int, s measure.Sample) int {
	switch {
	case turn == 0 && len(p.Before) == 0:
		return p.ContextTokens
	case p.Tokens > 0 && s.PromptTokens >= p.Tokens:
		return s.PromptTokens - p.Tokens
	}
	return max(h.tokens, p.ContextTokens)
}

// check refuses prompts that cannot be sent as they are.
func (p *Prompt) check(api openai.API) error {
	for turn := p; turn != nil; turn = turn.Next {
		switch ids := len(turn.IDs)+len(turn.ContextIDs) > 0; {
		case !ids:
		case api == openai.Chat:
			return errors.New("token ids cannot be sent in a chat: use api completions, or prompts of text")
		case turn.Next != nil || turn != p:
			return errors.New("a conversation cannot go on from token ids, since answers come as text: use prompts of text, or one turn")
		case turn.System != "" || turn.Context != "" || len(turn.IDs) == 0:
			return errors.New("token ids and text cannot be mixed in one prompt")
		}
		if turn.Output < 0 {
			return fmt.Errorf("an output of %d tokens: at least 1 is needed", turn.Output)
		}
	}
	return nil
}

// turns is how many requests the conversation of a prompt has.
func (p *Prompt) turns() int {
	n := 0
	for ; p != nil; p = p.Next {
		n++
	}
	return n
}
