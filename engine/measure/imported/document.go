package imported

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// node is a value of a decoded document, with the way to it for messages.
type node struct {
	file, path string
	value      any
}

func (n node) wrong(format string, args ...any) *Error {
	return &Error{File: n.file, Path: n.path, Says: fmt.Sprintf(format, args...)}
}

// member is a member of an object; its value is nil where it is absent or null.
func (n node) member(name string) node {
	object, _ := n.value.(map[string]any)
	path := name
	if n.path != "" {
		path = n.path + "." + name
	}
	return node{n.file, path, object[name]}
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

// list are the elements of an array; none where there is none.
func (n node) list() ([]node, error) {
	if n.value == nil {
		return nil, nil
	}
	array, ok := n.value.([]any)
	if !ok {
		return nil, n.wrong("it is %s, and should be a list", kind(n.value))
	}
	out := make([]node, len(array))
	for i, v := range array {
		out[i] = node{n.file, fmt.Sprintf("%s[%d]", n.path, i), v}
	}
	return out, nil
}

// number is a finite number; ok is false where it is absent or null.
func (n node) number() (x float64, ok bool, err error) {
	switch v := n.value.(type) {
	case nil:
		return 0, false, nil
	case json.Number:
		x, err := strconv.ParseFloat(string(v), 64)
		if err != nil || math.IsInf(x, 0) {
			return 0, false, n.wrong("%s is too large a number", v)
		}
		return x, true, nil
	}
	return 0, false, n.wrong("it is %s, and should be a number", kind(n.value))
}

// whole is a number that must be there, not negative and without a fraction.
func (n node) whole() (int, error) {
	x, ok, err := n.number()
	switch {
	case err != nil:
		return 0, err
	case !ok:
		return 0, n.wrong("it is missing")
	case x < 0 || x != math.Trunc(x) || x > 1e15:
		return 0, n.wrong("%v is no count", x)
	}
	return int(x), nil
}

// numbers are the elements of a list of amounts, none of them negative.
func (n node) numbers() ([]float64, error) {
	list, err := n.list()
	if err != nil {
		return nil, err
	}
	out := make([]float64, 0, len(list))
	for _, e := range list {
		x, ok, err := e.amount()
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, e.wrong("a value is missing")
		}
		out = append(out, x)
	}
	return out, nil
}

// text is a string, or a number or truth as it is written; empty where absent.
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

// parse decodes one JSON value, or several one after the other. SGLang writes
// Infinity and NaN, which are no JSON: they are read as null, and so as absent.
func parse(file string, data []byte) ([]node, error) {
	clean := bareWords(data)
	d := json.NewDecoder(bytes.NewReader(clean))
	d.UseNumber()
	var all []node
	for {
		var v any
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, syntax(file, clean, d.InputOffset(), err)
		}
		path := ""
		if len(all) > 0 || d.More() {
			path = fmt.Sprintf("result %d", len(all)+1)
		}
		all = append(all, node{file: file, path: path, value: v})
	}
	if len(all) == 0 {
		return nil, &Error{File: file, Says: "it is empty"}
	}
	return all, nil
}

func syntax(file string, data []byte, offset int64, err error) error {
	var s *json.SyntaxError
	if errors.As(err, &s) {
		offset = s.Offset
	}
	line := 1 + bytes.Count(data[:min(int(offset), len(data))], []byte("\n"))
	says := err.Error()
	if errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(says, "unexpected end") {
		says = "it ends in the middle of a value: it was cut off, or is still being written"
	}
	return &Error{File: file, Line: line, Says: says}
}

// bareWords replaces Infinity, -Infinity and NaN outside of strings by null.
func bareWords(data []byte) []byte {
	if !bytes.Contains(data, []byte("Infinity")) && !bytes.Contains(data, []byte("NaN")) {
		return data
	}
	var out []byte
	for i := 0; i < len(data); {
		switch c := data[i]; {
		case c == '"':
			end := i + 1
			for end < len(data) && data[end] != '"' {
				if data[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end+1, len(data))
			out = append(out, data[i:end]...)
			i = end
			continue
		case bytes.HasPrefix(data[i:], []byte("-Infinity")):
			out, i = append(out, "null"...), i+len("-Infinity")
			continue
		case bytes.HasPrefix(data[i:], []byte("Infinity")):
			out, i = append(out, "null"...), i+len("Infinity")
			continue
		case bytes.HasPrefix(data[i:], []byte("NaN")):
			out, i = append(out, "null"...), i+len("NaN")
			continue
		}
		out = append(out, data[i])
		i++
	}
	return out
}
