package observe

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/logscan"
)

// Observation is one thing that an engine said of itself, or why it is not
// known.
type Observation struct {
	// Name, Type and Unit are the Pattern's.
	Name, Unit string
	Type       kinds.Type
	// Value is a string, a float64 or a bool; nil where it was not observed: what
	// is missing is never zero.
	Value any
	// From says where it was seen: "log line 12", "GET /version", "metric x".
	From string
	// Line is the line of the log that says so, safe to print; empty elsewhere.
	Line string
	// Missing says why there is no value; empty where there is.
	Missing string
}

// observed is the observation of a value that was found; one that does not have
// the pattern's type is missing.
func observed(p kinds.Pattern, raw any, from string) Observation {
	o := Observation{Name: p.Name, Type: p.Type, Unit: p.Unit, From: from}
	v, why := typed(p, raw)
	if why != "" {
		o.Missing = from + ": " + why
		return o
	}
	o.Value = v
	return o
}

// missing is the observation of nothing.
func missing(p kinds.Pattern, format string, args ...any) Observation {
	return Observation{Name: p.Name, Type: p.Type, Unit: p.Unit, Missing: fmt.Sprintf(format, args...)}
}

// typed turns what was found into a value of the pattern's type.
func typed(p kinds.Pattern, raw any) (value any, why string) {
	text, isText := scalar(raw)
	if !isText {
		if raw == nil {
			return nil, "there is no such value"
		}
		return nil, fmt.Sprintf("it is %s, not a single value", shapeOf(raw))
	}
	if _, decided := raw.(bool); !decided { // what is yes or no already has no words
		text = word(p, strings.TrimSpace(text))
	}
	if text == "" {
		return nil, "it is empty"
	}
	switch p.Type {
	case kinds.TypeNumber, kinds.TypeCount:
		return numeric(p, text)
	case kinds.TypeBool:
		switch strings.ToLower(text) {
		case "true", "yes", "on", "1":
			return true, ""
		case "false", "no", "off", "0":
			return false, ""
		}
		return nil, fmt.Sprintf("%q is neither true nor false", text)
	}
	return logscan.Clean([]byte(text)), ""
}

// word is what rules call what the engine says.
func word(p kinds.Pattern, said string) string {
	if w, ok := p.Words[said]; ok {
		return w
	}
	return said
}

// numeric reads a number as engines print it, with commas between thousands.
func numeric(p kinds.Pattern, text string) (any, string) {
	f, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
	if err != nil {
		return nil, fmt.Sprintf("%q is not a number", logscan.Clean([]byte(text)))
	}
	if p.Scale != 0 {
		f *= p.Scale
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Sprintf("%q is not a finite number", logscan.Clean([]byte(text)))
	}
	return f, ""
}

// scalar is a JSON scalar as text; false for anything else.
func scalar(raw any) (string, bool) {
	switch v := raw.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case int:
		return strconv.Itoa(v), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	case *big.Int:
		return v.String(), true
	}
	return "", false
}

func shapeOf(raw any) string {
	switch raw.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	}
	return fmt.Sprintf("%T", raw)
}
