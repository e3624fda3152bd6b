package prompt

import (
	"context"
	"fmt"
)

// conversation makes a prompt of generated text, with the messages that follow
// it.
func (f *fitter) conversation(ctx context.Context, series string, index int) (Prompt, error) {
	p, err := f.first(ctx, series, index, f.spec.length(series, index, 0), f.spec.Depth)
	if err != nil {
		return p, err
	}
	p.Output = f.spec.output(series, index, 0)
	last := &p
	for turn := 1; turn < f.spec.Turns; turn++ {
		next, err := f.later(ctx, series, index, turn, f.spec.length(series, index, turn))
		if err != nil {
			return p, fmt.Errorf("turn %d: %w", turn, err)
		}
		next.Output = f.spec.output(series, index, turn)
		last.Next = &next
		last = last.Next
	}
	return p, nil
}

// length is the number of tokens of a prompt.
func (s Spec) length(series string, index, turn int) int {
	if s.Lengths == nil {
		return s.Tokens
	}
	return s.Lengths.at(s.Seed, "prompt", series, index, turn)
}

// longest is the most tokens that a prompt may have, 0 where that is not known.
func (s Spec) longest() int {
	if s.Lengths == nil {
		return s.Tokens
	}
	return s.Lengths.Max
}

// output is the number of tokens of an answer, 0 where it is the plan's.
func (s Spec) output(series string, index, turn int) int {
	if s.Outputs == nil {
		return 0
	}
	return s.Outputs.at(s.Seed, "output", series, index, turn)
}

// repeats reports whether prompts may be the same, as a trace may say.
func (s Spec) repeats() bool { return s.Data != nil && s.Data.SharesPrefixes() }

// same says what is wrong with two prompts that are the same.
func (s Spec) same(one, other string) string {
	if s.Data != nil {
		return fmt.Sprintf("%s and %s of %s are the same, so that the second would be answered from a cache: remove one of the two rows", one, other, s.Data.Name)
	}
	return fmt.Sprintf("prompts of %s are too short to be unique: ask for longer ones, or for fewer", s.lengths())
}

func (s Spec) lengths() string {
	if s.Lengths != nil {
		return fmt.Sprintf("%d tokens and more", s.Lengths.Min)
	}
	return fmt.Sprintf("%d tokens", s.Tokens)
}
