package imported

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

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
