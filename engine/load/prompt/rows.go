package prompt

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// row is the row of a prompt: the first for what is measured, from the last
// upwards for warm-ups, so that a prompt does not depend on how many there are.
func (d *Dataset) row(series string, index int) Row {
	if series == "warmup" {
		return d.Rows[(len(d.Rows)-1-index%len(d.Rows))%len(d.Rows)]
	}
	return d.Rows[index]
}

// given makes a prompt of a row with texts. Nothing is put before it that would
// make it unique, since it is to be sent as it is.
func (s Spec) given(_ context.Context, series string, index int) (Prompt, error) {
	row := s.Data.row(series, index)
	p := Prompt{
		System: row.System, Before: row.Before, Text: row.Turns[0],
		Output: s.rowOutput(row, series, index, 0), Extra: row.Extra,
	}
	last := &p
	for turn, text := range row.Turns[1:min(len(row.Turns), s.Turns)] {
		last.Next = &Prompt{Text: text, Output: s.rowOutput(row, series, index, turn+1)}
		last = last.Next
	}
	return p, nil
}

// rowOutput is the length of an answer: the row's, or a drawn one.
func (s Spec) rowOutput(row Row, series string, index, turn int) int {
	if row.Output > 0 {
		return row.Output
	}
	return s.output(series, index, turn)
}

// traced makes a prompt of a trace's row. Warm-ups share no blocks, so that they
// leave none in a cache.
func (f *fitter) traced(ctx context.Context, series string, index int) (Prompt, error) {
	row := f.spec.Data.row(series, index)
	var p Prompt
	var err error
	if series == "measured" && len(row.Hashes) > 0 {
		p, err = f.blocks(ctx, row)
	} else {
		p, err = f.first(ctx, series, index, row.Input, 0)
	}
	if err != nil {
		return p, fmt.Errorf("%s:%d: %w", f.spec.Data.Name, row.Line, err)
	}
	p.Output = f.spec.rowOutput(row, series, index, 0)
	if series == "measured" {
		p.At = row.At
	}
	return p, nil
}

// blocks makes a prompt of blocks, each of which is the same text wherever its
// hash stands at the same place. The first is shorter by what the engine adds.
func (f *fitter) blocks(ctx context.Context, row Row) (Prompt, error) {
	if f.tokens == nil || len(f.tokens.ones) < fewestOnes {
		return Prompt{}, errors.New("blocks that prompts share (hash_ids) need an engine that counts tokens, by /tokenize or in usage, with common words of one token: remove hash_ids to send prompts that share nothing")
	}
	asked, own, err := f.asked(row.Input)
	if err != nil {
		return Prompt{}, err
	}
	var before strings.Builder
	have := 0
	for i, hash := range row.Hashes {
		n := own - have
		if i < len(row.Hashes)-1 {
			n = min(n, hashBlock*(i+1)-(row.Input-own)-have)
		}
		if n < 1 {
			return Prompt{}, fmt.Errorf("the template's %d tokens leave no room in the first block of %d", f.added, hashBlock)
		}
		text, err := f.block(ctx, fmt.Sprintf("block %d of %d", i, hash), before.Len() == 0, n)
		if err != nil {
			return Prompt{}, err
		}
		before.WriteString(text)
		have += n
	}
	p := Prompt{Text: before.String(), Tokens: asked, Asked: asked}
	if f.method == Tokenizer {
		n, err := f.tokens.ask(ctx, p.Text)
		if err != nil {
			return p, err
		}
		p.Tokens += n - f.tokens.overhead - own
	}
	return p, nil
}

// block is the text of a block.
func (f *fitter) block(ctx context.Context, name string, first bool, n int) (string, error) {
	before := "."
	if first {
		before = ""
	}
	text, got, err := f.assembled(ctx, newSource(f.spec.Seed, f.spec.Cell, name, 0), before, n, true)
	if err == nil && got != n {
		err = fmt.Errorf("no text of %d tokens was found for a block", n)
	}
	return text, err
}
