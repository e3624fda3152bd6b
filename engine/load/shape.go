package load

import "github.com/mxflow/mxflow/engine/openai"

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
