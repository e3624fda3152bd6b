package prompt

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/mxflow/mxflow/engine/load/traffic"
	"github.com/mxflow/mxflow/engine/openai"
)

// recorded makes a conversation of a trace, with the times at which its messages are sent. A warm-up has the lengths of
// one, and a text that no other begins with.
func (f *fitter) recorded(ctx context.Context, series string, index int) (Prompt, error) {
	all := f.spec.Trace.Conversations
	turns := all[index%len(all)]
	if series == "warmup" {
		one := traffic.Request{Prompt: turns[0].Prompt, Output: turns[0].Output}
		if one.Prompt == 0 {
			one.Text = f.spec.source(series, index).nonce + ". " + turns[0].Text
		}
		turns = []traffic.Request{one}
	}
	var p Prompt
	last := &p
	for turn, one := range turns {
		if turn > 0 {
			last.Next = &Prompt{}
			last = last.Next
		}
		*last = Prompt{
			At: one.At, After: one.After, Output: one.Output, Shared: one.Shared, Text: one.Text, System: one.System,
			Alone: turn > 0 && len(one.Blocks) > 0,
		}
		for _, m := range one.Before {
			last.Before = append(last.Before, openai.Message{Role: m.Role, Content: m.Content})
		}
		if one.Prompt == 0 {
			last.Alone = turn > 0 && len(one.Before) > 0
			continue
		}
		asked, own := f.lengths(one.Prompt)
		if own < 1 {
			return p, fmt.Errorf("line %d: %d tokens are too few: the template alone has %d", one.Line, asked, f.added)
		}
		last.Tokens = asked
		var err error
		switch s := f.spec.source(fmt.Sprintf("%s turn %d", series, turn), index); {
		case turn == 0 || last.Alone:
			last.Text, err = f.blocks(ctx, s, one, own)
		case f.spec.API == openai.Chat:
			last.Tokens = one.Prompt
			last.Text, err = f.text(ctx, s, "", one.Prompt, true)
		default: // one growing text
			last.Tokens = one.Prompt
			last.Text, err = f.text(ctx, s, anchor, one.Prompt, true)
		}
		if err != nil {
			return p, fmt.Errorf("line %d: %w", one.Line, err)
		}
	}
	return p, nil
}

// blocks makes a text of own tokens of the blocks that a request begins with, and of what only it has. A token that
// starts every text is part of the first block, so what prompts share ends where blocks of the engine's cache can. How
// much of a chat's template comes first is not known: it is shared besides.
func (f *fitter) blocks(ctx context.Context, s *source, one traffic.Request, own int) (string, error) {
	if len(one.Blocks) == 0 {
		return f.text(ctx, s, "", own, true)
	}
	if f.search {
		return "", errors.New("the words of its vocabulary have no tokens of their own, so prompts cannot share a " +
			"number of tokens: remove the blocks from the trace")
	}
	var b strings.Builder
	left, n := own, f.spec.Trace.Block
	if f.spec.API != openai.Chat {
		n -= f.added
	}
	for i, id := range one.Blocks {
		if n = min(n, left); n > 0 {
			text, err := f.block(ctx, f.spec.source("block", int(id)), n, i == 0)
			if err != nil {
				return "", err
			}
			b.WriteString(text)
			left -= n
		}
		n = f.spec.Trace.Block
	}
	if left == 0 {
		return b.String(), nil
	}
	text, err := f.text(ctx, s, b.String(), left, true)
	return b.String() + text, err
}

// block is a text of n tokens with which a longer one from the same source begins too, but for the last two. Its first
// tokens are no other's.
func (f *fitter) block(ctx context.Context, s *source, n int, begins bool) (string, error) {
	if f.bytes > 0 {
		return strings.TrimSuffix(" "+s.first(max(1, int(math.Round(float64(n)*f.bytes)-1))), " "), nil
	}
	nonce, err := f.compose(ctx, s, min(n, nonceTokens), begins, true)
	if n <= nonceTokens || err != nil {
		return nonce, err
	}
	var b strings.Builder
	b.WriteString(nonce)
	for n -= nonceTokens; n > 0; {
		word := s.next(f.words)
		if stem, ends := strings.CutSuffix(word, "."); ends {
			whole, err := f.cost(ctx, word)
			alone, wrong := f.cost(ctx, stem)
			if err = errors.Join(err, wrong); err != nil {
				return "", err
			}
			if whole != 2 || alone != 1 {
				continue // the end of a block could lie within it
			}
			if word = stem; n > 2 {
				word += "."
				n--
			}
		}
		b.WriteString(word)
		n--
	}
	return b.String(), nil
}

// nonceTokens is the length of what makes the beginning of a block unique.
const nonceTokens = 12
