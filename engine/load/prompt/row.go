package prompt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// form is one of the forms of a row: what reads it, and which members it has
// beside the one that tells it from others.
type form struct {
	read func(*Row, members) error
	also []string
}

var answered = []string{"output_tokens", "max_tokens", "tools", "tool_choice"}

// forms by the member that tells them apart.
var forms = map[string]form{
	"prompt":        {(*Row).readPrompt, append([]string{"system"}, answered...)},
	"messages":      {(*Row).readMessages, answered},
	"conversations": {(*Row).readConversations, append([]string{"system"}, answered...)},
	"input_length":  {(*Row).readTrace, []string{"timestamp", "output_length", "hash_ids"}},
}

// meaningless are members that data sets have for other readers.
var meaningless = []string{"id", "source", "category", "type", "model", "language", "metadata"}

// parseRow reads one row.
func parseRow(text []byte) (Row, error) {
	var r Row
	if len(text) > maxRow {
		return r, fmt.Errorf("the row has %d bytes, %d are read at most", len(text), maxRow)
	}
	if !utf8.Valid(text) {
		return r, errors.New("the row is not UTF-8: save the file as UTF-8")
	}
	m, err := object(text)
	if err != nil {
		return r, err
	}
	is := ""
	for _, name := range slices.Sorted(maps.Keys(forms)) {
		if m[name] == nil {
			continue
		}
		if is != "" {
			return r, fmt.Errorf("the row has both %q and %q: keep one of them", is, name)
		}
		is = name
	}
	if is == "" {
		return r, fmt.Errorf("the row has none of %q: it must say what is sent", slices.Sorted(maps.Keys(forms)))
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if name != is && !slices.Contains(forms[is].also, name) && !slices.Contains(meaningless, name) {
			return r, fmt.Errorf("a row with %q has no member %q: use %q, and put anything else under \"metadata\"", is, name, forms[is].also)
		}
	}
	if err := forms[is].read(&r, m); err != nil {
		return r, err
	}
	if is == "input_length" {
		return r, nil
	}
	return r, r.readAnswer(m)
}

// members are those of a JSON object.
type members map[string]json.RawMessage

// object reads a JSON object and nothing else, each member once.
func object(text []byte) (members, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	fail := func(err error) (members, error) {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("it ends too early; the file may have been cut")
		}
		return nil, fmt.Errorf("the row is not one whole JSON object, at byte %d: %w", dec.InputOffset(), err)
	}
	begin, err := dec.Token()
	if err != nil {
		return fail(err)
	}
	if begin != json.Delim('{') {
		return fail(fmt.Errorf("it begins with %.20q", fmt.Sprint(begin)))
	}
	m := members{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return fail(err)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return fail(err)
		}
		if m[name.(string)] != nil {
			return nil, fmt.Errorf("the row has two members %.40q: remove one", name)
		}
		m[name.(string)] = value
	}
	if _, err := dec.Token(); err != nil {
		return fail(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fail(errors.New("something follows the object"))
	}
	return m, nil
}

// text is a member that must be a text with something in it.
func (m members) text(name string) (string, error) {
	var s *string
	raw := m[name]
	if raw == nil {
		return "", fmt.Errorf("%q is missing", name)
	}
	if json.Unmarshal(raw, &s) != nil || s == nil {
		return "", fmt.Errorf("%q must be a text, and is %.40s", name, raw)
	}
	if strings.TrimSpace(*s) == "" {
		return "", fmt.Errorf("%q is empty: remove the row, or write what is sent", name)
	}
	// encoding/json puts U+FFFD in place of half a surrogate pair.
	if strings.ContainsRune(*s, utf8.RuneError) && !bytes.Contains(bytes.ToLower(raw), []byte(`\ufffd`)) && !bytes.Contains(raw, []byte("\uFFFD")) {
		return "", fmt.Errorf("%q has half a surrogate pair (\\ud800 to \\udfff), which no text has: remove it", name)
	}
	return *s, nil
}

// count is a member that is a whole number of tokens, 0 where it is missing.
func (m members) count(name string) (int, error) {
	raw := m[name]
	if raw == nil {
		return 0, nil
	}
	var n *int
	if json.Unmarshal(raw, &n) != nil || n == nil || *n < 1 || *n > maxLength {
		return 0, fmt.Errorf("%q must be a whole number of tokens from 1 to %d, and is %.40s", name, maxLength, raw)
	}
	return *n, nil
}

// list is a member that is an array of at least one and at most so many.
func (m members) list(name string, most int) ([]json.RawMessage, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(m[name], &list); err != nil || len(list) == 0 {
		return nil, fmt.Errorf("%q must be an array that is not empty, and is %.40s", name, m[name])
	}
	if len(list) > most {
		return nil, fmt.Errorf("%q has %d elements, %d are read at most", name, len(list), most)
	}
	return list, nil
}
