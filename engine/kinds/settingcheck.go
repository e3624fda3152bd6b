package kinds

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// check says whether a value is of the setting's type, and gives it back in one
// form: bool, string, a number, []any or map[string]any.
func (s Setting) check(v any) (any, error) {
	mismatch := fmt.Errorf("setting %q must be %s, not %s", s.Name, aType[s.Type], shown(v))
	switch s.Type {
	case TypeAny:
		if _, isBool := v.(bool); isBool {
			return v, nil
		}
		if _, err := s.text(v); err != nil {
			return nil, mismatch
		}
		return plainNumber(v), nil
	case TypeBool:
		on, ok := v.(bool)
		if !ok {
			return nil, mismatch
		}
		return on, nil
	case TypeNumber:
		text, ok := number(v)
		if !ok {
			return nil, mismatch
		}
		if s.Whole && strings.Contains(text, ".") {
			return nil, fmt.Errorf("setting %q must be a whole number, not %s", s.Name, text)
		}
		return plainNumber(v), nil
	case TypeList:
		switch list := v.(type) {
		case []any:
			return list, nil
		case []string:
			var out []any
			for _, e := range list {
				out = append(out, e)
			}
			return out, nil
		}
		return nil, mismatch
	case TypeObject:
		object, ok := v.(map[string]any)
		if !ok {
			return nil, mismatch
		}
		return object, nil
	}
	text, ok := v.(string)
	if !ok {
		return nil, mismatch
	}
	if len(s.Choices) > 0 && !slices.Contains(s.Choices, text) {
		return nil, fmt.Errorf("setting %q is one of %s, not %q", s.Name, quoteList(s.Choices), text)
	}
	return text, nil
}

var aType = map[Type]string{
	TypeString: "a string", TypeNumber: "a number", TypeBool: "a bool", TypeList: "a list", TypeObject: "an object, such as { name = value }",
	TypeAny: "text, a number, a bool, a list or an object",
}

// shown prints a value for a message, never more than a line of it.
func shown(v any) string {
	text := []rune(fmt.Sprint(v))
	if len(text) > 60 {
		text = append(text[:60], '…')
	}
	return string(text)
}

// number prints a number as a flag's value, never with an exponent, which some
// engines' integer parsers refuse.
func number(v any) (string, bool) {
	switch n := v.(type) {
	case int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		return fmt.Sprint(n), true
	case float64:
		if math.IsNaN(n) || math.IsInf(n, 0) {
			return "", false
		}
		return strconv.FormatFloat(n, 'f', -1, 64), true
	}
	return "", false
}

// plainNumber makes whole numbers int64, since a decoded plan has only float64
// and a configuration file must not say 1e+06; other values stay.
func plainNumber(v any) any {
	text, ok := number(v)
	if !ok {
		return v
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	return v
}

// plainNumbers is plainNumber throughout lists and objects, as a copy.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			out[name] = plainNumbers(e)
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, e := range v {
			out = append(out, plainNumbers(e))
		}
		return out
	}
	return plainNumber(v)
}

// namesOf lists settings for a message.
func namesOf(settings []Setting) string {
	var names []string
	for _, s := range settings {
		names = append(names, s.Name)
	}
	return quoteList(names)
}

// quoteList prints words for a message: "a", "b" and "c".
func quoteList(words []string) string {
	quoted := make([]string, 0, len(words))
	for _, w := range slices.Sorted(slices.Values(words)) {
		quoted = append(quoted, fmt.Sprintf("%q", w))
	}
	if len(quoted) < 2 {
		return strings.Join(quoted, "")
	}
	last := len(quoted) - 1
	return strings.Join(quoted[:last], ", ") + " and " + quoted[last]
}
