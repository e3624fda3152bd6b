// Package traffic reads recorded traffic: when requests arrived, how long their prompts and answers were, with which
// tokens prompts began alike, and which were turns of one conversation. It knows neither engine nor clock.
package traffic

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/itchyny/gojq"

	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/internal/jq"
)

// Request is one request as recorded.
type Request struct {
	// Line of the file, from 1.
	Line int
	// At is when it arrived, since the first of the file. Timed is unset if the file does not say, as for a later
	// turn that follows After the answer to the one before.
	At, After time.Duration
	Timed     bool
	// Prompt and Output are lengths in tokens; Prompt is 0 if Text or Messages is sent as it is, and Output if the
	// row does not say.
	Prompt, Output int
	// Blocks identify what the prompt begins with, by blocks of Trace.Block tokens, of which the last may be in it in
	// part. Tokens behind them are no other's.
	Blocks []int64
	// Text, or System, Before and Text, are sent as recorded.
	Text, System string
	Before       []Message
	// Session is that of a turn, empty if it is no turn of a conversation.
	Session string
	// Shared is how many of its tokens an earlier request of a part began with.
	Shared int
}

// Message is one of a chat.
type Message struct{ Role, Content string }

// Trace is what a file has, in order of arrival.
type Trace struct {
	Name, Format string
	// Block is the length of a block in tokens.
	Block    int
	Requests []Request
	// Skipped counts rows that are no requests, by why.
	Skipped map[string]int
	// blocks is how many all requests have.
	blocks int
}

// MaxSize and maxRows are the maxima of a file, and maxTokens that of one length.
const (
	MaxSize   = 512 << 20
	maxRows   = 2_000_000
	maxTokens = 20_000_000
)

//go:embed formats/*.jq
var programs embed.FS

// Formats names the traces that are read without a program, for messages and docs.
func Formats() (names []string) {
	for _, text := range formats() {
		tool, file := jq.Module(text)
		names = append(names, tool+" ("+file+")")
	}
	return names
}

func formats() (all []string) {
	paths, _ := fs.Glob(programs, "formats/*.jq")
	for _, path := range paths {
		text, _ := programs.ReadFile(path)
		all = append(all, string(text))
	}
	return all
}

// program makes a request of each row; knows, if it is defined, is true of a row of its tool.
type program struct {
	name         string
	reads, knows *gojq.Code
}

func compile(text string, recognises bool) (p program, err error) {
	q, err := gojq.Parse(text)
	if err != nil {
		return p, err
	}
	q.Meta = nil
	p.name, _ = jq.Module(text)
	if p.reads, err = gojq.Compile(q); err != nil || !recognises {
		return p, err
	}
	call := gojq.Query{FuncDefs: q.FuncDefs, Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: "knows"}}}
	p.knows, err = gojq.Compile(&call)
	return p, err
}

var known = sync.OnceValues(func() (all []program, err error) {
	for _, text := range formats() {
		p, err := compile(text, true)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
})

// Read reads a trace: JSON lines, or CSV with a header. own is a jq program that makes a request of each row, an
// object:
//
//	{at, after, prompt, output, blocks, block, text, messages, session, skip}
//
// at is a number of seconds or a date with a time; after is seconds after the answer to the turn before. prompt and
// output are tokens, blocks numbers that identify blocks of block tokens. A row with skip, a reason, is left out, and
// counted. Without a program, the format is recognised by the first row.
//
// An error says which line is wrong, and what to do; then nothing is read.
func Read(name string, data []byte, own string) (*Trace, error) {
	t := &Trace{Name: name, Skipped: map[string]int{}}
	t.Requests = make([]Request, 0, min(bytes.Count(data, []byte("\n"))+1, maxRows))
	r := reader{t: t, sessions: map[string]time.Duration{}}
	err := r.read(data, own)
	if err != nil {
		return nil, errors.New(foreign.Line(name + err.Error()))
	}
	slices.SortStableFunc(t.Requests, func(a, b Request) int { return cmp.Compare(a.At, b.At) })
	if len(t.Requests) == 0 {
		return nil, fmt.Errorf("%s: no requests", name)
	}
	begin := t.Requests[0].At
	for i := range t.Requests {
		t.Requests[i].At -= begin
	}
	return t, nil
}

type reader struct {
	t       *Trace
	program program
	// sessions are the newest times of sessions.
	sessions map[string]time.Duration
	line     int
	// origin is a date that times count from, so they keep their microseconds.
	origin time.Time
}

func (r *reader) read(data []byte, own string) (err error) {
	switch {
	case len(data) > MaxSize:
		return fmt.Errorf(": %d bytes exceed the limit of %d: keep the part to send", len(data), MaxSize)
	case !utf8.Valid(data):
		return errors.New(": it is not UTF-8 text: save it as UTF-8")
	}
	if own != "" {
		if r.program, err = compile(own, false); err != nil {
			return fmt.Errorf(": its program is no jq program: %w", err)
		}
		if r.program.name == "" {
			r.program.name = "a program of its own"
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), jq.Limit)
	defer cancel()
	for row, err := range rows(data, &r.line) {
		if err == nil {
			err = r.row(ctx, row)
		}
		if err == nil && len(r.t.Requests) > maxRows {
			err = fmt.Errorf("more than %d requests: keep the part to send", maxRows)
		}
		if err != nil {
			return fmt.Errorf(":%d: %w", r.line, err)
		}
	}
	r.t.Format = r.program.name
	return nil
}

// rows are the objects of a file, and line that of the newest.
func rows(data []byte, line *int) func(yield func(map[string]any, error) bool) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	switch first := bytes.TrimLeft(data, " \t\r\n"); {
	case len(first) > 0 && first[0] == '[':
		*line = 1
		return func(yield func(map[string]any, error) bool) {
			yield(nil, errors.New("the file is a JSON array, but a trace has one object per line: convert it with "+
				"`jq -c '.[]'`"))
		}
	case len(first) > 0 && first[0] != '{':
		return table(data, line)
	}
	return func(yield func(map[string]any, error) bool) {
		for *line = 1; len(data) > 0; *line++ {
			var text []byte
			text, data, _ = bytes.Cut(data, []byte("\n"))
			if text = bytes.TrimSpace(text); len(text) == 0 {
				continue
			}
			var row map[string]any
			err := json.Unmarshal(text, &row)
			if err != nil {
				err = fmt.Errorf("the row is no JSON object: %w: correct or remove it", foreign.NotJSON(text, err))
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// table are the rows of a CSV file by its header: a field that is a number is one.
func table(data []byte, line *int) func(yield func(map[string]any, error) bool) {
	return func(yield func(map[string]any, error) bool) {
		r := csv.NewReader(bytes.NewReader(data))
		r.ReuseRecord, r.TrimLeadingSpace = true, true
		*line = 1
		header, err := r.Read()
		header = slices.Clone(header)
		for err == nil {
			var fields []string
			if fields, err = r.Read(); err != nil {
				break
			}
			*line, _ = r.FieldPos(0)
			row := make(map[string]any, len(header))
			for i, name := range header {
				row[name] = strings.TrimSpace(fields[i])
				if x, err := strconv.ParseFloat(fields[i], 64); err == nil && !math.IsInf(x, 0) && !math.IsNaN(x) {
					row[name] = x
				}
			}
			if !yield(row, nil) {
				return
			}
		}
		if wrong, is := errors.AsType[*csv.ParseError](err); is {
			*line, err = wrong.Line, wrong.Err
		}
		if !errors.Is(err, io.EOF) {
			yield(nil, fmt.Errorf("the row is no line of CSV like the first: %w: correct or remove it", err))
		}
	}
}

// row adds the request of a row.
func (r *reader) row(ctx context.Context, row map[string]any) error {
	if r.program.reads == nil {
		if err := r.recognise(ctx, row); err != nil {
			return err
		}
	}
	made, err := jq.Run(ctx, r.program.reads, row)
	if err != nil {
		return fmt.Errorf("%w: correct the row, or the program that reads it", err)
	}
	if len(made) != 1 {
		return fmt.Errorf(`the program makes %d objects of the row: it makes one, {skip: "why"} of a row that is no `+
			"request", len(made))
	}
	of, is := made[0].(map[string]any)
	if !is {
		return errors.New("the program makes no object of the row: it makes {at, prompt, output}")
	}
	if why, skip := of["skip"].(string); skip {
		r.t.Skipped[why]++
		return nil
	}
	one := Request{Line: r.line}
	if err := r.fill(&one, of); err != nil {
		return fmt.Errorf("%w: correct or remove the row", err)
	}
	r.t.Requests = append(r.t.Requests, one)
	return nil
}

func (r *reader) recognise(ctx context.Context, row map[string]any) error {
	all, err := known()
	if err != nil {
		return err
	}
	for _, p := range all {
		if is, err := jq.Run(ctx, p.knows, row); err == nil && len(is) == 1 && is[0] == true {
			r.program = p
			return nil
		}
	}
	names := slices.Sorted(maps.Keys(row))
	return fmt.Errorf("unknown format, with the fields %q. Write a jq program for it: {at: .time_s, "+
		"prompt: .tokens_in, output: .tokens_out}. mxflow reads: %s", names[:min(len(names), 8)],
		strings.Join(Formats(), "; "))
}

// fill takes what a program made of a row.
func (r *reader) fill(one *Request, of map[string]any) (err error) {
	session := of["session"]
	if session != nil {
		one.Session = fmt.Sprint(session)
	}
	if one.At, one.Timed, err = r.seconds("at", of["at"]); err != nil {
		return err
	}
	last, later := r.sessions[one.Session]
	later = later && one.Session != ""
	switch {
	case !one.Timed && !later:
		return errors.New("at is missing, and only a session's later turn may lack it; a file of prompts without " +
			"times is a dataset")
	case !one.Timed:
		one.At = last // to be in order
	}
	if one.Session != "" {
		r.sessions[one.Session] = max(last, one.At)
	}
	if one.After, _, err = r.seconds("after", of["after"]); err != nil {
		return err
	}
	if one.Output, err = tokens("output", of["output"], true); err != nil {
		return err
	}
	text, isText := of["text"].(string)
	messages, isTalk := of["messages"].([]any)
	if isText || isTalk {
		if isText {
			one.Text = text
		} else if err = one.talk(messages); err != nil {
			return err
		}
		if strings.TrimSpace(one.Text) == "" {
			return errors.New("the prompt is empty")
		}
		return nil
	}
	if one.Prompt, err = tokens("prompt", of["prompt"], false); err != nil || of["blocks"] == nil {
		return err
	}
	return r.blocks(one, of)
}

func (r *reader) blocks(one *Request, of map[string]any) error {
	list, is := of["blocks"].([]any)
	length, err := tokens("block", of["block"], false)
	switch {
	case !is:
		return fmt.Errorf("blocks is %s, not a list of numbers", text(of["blocks"]))
	case err != nil:
		return err
	case r.t.Block != 0 && r.t.Block != length:
		return fmt.Errorf("block is %d, and %d before", length, r.t.Block)
	case (len(list)-1)*length >= one.Prompt:
		return fmt.Errorf("%d blocks of %d tokens are more than the %d tokens of the prompt", len(list), length,
			one.Prompt)
	}
	r.t.Block, r.t.blocks = length, r.t.blocks+len(list)
	one.Blocks = make([]int64, len(list))
	for i, id := range list {
		x, is := number(id)
		if !is || math.Abs(x) >= 1<<53 || x != math.Trunc(x) {
			return fmt.Errorf("blocks has %s, which is no whole number", text(id))
		}
		one.Blocks[i] = int64(x)
	}
	return nil
}

// talk takes the messages of a chat, of which the last is the user's.
func (one *Request) talk(messages []any) error {
	for i, m := range messages {
		of, _ := m.(map[string]any)
		role, _ := of["role"].(string)
		content, is := of["content"].(string)
		switch {
		case !is:
			return fmt.Errorf("message %d has no text", i+1)
		case role == "system" && i == 0:
			one.System = content
		case i == len(messages)-1 && role == "user":
			one.Text = content
		case role == "user", role == "assistant":
			one.Before = append(one.Before, Message{role, content})
		default:
			return fmt.Errorf("message %d is of %q: the first may be the system's, and the last is the user's", i+1,
				role)
		}
	}
	return nil
}

func number(v any) (float64, bool) {
	switch x := v.(type) {
	case int:
		return float64(x), true
	case float64:
		return x, !math.IsNaN(x) && !math.IsInf(x, 0)
	}
	return 0, false
}

// text is a value in a message.
func text(v any) string {
	if v == nil {
		return "missing"
	}
	written, err := json.Marshal(v)
	if err != nil {
		return "no value"
	}
	return foreign.Short(string(written))
}

// tokens is a number of tokens, 0 for one that may be absent.
func tokens(name string, v any, absent bool) (int, error) {
	if v == nil && absent {
		return 0, nil
	}
	x, is := number(v)
	if !is || x < 1 || x > maxTokens || x != math.Trunc(x) {
		return 0, fmt.Errorf("%s is %s, not a number of tokens from 1 to %d", name, text(v), maxTokens)
	}
	return int(x), nil
}

// layouts are those of dates with times, whose zone counts if there is one.
var layouts = []string{"2006-01-02 15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05", time.RFC3339}

// maxTime is the longest that a file may last.
const maxTime = 10 * 365 * 24 * time.Hour

// seconds is a time: a number of seconds or a date, given is unset if it is absent.
func (r *reader) seconds(name string, v any) (d time.Duration, given bool, err error) {
	x, is := number(v)
	switch date, dated := v.(string); {
	case v == nil:
		return 0, false, nil
	case is && math.Abs(x) < maxTime.Seconds()*10:
		// Whole microseconds, as arrivals of a rate are: finer than any engine.
		return time.Duration(math.Round(x*1e6)) * time.Microsecond, true, nil
	case dated:
		for _, layout := range layouts {
			at, err := time.Parse(layout, date)
			if err != nil {
				continue
			}
			if r.origin.IsZero() {
				r.origin = at
			}
			if d := at.Sub(r.origin).Round(time.Microsecond); d.Abs() < maxTime {
				return d, true, nil
			}
		}
	}
	return 0, false, fmt.Errorf("%s is %s, not a number of seconds or a date such as 2026-11-30 18:15:46.68", name,
		text(v))
}
