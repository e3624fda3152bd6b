package imported

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/internal/foreign"
)

// source is a file being read. Its first error is kept; whatever is read after that does
// not count.
type source struct {
	file string
	err  error
}

// wrong notes an error at a place: ":12" for a line, ": benchmarks[2].tg_throughput" for a
// value.
func (s *source) wrong(place, format string, args ...any) {
	if s.err == nil {
		s.err = errors.New(foreign.Line(s.file + place + ": " + fmt.Sprintf(format, args...)))
	}
}

// bareWord matches Infinity, -Infinity and NaN, and strings, in which they are text.
var bareWord = regexp.MustCompile(`(?s)"(?:[^"\\]|\\.)*"|-?Infinity|NaN`)

// parse decodes one JSON value, or several in sequence. SGLang writes Infinity and NaN,
// which are not JSON: they are read as null, and so as absent.
func (s *source) parse(data []byte) (all []node) {
	clean := bareWord.ReplaceAllFunc(data, func(found []byte) []byte {
		if found[0] == '"' {
			return found
		}
		return []byte("null")
	})
	d := json.NewDecoder(bytes.NewReader(clean))
	d.UseNumber()
	for {
		var v any
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			offset, says := d.InputOffset(), foreign.NotJSON(clean, err).Error()
			if at, ok := errors.AsType[*json.SyntaxError](err); ok {
				offset = at.Offset
				if says = "it is not JSON: " + says; len(all) == 0 {
					says += ". mxflow reads: " + strings.Join(Tools(), "; ")
				}
			}
			line := 1 + bytes.Count(clean[:min(int(offset), len(clean))], []byte("\n"))
			s.wrong(fmt.Sprintf(":%d", line), "%s", says)
			return nil
		}
		path := ""
		if len(all) > 0 || d.More() {
			path = fmt.Sprintf("result %d", len(all)+1)
		}
		all = append(all, node{from: s, path: path, value: v})
	}
}

// node is a value of a decoded document, with its path for messages.
type node struct {
	from  *source
	path  string
	value any
}

func (n node) wrong(format string, args ...any) {
	place := n.path
	if place != "" {
		place = ": " + place
	}
	n.from.wrong(place, format, args...)
}

// member is a member of an object; its value is nil if absent or null.
func (n node) member(name string) node {
	object, _ := n.value.(map[string]any)
	path := name
	if n.path != "" {
		path = n.path + "." + name
	}
	return node{n.from, path, object[name]}
}

// names are the members of an object, in alphabetical order.
func (n node) names() []string {
	object, _ := n.value.(map[string]any)
	return slices.Sorted(maps.Keys(object))
}

func (n node) has(names ...string) bool {
	object, ok := n.value.(map[string]any)
	for _, name := range names {
		_, there := object[name]
		ok = ok && there
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

// number is a finite number; ok is false if absent or null.
func (n node) number() (x float64, ok bool) {
	if n.value == nil {
		return 0, false
	}
	text, isNumber := n.value.(json.Number)
	x, err := strconv.ParseFloat(string(text), 64)
	switch {
	case !isNumber:
		n.wrong("it is %s, not a number", kind(n.value))
	case err != nil:
		n.wrong("%s is too large a number", text)
	}
	return x, true
}

// amount is a number that is not negative; ok is false if absent or null.
func (n node) amount() (x float64, ok bool) {
	if x, ok = n.number(); x < 0 {
		n.wrong("%v is negative, which times, speeds and counts cannot be: the file was edited or is damaged, "+
			"or a correction subtracted too much", x)
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

// amounts are the elements of a list of amounts.
func (n node) amounts() (out []float64) {
	for _, e := range n.list() {
		out = append(out, e.needed())
	}
	return out
}

// text is a string, or a number or bool as written; empty if absent.
func (n node) text() string {
	switch v := n.value.(type) {
	case string:
		return v
	case json.Number:
		return string(v)
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// texts returns the texts of an object's members of these names, or of all.
func (n node) texts(names ...string) map[string]string {
	out := map[string]string{}
	for _, name := range n.names() {
		if text := n.member(name).text(); text != "" && (len(names) == 0 || slices.Contains(names, name)) {
			out[name] = text
		}
	}
	return out
}

func kind(v any) string {
	switch v.(type) {
	case string:
		return "a text"
	case bool:
		return "true or false"
	case []any:
		return "a list"
	}
	return "an object"
}
