package prompt

import (
	"errors"
	"fmt"

	"github.com/mxflow/mxflow/engine/openai"
)

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

// Turns is how many requests the conversation of a prompt has.
func (p *Prompt) Turns() int {
	n := 0
	for ; p != nil; p = p.Next {
		n++
	}
	return n
}
