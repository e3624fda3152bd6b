package prompt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/internal/foreign"
)

// maxDataset bounds data sets, in bytes, and maxOutput the length of an answer: more
// tokens than any engine of this decade gives.
const (
	maxDataset = 1 << 30
	maxOutput  = 100_000_000
)

// Dataset is prompts read from a file. ParseDataset describes the files.
type Dataset struct {
	Name string
	Rows []Row
}

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
		return nil,
			fmt.Errorf("%s: %d bytes exceed the limit of %d: keep only the rows to send", name, len(data), maxDataset)
	}
	d := &Dataset{Name: name}
	rest := bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if first := bytes.TrimLeft(rest, " \t\r\n"); len(first) > 0 && first[0] == '[' {
		return nil,
			fmt.Errorf("%s:1: the file is a JSON array, but a dataset has one object per line: convert it with `jq "+
				"-c '.[]'`", name)
	}
	for line := 1; len(rest) > 0; line++ {
		var text []byte
		text, rest, _ = bytes.Cut(rest, []byte("\n"))
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		row, err := parseRow(text)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, line, err)
		}
		row.Line = line
		d.Rows = append(d.Rows, row)
	}
	if len(d.Rows) == 0 {
		return nil,
			fmt.Errorf(`%s: no rows: write one object per line, such as {"prompt": "Why is the sky blue?"}`, name)
	}
	return d, nil
}

// members are those that a row may have.
type members struct {
	Prompt        string           `json:"prompt"`
	System        string           `json:"system"`
	Messages      []openai.Message `json:"messages"`
	Conversations []speech         `json:"conversations"`
	OutputTokens  *int             `json:"output_tokens"`
	MaxTokens     *int             `json:"max_tokens"`
	Tools         []map[string]any `json:"tools"`
	ToolChoice    any              `json:"tool_choice"`
	// What data sets have for other tools.
	ID, Source, Category, Type, Model, Language, Metadata any
}

// speech is what one side says in a conversation of a ShareGPT file.
type speech struct{ From, Value string }

// UnmarshalJSON ignores other members, of which such files have several.
func (s *speech) UnmarshalJSON(text []byte) error {
	type plain speech
	return json.Unmarshal(text, (*plain)(s))
}

// roles are those of messages, by the names that ShareGPT files give them.
var roles = map[string]string{
	"system": "system", "human": "user", "user": "user",
	"gpt": "assistant", "assistant": "assistant", "model": "assistant",
	"chatgpt": "assistant", "bard": "assistant", "bing": "assistant",
}

func parseRow(text []byte) (r Row, err error) {
	if !utf8.Valid(text) {
		return r, errors.New("the row is not UTF-8: save the file as UTF-8")
	}
	var m members
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	err = decoder.Decode(&m)
	if err != nil {
		err = foreign.NotJSON(text, err)
	} else if _, end := decoder.Token(); !errors.Is(end, io.EOF) {
		err = errors.New("it has text after the object")
	}
	if err != nil {
		return r, fmt.Errorf("the row is not one object of the members that a row may have "+
			`(put anything else under "metadata"): %w`, err)
	}
	var said []openai.Message
	forms := 0
	if m.System != "" {
		said = append(said, openai.Message{Role: "system", Content: m.System})
	}
	if m.Prompt != "" {
		forms++
		said = append(said, openai.Message{Role: "user", Content: m.Prompt})
	}
	if m.Messages != nil {
		forms++
		said = append(said, m.Messages...)
	}
	if m.Conversations != nil {
		forms++
		for _, one := range m.Conversations {
			said = append(said, openai.Message{Role: roles[one.From], Content: one.Value})
		}
	}
	if forms != 1 {
		return r, errors.New(`the row needs one of "prompt", "messages" and "conversations"`)
	}
	for i, one := range said {
		switch talk := m.Messages == nil; {
		case strings.TrimSpace(one.Content) == "":
			return r, fmt.Errorf("message %d is empty: remove the row, or add its text", i+1)
		case one.Role == "system" && i == 0:
			r.System = one.Content
		case one.Role == "user" && talk:
			r.Turns = append(r.Turns, one.Content)
		case one.Role == "assistant" && talk: // the engine gives its own answers
		case one.Role == "user", one.Role == "assistant":
			r.Before = append(r.Before, one)
		default:
			return r,
				fmt.Errorf(
					`message %d has an unknown author, or is not the first of the system's: use "system", "user" and "assistant", or "human" and "gpt" in conversations`, i+1)
		}
	}
	if last := len(r.Before) - 1; last >= 0 && r.Before[last].Role == "user" {
		r.Turns, r.Before = []string{r.Before[last].Content}, r.Before[:last:last]
	}
	if len(r.Turns) == 0 {
		return r, errors.New("the row asks nothing: the last message must be the user's, " +
			"and a conversation needs one of the human")
	}
	for _, n := range []*int{m.OutputTokens, m.MaxTokens} {
		if n == nil {
			continue
		}
		if *n < 1 || *n > maxOutput || r.Output > 0 {
			return r,
				fmt.Errorf(`one of "output_tokens" and "max_tokens" must be a number of tokens from 1 to %d`, maxOutput)
		}
		r.Output = *n
	}
	switch {
	case len(m.Tools) == 0 && m.ToolChoice != nil:
		return r, errors.New(`the row has "tool_choice" but no "tools": add tools, or remove it`)
	case m.ToolChoice != nil:
		r.Extra = map[string]any{"tools": m.Tools, "tool_choice": m.ToolChoice}
	case len(m.Tools) > 0:
		r.Extra = map[string]any{"tools": m.Tools}
	}
	return r, nil
}

// enough checks that a spec's prompts can be taken from the rows.
func (d *Dataset) enough(s Spec) error {
	if len(d.Rows) < s.Requests+s.Warmup {
		return fmt.Errorf("%s has %d rows, too few for %d requests and %d for warm-up (no row is sent twice, because "+
			"a repeated prompt could be answered from a cache): add rows, or lower requests or warmup",
			d.Name, len(d.Rows), s.Requests, s.Warmup)
	}
	for _, r := range d.Rows {
		if s.API != openai.Chat &&
			(r.System != "" || len(r.Before) > 0 || len(r.Turns) > 1 && s.Turns > 1 || len(r.Extra) > 0) {
			return fmt.Errorf(`%s:%d: a row with messages or tools can only be sent as a chat: set api to "chat"`,
				d.Name, r.Line)
		}
	}
	return nil
}

// fromDataset makes a prompt from a row, from the first onwards for what is measured, from the
// last backwards for warm-ups, so a prompt does not depend on how many there are.
// Nothing is put before it to make it unique, since it is to be sent as it is.
func (s Spec) fromDataset(_ context.Context, series string, index int) (Prompt, error) {
	row := s.Data.Rows[index]
	if series == "warmup" {
		row = s.Data.Rows[len(s.Data.Rows)-1-index]
	}
	var p Prompt
	last := &p
	for turn, text := range row.Turns[:min(len(row.Turns), s.Turns)] {
		if turn > 0 {
			last.Next = &Prompt{}
			last = last.Next
		}
		last.Text, last.Output = text, row.Output
		if row.Output == 0 {
			last.Output = s.output(series, index, turn)
		}
	}
	p.System, p.Before, p.Extra = row.System, row.Before, row.Extra
	return p, nil
}
