package embedded

import "slices"

// maxDraft bounds how many tokens a step may draft.
const maxDraft = 16

// The lengths of the n-grams that prompt lookup looks for, in tokens, longest
// first. Down to one token, as prompt lookup was published: so there is a draft
// in nearly every step, which is worth a lot where the text repeats what stands
// in the prompt and costs a lot where it does not.
const (
	longestGram  = 3
	shortestGram = 1
)

// promptLookup drafts up to n tokens that may follow: what followed when the
// last few tokens stood there before, in prompt or output, the latest time
// first (Saxena, "Prompt Lookup Decoding", 2023). Where that runs into the end
// of tokens it goes on with its own draft, so that short loops are drafted in
// full.
func promptLookup(tokens []token, n int) []token {
	for gram := longestGram; gram >= shortestGram; gram-- {
		if len(tokens) <= gram {
			continue
		}
		suffix := tokens[len(tokens)-gram:]
		for at := len(tokens) - gram - 1; at >= 0; at-- {
			if slices.Equal(tokens[at:at+gram], suffix) {
				return continuation(tokens, at+gram, n)
			}
		}
	}
	return nil
}

func continuation(tokens []token, from, n int) []token {
	draft := make([]token, 0, n)
	for i := range n {
		if at := from + i; at < len(tokens) {
			draft = append(draft, tokens[at])
		} else {
			draft = append(draft, draft[at-len(tokens)])
		}
	}
	return draft
}
