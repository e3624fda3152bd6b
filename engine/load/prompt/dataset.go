package prompt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/openai"
)

// Bounds of data sets.
const (
	maxDataset  = 1 << 30 // bytes
	maxRow      = 16 << 20
	maxRows     = 1_000_000
	maxMessages = 1000
	// hashBlock is how many tokens each of a trace's hash_ids stands for.
	hashBlock = 512
)

// Dataset is prompts read from a file, or a trace of when prompts of which length were
// sent. ParseDataset describes the files.
type Dataset struct {
	// Name is the file's, for messages.
	Name string
	Rows []Row
	// began is the timestamp of the first row.
	began time.Duration
}

// Trace reports whether the rows are a trace: lengths and times, no texts.
func (d *Dataset) Trace() bool { return len(d.Rows) > 0 && d.Rows[0].Input > 0 }

// SharesPrefixes reports whether prompts begin alike because the trace says so. Whatever
// the engine then finds in its cache is no contamination.
func (d *Dataset) SharesPrefixes() bool {
	for _, r := range d.Rows {
		if len(r.Hashes) > 0 {
			return true
		}
	}
	return false
}

// ParseDataset reads a data set: JSON lines, one object per request, in one of these
// forms.
//
//	{"prompt": "…"}
//	{"messages": [{"role": "system", "content": "…"}, {"role": "user", "content": "…"}]}
//	{"conversations": [{"from": "human", "value": "…"}, {"from": "gpt", "value": "…"}]}
//	{"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47]}
//
// Messages are sent as they are, and the last must be the user's. Of conversations only
// what the system and the human say is sent, since the answers are the engine's own. The
// fourth is a row of a trace: milliseconds, tokens, and a number for each 512 tokens;
// equal numbers are equal text. A file has rows of a trace or others, not both.
// "output_tokens" or "max_tokens" may give the length of the answer; "tools" and
// "tool_choice" go into the request. id, source, category, type, model, language and
// metadata are allowed and ignored. Any other member is an error, since it may be a
// misspelt one.
//
// Blank lines are skipped. One damaged row fails the whole file, with the file, the line,
// what is wrong and what to do.
func ParseDataset(name string, data []byte) (*Dataset, error) {
	if len(data) > maxDataset {
		return nil, fmt.Errorf("%s: %d bytes exceed the limit of %d: keep only the rows to send", name, len(data), maxDataset)
	}
	d := &Dataset{Name: name}
	rest := bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if first := bytes.TrimLeft(rest, " \t\r\n"); len(first) > 0 && first[0] == '[' {
		return nil, fmt.Errorf("%s:1: the file is a JSON array, but a dataset has one object per line: convert it with `jq -c '.[]'`", name)
	}
	for line := 1; len(rest) > 0; line++ {
		var text []byte
		text, rest, _ = bytes.Cut(rest, []byte("\n"))
		text = bytes.TrimSpace(text)
		if len(text) == 0 {
			continue
		}
		fail := func(err error) error { return fmt.Errorf("%s:%d: %w", name, line, err) }
		if len(d.Rows) == maxRows {
			return nil, fail(fmt.Errorf("more than %d rows: keep only those to send", maxRows))
		}
		row, err := parseRow(text)
		if err != nil {
			return nil, fail(err)
		}
		row.Line = line
		if err := d.add(row); err != nil {
			return nil, fail(err)
		}
	}
	if len(d.Rows) == 0 {
		return nil, fmt.Errorf(`%s: no rows: write one object per line, such as {"prompt": "Why is the sky blue?"}`, name)
	}
	return d, nil
}

// add appends a row, with its time since the first.
func (d *Dataset) add(row Row) error {
	if len(d.Rows) == 0 {
		d.began = row.At
	} else if (row.Input > 0) != d.Trace() {
		return errors.New("rows of a trace and rows with text cannot be in one file: use two files")
	}
	row.At -= d.began
	if row.At < 0 || len(d.Rows) > 0 && row.At < d.Rows[len(d.Rows)-1].At {
		return errors.New("the timestamp is earlier than that of the row above: sort the rows by timestamp")
	}
	d.Rows = append(d.Rows, row)
	return nil
}

// enough checks that a spec's prompts can be taken from the rows.
func (d *Dataset) enough(s Spec) error {
	need := s.Requests
	if !d.Trace() {
		need += s.Warmup
	}
	if len(d.Rows) < need {
		return fmt.Errorf("%s has %d rows, too few for %d requests and %d for warm-up (no row is sent twice, because a repeated prompt could be answered from a cache): add rows, or lower requests or warmup",
			d.Name, len(d.Rows), s.Requests, s.Warmup)
	}
	for _, r := range d.Rows {
		if s.API != openai.Chat && (r.System != "" || len(r.Before) > 0 || len(r.Turns) > 1 && s.Turns > 1 || len(r.Extra) > 0) {
			return fmt.Errorf(`%s:%d: a row with messages or tools can only be sent as a chat: set api = "chat"`, d.Name, r.Line)
		}
	}
	return nil
}

// row is the row of a prompt: from the first onwards for what is measured, from the last
// backwards for warm-ups, so that a prompt does not depend on how many there are.
func (d *Dataset) row(series string, index int) Row {
	if series == "warmup" {
		return d.Rows[(len(d.Rows)-1-index%len(d.Rows))%len(d.Rows)]
	}
	return d.Rows[index]
}

// given makes a prompt from a row with texts. Nothing is put before it to make it unique,
// since it is to be sent as it is.
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

// traced makes a prompt from a trace's row. Warm-ups share no blocks, so that they leave
// none in a cache.
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

// blocks makes a prompt from blocks. A block is the same text wherever its hash is at the
// same position. The first is shorter by what the engine adds.
func (f *fitter) blocks(ctx context.Context, row Row) (Prompt, error) {
	if f.tokens == nil || len(f.tokens.ones) < fewestOnes {
		return Prompt{}, errors.New("shared blocks (hash_ids) need an engine that counts tokens, by /tokenize or in usage, and has common words of one token: remove hash_ids to send prompts that share nothing")
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
			return Prompt{}, fmt.Errorf("the template's %d tokens do not fit into the first block of %d", f.added, hashBlock)
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
	text, got, err := f.assembled(ctx, f.spec.source(name, 0), before, n, true)
	if err == nil && got != n {
		err = fmt.Errorf("found no text of %d tokens for a block", n)
	}
	return text, err
}
