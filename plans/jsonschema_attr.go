package plans

import (
	"encoding/json"
	"fmt"
	"strings"
)

// attr is the schema of an attribute: its type, a template, or null, which
// counts as not written.
func (w *schemaWriter) attr(a Attr, d *BlockDoc) object {
	var options []any
	if a.Name == "settings" && d.Settings != nil {
		options = []any{w.settings(d.Settings)}
	} else {
		options = valueSchemas(a)
	}
	if options == nil {
		return object{"description": attrText(a)}
	}
	options = append(options, refTo("template"), object{"type": "null"})
	s := object{"anyOf": options, "description": attrText(a)}
	if a.Default != nil {
		s["default"] = a.Default
	}
	return s
}

// valueSchemas are the forms in which the value of an attribute can be written
// out; nil where it can be anything.
func valueSchemas(a Attr) []any {
	text, number := object{"type": "string"}, object{"type": "number"}
	if a.MinSet {
		number["minimum"] = a.Min
	}
	if a.Max != 0 {
		number["maximum"] = a.Max
	}
	if len(a.OneOf) > 0 {
		text["enum"] = a.OneOf
	}
	mapOf := func(values ...any) object {
		return object{"type": "object", "additionalProperties": object{"anyOf": values}}
	}
	template := refTo("template")
	listOf := func(element object) object {
		return object{"type": "array", "items": object{"anyOf": []any{element, template}}}
	}
	switch a.Type {
	case String, RuleText, TypeExpr:
		return []any{text}
	case Bool:
		return []any{object{"type": "boolean"}}
	case Number:
		return []any{number}
	case Int:
		number["type"] = "integer"
		return []any{number}
	case Ints:
		number["type"] = "integer"
		return []any{number, listOf(number)}
	case Numbers:
		return []any{number, listOf(number)}
	case Duration:
		return []any{object{"type": "string", "pattern": `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`}}
	case Strings:
		return []any{listOf(text)}
	case Refs:
		return []any{listOf(referenceSchema(a)), referenceSchema(a)} // or the name of a list
	case Map, Choices:
		return []any{mapOf(object{"type": "string"})}
	case Bounds:
		number["type"] = "integer"
		bound := object{"anyOf": []any{number, template}}
		return []any{object{"type": "object", "properties": object{"min": bound, "max": bound}, "additionalProperties": false}}
	case Alternatives:
		return []any{mapOf(listOf(object{"type": "string"}), template)}
	case Overrides:
		return []any{mapOf(object{"type": "string"}, object{"type": "null"})}
	case Values:
		return []any{object{"type": "object"}}
	case Beaten:
		return []any{mapOf(mapOf(number, template), template)}
	case Condition:
		return []any{object{"type": "boolean"}}
	case Reference:
		return []any{referenceSchema(a)}
	}
	return nil
}

// referenceSchema is a reference, which needs no ${ } in YAML.
func referenceSchema(a Attr) object {
	pattern := "^(" + a.Ref + "|local|var|each)[.[]"
	for _, word := range a.OneOf {
		pattern += "|^" + word + "$"
	}
	return object{"type": "string", "pattern": pattern}
}

// attrText is what an editor shows of an attribute.
func attrText(a Attr) string {
	var notes []string
	notes = append(notes, a.TypeText())
	if a.Required {
		notes = append(notes, "required")
	}
	if a.Default != nil {
		notes = append(notes, "default "+defaultText(a))
	}
	return fmt.Sprintf("%s (%s)", a.Doc, strings.Join(notes, "; "))
}

// TypeText is the type of an attribute in words, with its unit and bounds.
func (a Attr) TypeText() string {
	words := string(a.Type)
	switch {
	case a.Type == Reference:
		words = "reference to " + orList(append([]string{a.Ref}, a.OneOf...))
	case a.Type == Refs:
		words = "list of references to " + a.Ref
	case len(a.OneOf) > 0:
		words += ": " + orList(a.OneOf)
	}
	if a.Unit != "" {
		words += ", " + a.Unit
	}
	switch {
	case a.MinSet && a.Max != 0:
		words += fmt.Sprintf(", %s to %s", numberText(a.Min), numberText(a.Max))
	case a.MinSet:
		words += ", at least " + numberText(a.Min)
	}
	return words
}

func numberText(n float64) string {
	text, err := json.Marshal(n)
	if err != nil || n == float64(int64(n)) {
		return fmt.Sprintf("%d", int64(n))
	}
	return string(text)
}

// defaultText is a default as it would be written in a plan.
func defaultText(a Attr) string {
	text, err := json.Marshal(a.Default)
	if err != nil {
		return fmt.Sprint(a.Default)
	}
	return string(text)
}
