package prompt

import (
	"errors"
	"fmt"

	"github.com/mxflow/mxflow/engine/openai"
)

// Spec is what is asked of the prompts of one cell.
type Spec struct {
	// Cell and Seed fix the texts.
	Cell string
	Seed int64
	API  openai.API
	// Tokens is the length of each prompt, Lengths draws one for each in its
	// place, and Data has prompts of its own.
	Tokens  int
	Lengths *Lengths
	Data    *Dataset
	// Outputs draws the length of each answer (Prompt.Output); nil leaves it to the
	// plan, or to Data.
	Outputs *Lengths
	// CountTemplate says that the lengths of first messages include the chat
	// template's tokens. Without it the engine counts that many more. A token that
	// begins every text is the template's in a chat, and the prompt's elsewhere.
	CountTemplate bool
	// Depth is tokens of context before each prompt, SystemTokens the length of a
	// system prompt that all prompts of the cell share; 0 is none.
	Depth, SystemTokens int
	// Turns is how many messages the user sends in each conversation; 0 is 1. Each
	// later one has the asked number of tokens by itself, without a template. Of
	// Data it is how many of a conversation's are sent at most.
	Turns int
	// Random sends token ids drawn from the vocabulary in place of text.
	Random bool
	// Learned is shared by all cells of one engine; nil learns anew.
	Learned *Learned
	// Warmup and Requests are how many there shall be.
	Warmup, Requests int
	// Timeouts limit the requests that may have to be sent; they may be the first
	// that the engine gets.
	Timeouts openai.Timeouts
}

func (s *Spec) check() error {
	if s.API == "" {
		s.API = openai.Completions
	}
	s.Turns = max(s.Turns, 1)
	if s.Learned == nil {
		s.Learned = &Learned{}
	}
	for _, drawn := range []*Lengths{s.Lengths, s.Outputs} {
		if drawn != nil {
			if err := drawn.Check(); err != nil {
				return err
			}
		}
	}
	made := s.Data == nil && s.Lengths == nil
	switch {
	case s.Requests < 0 || s.Warmup < 0 || s.Depth < 0 || s.SystemTokens < 0 || made && s.Tokens < 1:
		return fmt.Errorf("prompts of %d tokens with %d of context and %d of system prompt, %d and %d for warm-up, cannot be made",
			s.Tokens, s.Depth, s.SystemTokens, s.Requests, s.Warmup)
	case s.Random && s.API == openai.Chat:
		return errors.New(`random token ids cannot be sent as a chat, which has text only: use api = "completions", or prompts = "text"`)
	case s.Random && (s.Turns > 1 || s.SystemTokens > 0):
		return errors.New(`random token ids make no conversation and no system prompt: use prompts = "text" with turns and system_tokens`)
	case s.Data == nil:
		return s.room()
	case s.Random || s.Lengths != nil || s.Depth > 0 || s.SystemTokens > 0:
		return errors.New("a data set has prompts of its own: leave out prompts, prompt_lengths, depth and system_tokens")
	}
	if err := s.Data.enough(*s); err != nil {
		return err
	}
	return s.room()
}
