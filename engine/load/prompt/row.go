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

	"github.com/mxflow/mxflow/engine/openai"
)

// form is one of the forms of a row: its parser, and the members it has besides the one
// that identifies it.
type form struct {
	read func(*Row, members) error
	also []string
}

var answered = []string{"output_tokens", "max_tokens", "tools", "tool_choice"}

// forms by their identifying member.
var forms = map[string]form{
	"prompt":        {(*Row).readPrompt, append([]string{"system"}, answered...)},
	"messages":      {(*Row).readMessages, answered},
	"conversations": {(*Row).readConversations, append([]string{"system"}, answered...)},
}

// meaningless are members that data sets have for other tools.
var meaningless = []string{"id", "source", "category", "type", "model", "language", "metadata"}

// parseRow reads one row.
func parseRow(text []byte) (Row, error) {
	var r Row
	if len(text) > maxRow {
		return r, fmt.Errorf("the row has %d bytes, more than the limit of %d", len(text), maxRow)
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
		return r, fmt.Errorf("the row has none of %q: add one of them", slices.Sorted(maps.Keys(forms)))
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if name != is && !slices.Contains(forms[is].also, name) && !slices.Contains(meaningless, name) {
			return r, fmt.Errorf("a row with %q has no member %q: use %q, and put anything else under \"metadata\"", is, name, forms[is].also)
		}
	}
	if err := forms[is].read(&r, m); err != nil {
		return r, err
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
			err = errors.New("it ends too early; the file may be truncated")
		}
		return nil, fmt.Errorf("the row is not one JSON object, at byte %d: %w", dec.InputOffset(), err)
	}
	begin, err := dec.Token()
	if err != nil {
		return fail(err)
	}
	if begin != json.Delim('{') {
		return fail(fmt.Errorf("it starts with %.20q", fmt.Sprint(begin)))
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
		return fail(errors.New("unexpected text after the object"))
	}
	return m, nil
}

// text is a member that must be a non-empty text.
func (m members) text(name string) (string, error) {
	var s *string
	raw := m[name]
	if raw == nil {
		return "", fmt.Errorf("%q is missing", name)
	}
	if json.Unmarshal(raw, &s) != nil || s == nil {
		return "", fmt.Errorf("%q must be text, not %.40s", name, raw)
	}
	if strings.TrimSpace(*s) == "" {
		return "", fmt.Errorf("%q is empty: remove the row, or add its text", name)
	}
	// encoding/json replaces half a surrogate pair by U+FFFD.
	if strings.ContainsRune(*s, utf8.RuneError) && !bytes.Contains(bytes.ToLower(raw), []byte(`\ufffd`)) && !bytes.Contains(raw, []byte("\uFFFD")) {
		return "", fmt.Errorf("%q has half a surrogate pair (\\ud800 to \\udfff), which is not valid text: remove it", name)
	}
	return *s, nil
}

// count is a member that is a whole number of tokens, 0 if missing.
func (m members) count(name string) (int, error) {
	raw := m[name]
	if raw == nil {
		return 0, nil
	}
	var n *int
	if json.Unmarshal(raw, &n) != nil || n == nil || *n < 1 || *n > maxLength {
		return 0, fmt.Errorf("%q must be a whole number of tokens from 1 to %d, not %.40s", name, maxLength, raw)
	}
	return *n, nil
}

// list is a member that is an array of at least one and at most so many.
func (m members) list(name string, most int) ([]json.RawMessage, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(m[name], &list); err != nil || len(list) == 0 {
		return nil, fmt.Errorf("%q must be a non-empty array, not %.40s", name, m[name])
	}
	if len(list) > most {
		return nil, fmt.Errorf("%q has %d elements, more than the limit of %d", name, len(list), most)
	}
	return list, nil
}

func (r *Row) readPrompt(m members) error {
	text, err := m.text("prompt")
	if err != nil {
		return err
	}
	r.Turns = []string{text}
	return r.readSystem(m)
}

func (r *Row) readSystem(m members) (err error) {
	if m["system"] != nil {
		r.System, err = m.text("system")
	}
	return err
}

// messages reads an array of objects with a text and its author.
func (m members) messages(name, who, what string) ([]openai.Message, error) {
	list, err := m.list(name, maxMessages)
	if err != nil {
		return nil, err
	}
	all := make([]openai.Message, len(list))
	for i, raw := range list {
		one, err := object(raw)
		if err == nil {
			all[i].Role, err = one.text(who)
		}
		if err == nil {
			all[i].Content, err = one.text(what)
		}
		if err == nil && name == "messages" && len(one) > 2 {
			err = fmt.Errorf("it may only have %q and %q", who, what)
		}
		if err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", name, i, err)
		}
	}
	return all, nil
}

func (r *Row) readMessages(m members) error {
	all, err := m.messages("messages", "role", "content")
	if err != nil {
		return err
	}
	for i, one := range all {
		switch one.Role {
		case "system":
			if i > 0 {
				return fmt.Errorf("messages[%d]: a system message must be the first", i)
			}
			r.System = one.Content
			continue
		case "user", "assistant":
		default:
			return fmt.Errorf("messages[%d]: unknown role %.40q: use \"system\", \"user\" or \"assistant\"", i, one.Role)
		}
		r.Before = append(r.Before, one)
	}
	last := len(r.Before) - 1
	if last < 0 || r.Before[last].Role != "user" {
		return fmt.Errorf("the last message must be the user's, which the engine answers")
	}
	r.Turns, r.Before = []string{r.Before[last].Content}, r.Before[:last:last]
	return nil
}

// readConversations keeps what people said. The names are those of ShareGPT files.
func (r *Row) readConversations(m members) error {
	all, err := m.messages("conversations", "from", "value")
	if err != nil {
		return err
	}
	if err := r.readSystem(m); err != nil {
		return err
	}
	for i, one := range all {
		switch one.Role {
		case "human", "user":
			r.Turns = append(r.Turns, one.Content)
		case "gpt", "assistant", "model", "chatgpt", "bard", "bing":
		case "system":
			if i > 0 || r.System != "" {
				return fmt.Errorf("conversations[%d]: a system message must be the first, and the only one", i)
			}
			r.System = one.Content
		default:
			return fmt.Errorf("conversations[%d]: unknown speaker %.40q: use \"human\", \"gpt\" or \"system\"", i, one.Role)
		}
	}
	if len(r.Turns) == 0 {
		return fmt.Errorf("the conversation has no turn of the human: remove the row")
	}
	return nil
}

// readAnswer reads a row's members about its answer.
func (r *Row) readAnswer(m members) (err error) {
	name := "output_tokens"
	if m["max_tokens"] != nil {
		if m[name] != nil {
			return fmt.Errorf(`the row has both "output_tokens" and "max_tokens": keep one of them`)
		}
		name = "max_tokens"
	}
	if r.Output, err = m.count(name); err != nil {
		return err
	}
	if m["tool_choice"] != nil && m["tools"] == nil {
		return fmt.Errorf(`the row has "tool_choice" but no "tools": add tools, or remove it`)
	}
	for _, name := range []string{"tools", "tool_choice"} {
		if m[name] == nil {
			continue
		}
		if name == "tools" {
			list, err := m.list(name, maxMessages)
			if err != nil {
				return err
			}
			for i, tool := range list {
				if _, err := object(tool); err != nil {
					return fmt.Errorf("tools[%d]: %w", i, err)
				}
			}
		}
		var value any
		if err := json.Unmarshal(m[name], &value); err != nil || value == nil {
			return fmt.Errorf("%q must have a value, not %.40s", name, m[name])
		}
		if r.Extra == nil {
			r.Extra = map[string]any{}
		}
		r.Extra[name] = value
	}
	return nil
}

// Row is one row of a data set.
type Row struct {
	// Line of the file, from 1.
	Line int
	// System and Before precede the user's messages, Turns; the first is the prompt and
	// the others follow the engine's answers.
	System string
	Before []openai.Message
	Turns  []string
	// Output is the length of the answer, 0 if the row has none.
	Output int
	// Extra are tools and how they may be chosen.
	Extra map[string]any
}
