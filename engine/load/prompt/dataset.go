package prompt

import (
	"bytes"
	"context"
	"fmt"

	"github.com/mxflow/mxflow/engine/openai"
)

// Bounds of data sets.
const (
	maxDataset  = 1 << 30 // bytes
	maxRow      = 16 << 20
	maxRows     = 1_000_000
	maxMessages = 1000
)

// Dataset is prompts read from a file. ParseDataset describes the files.
type Dataset struct {
	// Name is the file's, for messages.
	Name string
	Rows []Row
}

// ParseDataset reads a data set: JSON lines, one object per request, in one of these
// forms.
//
//	{"prompt": "…"}
//	{"messages": [{"role": "system", "content": "…"}, {"role": "user", "content": "…"}]}
//	{"conversations": [{"from": "human", "value": "…"}, {"from": "gpt", "value": "…"}]}
//
// Messages are sent as they are, and the last must be the user's. Of conversations only
// what the system and the human say is sent, since the answers are the engine's own.
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
		d.Rows = append(d.Rows, row)
	}
	if len(d.Rows) == 0 {
		return nil, fmt.Errorf(`%s: no rows: write one object per line, such as {"prompt": "Why is the sky blue?"}`, name)
	}
	return d, nil
}

// enough checks that a spec's prompts can be taken from the rows.
func (d *Dataset) enough(s Spec) error {
	if len(d.Rows) < s.Requests+s.Warmup {
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
