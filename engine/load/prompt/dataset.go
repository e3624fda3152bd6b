package prompt

import (
	"bytes"
	"errors"
	"fmt"
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

// Dataset is prompts that were read from a file, or a trace of when prompts of
// which length were sent. ParseDataset says which files are.
type Dataset struct {
	// Name is the file's, for messages.
	Name string
	Rows []Row
	// began is the timestamp of the first row.
	began time.Duration
}

// Row is one row of a data set.
type Row struct {
	// Line of the file, from 1.
	Line int
	// System and Before precede what the user says, Turns; the first is the prompt
	// and the others follow the engine's answers.
	System string
	Before []openai.Message
	Turns  []string
	// Output is the length of the answer, 0 where the row does not say.
	Output int
	// Extra are tools and how they may be chosen.
	Extra map[string]any
	// At is when a trace sends the prompt, since its first row. Input is the length
	// of its text, which is generated, and Hashes are its blocks.
	At     time.Duration
	Input  int
	Hashes []uint64
}

// Trace reports whether the rows are a trace: lengths and times, no texts.
func (d *Dataset) Trace() bool { return len(d.Rows) > 0 && d.Rows[0].Input > 0 }

// SharesPrefixes reports whether prompts begin alike because the trace says so.
// What the engine then finds in its cache is no contamination.
func (d *Dataset) SharesPrefixes() bool {
	for _, r := range d.Rows {
		if len(r.Hashes) > 0 {
			return true
		}
	}
	return false
}

// ParseDataset reads a data set: JSON lines, one object a request, in one of
// these forms.
//
//	{"prompt": "…"}
//	{"messages": [{"role": "system", "content": "…"}, {"role": "user", "content": "…"}]}
//	{"conversations": [{"from": "human", "value": "…"}, {"from": "gpt", "value": "…"}]}
//	{"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47]}
//
// Messages are sent as they are, and the last must be the user's. Of
// conversations only what the system and the human say is sent, the answers
// being the engine's own. The fourth is a row of a trace: milliseconds, tokens,
// and a number for each 512 tokens, of which equal ones are equal text; a file
// has rows of a trace or others, not both. "output_tokens" or "max_tokens" may
// say how long the answer is, "tools" and "tool_choice" go into the request. id,
// source, category, type, model, language and metadata may be there and mean
// nothing. Any other member is an error, since it may be a misspelt one.
//
// Blank lines are passed over. A row that is damaged fails the whole, with the
// file, the line, what is wrong and what to do.
func ParseDataset(name string, data []byte) (*Dataset, error) {
	if len(data) > maxDataset {
		return nil, fmt.Errorf("%s: %d bytes, %d are read at most: cut the file to the rows that are sent", name, len(data), maxDataset)
	}
	d := &Dataset{Name: name}
	rest := bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if first := bytes.TrimLeft(rest, " \t\r\n"); len(first) > 0 && first[0] == '[' {
		return nil, fmt.Errorf("%s:1: the file is one JSON array, and a data set has one object a line: write it anew with `jq -c '.[]'`", name)
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
			return nil, fail(fmt.Errorf("more than %d rows: cut the file to those that are sent", maxRows))
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
		return nil, fmt.Errorf(`%s: no row: write one object a line, such as {"prompt": "Why is the sky blue?"}`, name)
	}
	return d, nil
}

// add takes one more row, with its time since the first.
func (d *Dataset) add(row Row) error {
	if len(d.Rows) == 0 {
		d.began = row.At
	} else if (row.Input > 0) != d.Trace() {
		return errors.New("a row of a trace and one with text cannot be in the same file: use one file for each")
	}
	row.At -= d.began
	if row.At < 0 || len(d.Rows) > 0 && row.At < d.Rows[len(d.Rows)-1].At {
		return errors.New("the timestamp is before that of the row above: sort the rows by timestamp")
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
		return fmt.Errorf("%s has %d rows, and %d requests and %d for warm-up are to be sent, no row twice, since a prompt sent again may be answered from a cache: add rows, or lower requests or warmup",
			d.Name, len(d.Rows), s.Requests, s.Warmup)
	}
	for _, r := range d.Rows {
		if s.API != openai.Chat && (r.System != "" || len(r.Before) > 0 || len(r.Turns) > 1 && s.Turns > 1 || len(r.Extra) > 0) {
			return fmt.Errorf(`%s:%d: a row with messages or tools can only be sent as a chat: say api = "chat"`, d.Name, r.Line)
		}
	}
	return nil
}
