package imported

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// source is a file being read. Its first error is kept; whatever is read after that does
// not count.
type source struct {
	file string
	err  *Error
}

func (s *source) wrong(line int, path, format string, args ...any) {
	if s.err == nil {
		s.err = &Error{File: s.file, Line: line, Path: path, Says: fmt.Sprintf(format, args...)}
	}
}

// node is a value of a decoded document, with its path for messages.
type node struct {
	from  *source
	path  string
	value any
}

func (n node) wrong(format string, args ...any) { n.from.wrong(0, n.path, format, args...) }

// member is a member of an object; its value is nil if absent or null.
func (n node) member(name string) node {
	object, _ := n.value.(map[string]any)
	path := name
	if n.path != "" {
		path = n.path + "." + name
	}
	return node{n.from, path, object[name]}
}

func (n node) has(names ...string) bool {
	object, ok := n.value.(map[string]any)
	for _, name := range names {
		if _, there := object[name]; !there {
			return false
		}
	}
	return ok
}

// list returns the elements of an array, or none.
func (n node) list() []node {
	array, ok := n.value.([]any)
	if !ok && n.value != nil {
		n.wrong("it is %s, not a list", kind(n.value))
	}
	out := make([]node, len(array))
	for i, v := range array {
		out[i] = node{n.from, fmt.Sprintf("%s[%d]", n.path, i), v}
	}
	return out
}

// firstText is the text of the first element of a list; empty if there is none.
func (n node) firstText() string {
	if all, ok := n.value.([]any); ok && len(all) > 0 {
		return n.list()[0].text()
	}
	return n.text()
}

// number is a finite number; ok is false if absent or null.
func (n node) number() (x float64, ok bool) {
	switch v := n.value.(type) {
	case nil:
	case json.Number:
		x, err := strconv.ParseFloat(string(v), 64)
		switch {
		case errors.Is(err, strconv.ErrRange) || math.IsInf(x, 0):
			n.wrong("%s is too large a number", v)
		case err != nil || math.IsNaN(x):
			n.wrong("%q is not a number", v)
		default:
			return x, true
		}
	default:
		n.wrong("it is %s, not a number", kind(v))
	}
	return 0, false
}

// amount is a number that is not negative; ok is false if absent or null.
func (n node) amount() (x float64, ok bool) {
	if x, ok = n.number(); x < 0 {
		n.wrong(negative, x)
	}
	return x, ok
}

// needed is a required amount.
func (n node) needed() float64 {
	x, ok := n.amount()
	if !ok {
		n.wrong("it is missing")
	}
	return x
}

// whole is a required number, not negative and without a fraction.
func (n node) whole() int {
	x, ok := n.number()
	switch {
	case !ok:
		n.wrong("it is missing")
	case x < 0 || x != math.Trunc(x) || x > 1e15:
		n.wrong("%v is not a count", x)
	}
	return int(x)
}

// numbers are the elements of a list of amounts.
func (n node) numbers() []float64 {
	var out []float64
	for _, e := range n.list() {
		x, ok := e.amount()
		if !ok {
			e.wrong("a value is missing")
		}
		out = append(out, x)
	}
	return out
}

// text is a string, or a number or bool as written; empty if absent.
func (n node) text() string {
	switch v := n.value.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return string(v)
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a text"
	case json.Number:
		return "a number"
	case bool:
		return "true or false"
	case []any:
		return "a list"
	}
	return "an object"
}

// parse decodes one JSON value, or several in sequence. SGLang writes Infinity and NaN,
// which are not JSON: they are read as null, and so as absent.
func (s *source) parse(data []byte) []node {
	clean := bareWord.ReplaceAllFunc(data, func(found []byte) []byte {
		if found[0] == '"' {
			return found
		}
		return []byte("null")
	})
	d := json.NewDecoder(bytes.NewReader(clean))
	d.UseNumber()
	var all []node
	for {
		var v any
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			s.syntax(clean, d.InputOffset(), err)
			return nil
		}
		path := ""
		if len(all) > 0 || d.More() {
			path = fmt.Sprintf("result %d", len(all)+1)
		}
		all = append(all, node{from: s, path: path, value: v})
	}
}

// bareWord matches Infinity, -Infinity and NaN, and strings, in which they are text.
var bareWord = regexp.MustCompile(`(?s)"(?:[^"\\]|\\.)*"|-?Infinity|NaN`)

func (s *source) syntax(data []byte, offset int64, err error) {
	if at, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = at.Offset
	}
	line := 1 + bytes.Count(data[:min(int(offset), len(data))], []byte("\n"))
	says := err.Error()
	if errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(says, "unexpected end") {
		says = "it ends in the middle of a value: it is truncated, or still being written"
	}
	s.wrong(line, "", "%s", says)
}
