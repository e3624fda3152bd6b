package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// header is leaf 0 and the origin line of checkpoints.
const header = "mxflow-ledger/6"

// headerName is the part of the header that stays the same in every version.
const headerName = "mxflow-ledger/"

// maxLine limits a line, so a hostile file cannot exhaust memory.
const maxLine = 16 << 20

// formatLine is one line of a ledger: the leaf, TAB, the root of the tree that
// ends with it, LF.
func formatLine(leaf []byte, root tlog.Hash) []byte {
	line := make([]byte, 0, len(leaf)+46)
	line = append(line, leaf...)
	line = append(line, '\t')
	line = append(line, root.String()...)
	return append(line, '\n')
}

// otherFormat is the error for the header of another version.
type otherFormat string

func (f otherFormat) Error() string {
	return fmt.Sprintf("has format %q, but this mxflow reads only %q", string(f), header)
}

// hint is the remedy for a problem: the usual one, unless the format is another.
func hint(problem error, usual string) string {
	if _, other := errors.AsType[otherFormat](problem); other {
		return "Nothing was changed. Read it with the mxflow that wrote it, and keep a new record in another folder, " +
			"with --state"
	}
	return usual
}

// parseHeader checks leaf 0.
func parseHeader(leaf []byte) error {
	switch s := string(leaf); {
	case s == header:
		return nil
	case strings.HasPrefix(s, headerName) && len(s) < 64:
		return otherFormat(s)
	default:
		return fmt.Errorf("does not start with %q: this file is not a ledger", header)
	}
}

// encode is the canonical JSON of a record, and the record as readers will see it: times
// in UTC, invalid UTF-8 replaced.
func encode(r *Record) ([]byte, *Record, error) {
	if r == nil {
		return nil, nil, errors.New("the record is nil")
	}
	first, err := marshal(r)
	if err != nil {
		return nil, nil, err
	}
	// Decoding makes a copy that the caller cannot change any more, and normalizes what
	// JSON cannot carry.
	seen, err := unmarshal(first)
	if err != nil {
		return nil, nil, err
	}
	seen.Time = seen.Time.UTC()
	if seen.Launch != nil {
		seen.Launch.Started = seen.Launch.Started.UTC()
	}
	if seen.Waiver != nil {
		seen.Waiver.Expires = seen.Waiver.Expires.UTC()
	}
	leaf, err := marshal(seen)
	if err != nil {
		return nil, nil, err
	}
	if len(leaf) > maxLine-64 {
		return nil, nil,
			fmt.Errorf("has %d bytes, more than the limit of %d per ledger line: store large data as an artifact and "+
				"record its digest", len(leaf), maxLine)
	}
	return leaf, seen, nil
}

// decode reads a leaf. It rejects anything that encode would have written differently,
// including unknown fields and anything after the record.
func decode(leaf []byte) (*Record, error) {
	r, err := unmarshal(leaf)
	if err != nil {
		return nil, err
	}
	again, err := marshal(r)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(leaf, again) {
		dec := json.NewDecoder(bytes.NewReader(leaf))
		dec.DisallowUnknownFields()
		if err := dec.Decode(new(Record)); err != nil {
			return nil, fmt.Errorf("has an unknown field (%w): use a newer mxflow", err)
		}
		at := 0
		for at < len(leaf) && at < len(again) && leaf[at] == again[at] {
			at++
		}
		return nil,
			fmt.Errorf("is not JSON as mxflow writes it, from byte %d of the line on (a duplicate, misspelt, "+
				"misplaced or empty key, a space, another notation)", at+1)
	}
	return r, nil
}

func marshal(r *Record) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false) // rules are full of < and >, and people grep
	if err := enc.Encode(r); err != nil {
		return nil, fmt.Errorf("cannot be written as JSON: %w", err)
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}

func unmarshal(leaf []byte) (*Record, error) {
	r := new(Record)
	if err := json.Unmarshal(leaf, r); err != nil {
		return nil, fmt.Errorf("is not a record: %w", err)
	}
	return r, nil
}
