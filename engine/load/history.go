package load

import (
	"github.com/mxflow/mxflow/engine/load/prompt"
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
func (h *history) ask(p *prompt.Prompt, r *openai.Request) {
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
func (h *history) answered(p *prompt.Prompt, r openai.Request, s measure.Sample) {
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
func (h *history) context(p *prompt.Prompt, turn int, s measure.Sample) int {
	switch {
	case turn == 0 && len(p.Before) == 0:
		return p.ContextTokens
	case p.Tokens > 0 && s.PromptTokens >= p.Tokens:
		return s.PromptTokens - p.Tokens
	}
	return max(h.tokens, p.ContextTokens)
}
