package kinds

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Setting is one option of a kind. Options that mean the same have the same name
// in every kind; what they are called by the engine stands in the fields below.
// A value reaches the engine in every way that is named: as a flag, in the
// environment, in its configuration file.
type Setting struct {
	Name string
	Type Type
	// Whole restricts a number to integers.
	Whole bool
	Doc   string
	// Default is what the engine does when the setting is absent, in words; it
	// is never sent.
	Default string
	// Choices are all that a string may be; empty takes any.
	Choices []string
	// Words maps the plan's word to the engine's, where they differ.
	Words map[string]string
	// Times names a whole-number setting that a number is multiplied by before it
	// is sent, where the engine counts for all sequences together what the plan
	// counts for one, unless the bool setting TimesUnless is true.
	Times, TimesUnless string

	// Flag is the flag that carries the value ("--max-model-len"); a list is
	// joined by commas and an object is JSON. For a bool it is given alone when
	// true, and OffFlag, if there is one, when false. Also are further flags that
	// get the same value.
	Flag, OffFlag string
	Also          []string
	// Env is a variable that carries the value; a bool is 1 or 0.
	Env string
	// Key is the place in the configuration file, with dots between its levels.
	Key string
	// On and Off are what true and false do, in place of all of the above.
	On, Off *Effect
	// Fields are the members of an object that is not sent whole: each is a
	// setting of its own, and other members are refused.
	Fields []Setting
}

// Effect is what reaches an engine.
type Effect struct {
	Flags []string
	Env   map[string]string
	// Config has dotted keys, as Setting.Key.
	Config map[string]any
}

// apply adds what a value does to out. all are the other settings of the plan.
func (s Setting) apply(v any, all map[string]any, out *Applied) error {
	v, err := s.check(v)
	if err != nil {
		return err
	}
	if on, ok := v.(bool); ok {
		out.add(s.switched(on))
		return nil
	}
	if len(s.Fields) > 0 {
		return s.applyFields(v.(map[string]any), out)
	}
	if v, err = s.times(v, all); err != nil {
		return err
	}
	if word, ok := v.(string); ok && s.Words[word] != "" {
		v = s.Words[word]
	}
	text, err := s.text(v)
	if err != nil {
		return err
	}
	var e Effect
	for _, flag := range append([]string{s.Flag}, s.Also...) {
		if flag != "" {
			e.Flags = append(e.Flags, flag, text)
		}
	}
	if s.Env != "" {
		e.Env = map[string]string{s.Env: text}
	}
	if s.Key != "" {
		e.Config = map[string]any{s.Key: v}
	}
	out.add(e)
	return nil
}

// switched is what a bool does.
func (s Setting) switched(on bool) Effect {
	switch {
	case on && s.On != nil:
		return *s.On
	case !on && s.Off != nil:
		return *s.Off
	}
	var e Effect
	switch {
	case on && s.Flag != "":
		e.Flags = []string{s.Flag}
	case !on && s.OffFlag != "":
		e.Flags = []string{s.OffFlag}
	}
	if s.Env != "" {
		e.Env = map[string]string{s.Env: map[bool]string{true: "1", false: "0"}[on]}
	}
	if s.Key != "" {
		e.Config = map[string]any{s.Key: on}
	}
	return e
}

// applyFields applies the members of an object, in the order of Fields.
func (s Setting) applyFields(object map[string]any, out *Applied) error {
	known := map[string]bool{}
	for _, f := range s.Fields {
		known[f.Name] = true
		if v, ok := object[f.Name]; ok && v != nil {
			if err := f.apply(v, object, out); err != nil {
				return fmt.Errorf("in setting %q: %w", s.Name, err)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if !known[name] {
			return fmt.Errorf("setting %q has no member %q: it has %s", s.Name, name, namesOf(s.Fields))
		}
	}
	return nil
}

// times multiplies a number, see Setting.Times.
func (s Setting) times(v any, all map[string]any) (any, error) {
	if s.Times == "" || all[s.Times] == nil || s.TimesUnless != "" && all[s.TimesUnless] == true {
		return v, nil
	}
	each, ok1 := plainNumber(v).(int64)
	many, ok2 := plainNumber(all[s.Times]).(int64)
	if !ok1 || !ok2 || many < 1 {
		return nil, fmt.Errorf("setting %q is multiplied by %s, and both must be whole numbers above zero", s.Name, s.Times)
	}
	return each * many, nil
}

// text is a value as a flag or a variable carries it.
func (s Setting) text(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case []any:
		var parts []string
		for _, e := range v {
			part, err := s.text(e)
			if err != nil {
				return "", err
			}
			parts = append(parts, part)
		}
		return strings.Join(parts, ","), nil
	case map[string]any:
		data, err := json.Marshal(plainNumbers(v))
		return string(data), err
	}
	if text, ok := number(v); ok {
		return text, nil
	}
	return "", fmt.Errorf("setting %q cannot hold %v", s.Name, v)
}
