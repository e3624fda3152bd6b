package kinds

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mxflow/mxflow/engine/logscan"
)

// Setting is one option of a kind. Options with the same meaning have the same name in
// every kind; the engine's names are in the fields below. A value reaches the engine in
// every way that is named: as a flag, in the environment, in its configuration file.
type Setting struct {
	Name string
	Type Type
	// Whole restricts a number to integers.
	Whole bool
	// Min and Max bound a number, unless Max is zero.
	Min, Max float64
	Doc      string
	// Default is what the engine does without the setting, in words; it is never sent.
	Default string
	// Choices are the allowed values of a string; empty accepts any.
	Choices []string
	// Words maps the plan's word to the engine's, where they differ.
	Words map[string]string
	// Times names a whole-number setting that a number is multiplied by before it is
	// sent, if the engine counts for all sequences together what the plan counts for one,
	// unless the bool setting TimesUnless is true.
	Times, TimesUnless string

	// Flag is the flag for the value ("--max-model-len"); a list is joined by commas, or
	// each of its members is a separate word if Apart is set, and an object is JSON. For
	// a bool it is given alone if true, and OffFlag, if there is one, if false. Also are
	// further flags that get the same value.
	Flag, OffFlag string
	Also          []string
	Apart         bool
	// Env is a variable for the value; a bool is 1 or 0.
	Env string
	// Key is the position in the configuration file, with dots between its levels.
	Key string
	// On and Off are what true and false do, instead of all of the above.
	On, Off *Effect
	// Without is what a member of an object does in addition if another member is absent.
	Without *Without
	// Used names an observation that shows whether the engine used the setting: a number
	// above 0, or a word that is not "none". UsedWith is the member of the setting that
	// requests it, if it is a member of an object that is sent whole. UsedHidden is set
	// if an engine may use it without showing that, as with its metrics off.
	Used, UsedWith string
	UsedHidden     bool
	// Fields are the members of an object that is not sent whole: each is a setting of
	// its own, and other members are rejected.
	Fields []Setting
}

// shownBy are the observations that show a setting with another name.
var shownBy = map[string][]string{
	"attention_backend":     {"attention"},
	"compilation_config":    {"cuda_graphs"},
	"enable_prefix_caching": {"prefix_caching"},
	"enforce_eager":         {"cuda_graphs"},
	"moe_backend":           {"moe_kernel"},
	"quantization":          {"linear_kernel"},
}

// Shown are the names of the observations that show a setting, in any kind.
func Shown(setting string) []string { return append([]string{setting}, shownBy[setting]...) }

// Without is the effect of a member of an object if Member is absent.
type Without struct {
	Member string
	Effect Effect
}

// Use is a setting of a launch, as written in a plan, and the observation that shows that
// the engine used it, which may be hidden.
type Use struct {
	Setting, Observed string
	Hidden            bool
}

// Uses are the settings of a launch whose use an observation shows.
func (k Kind) Uses(settings map[string]any) []Use { return usesOf(k.Settings, settings, "") }

func usesOf(known []Setting, settings map[string]any, in string) (uses []Use) {
	for _, s := range known {
		v := settings[s.Name]
		name := in + s.Name
		members, ok := v.(map[string]any)
		if s.UsedWith != "" {
			name, v = name+"."+s.UsedWith, members[s.UsedWith]
		}
		if s.Used != "" && v != nil && v != false {
			uses = append(uses, Use{name, s.Used, s.UsedHidden})
		}
		if ok {
			uses = append(uses, usesOf(s.Fields, members, in+s.Name+".")...)
		}
	}
	return uses
}

// Effect is what reaches an engine.
type Effect struct {
	Flags []string
	Env   map[string]string
	// Config has dotted keys, as Setting.Key.
	Config map[string]any
}

// apply adds a value's effect to out. all are the other settings of the plan.
func (s Setting) apply(v any, all map[string]any, out *Result) error {
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
	words := []string{text}
	if s.Apart {
		words = strings.Split(text, ",")
	}
	var e Effect
	for _, flag := range append([]string{s.Flag}, s.Also...) {
		if flag != "" {
			e.Flags = append(append(e.Flags, flag), words...)
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

// switched is a bool's effect.
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
func (s Setting) applyFields(object map[string]any, out *Result) error {
	known := map[string]bool{}
	for _, f := range s.Fields {
		known[f.Name] = true
		if v, ok := object[f.Name]; ok && v != nil {
			if err := f.apply(v, object, out); err != nil {
				return fmt.Errorf("in setting %q: %w", s.Name, err)
			}
			if w := f.Without; w != nil && object[w.Member] == nil {
				out.add(w.Effect)
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
		return nil, fmt.Errorf("setting %q is multiplied by %s: both must be positive integers", s.Name, s.Times)
	}
	return each * many, nil
}

// text is a value in the form of a flag or a variable.
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

// check checks that a value is of the setting's type, and normalizes it: bool, string, a
// number, []any or map[string]any.
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
			return nil, fmt.Errorf("setting %q must be an integer, not %s", s.Name, text)
		}
		if n, err := strconv.ParseFloat(text, 64); s.Max != 0 && (err != nil || !(s.Min <= n && n <= s.Max)) {
			return nil, fmt.Errorf("setting %q must be between %v and %v, not %s", s.Name, plainNumber(s.Min), plainNumber(s.Max), text)
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
		return nil, fmt.Errorf("setting %q must be one of %s, not %q", s.Name, quoteList(s.Choices), text)
	}
	return text, nil
}

var aType = map[Type]string{
	TypeString: "a string", TypeNumber: "a number", TypeBool: "a bool", TypeList: "a list", TypeObject: "an object, such as { name = value }",
	TypeAny: "text, a number, a bool, a list or an object",
}

// shown formats a value for a message, at most one line of it.
func shown(v any) string {
	return logscan.CleanTo(fmt.Sprint(v), 60)
}

// number formats a number as a flag's value, never with an exponent, which some engines'
// integer parsers reject.
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

// plainNumber converts whole numbers to int64, since a decoded plan has only float64 and
// a configuration file must not have 1e+06; other values stay.
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

// plainNumbers applies plainNumber throughout lists and objects, as a copy.
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

// Result is the effect of a plan's settings.
type Result struct {
	Flags []string
	// Env is set unless the plan sets the same names itself.
	Env map[string]string
	// Config is the content of the configuration file, nil if none of it is set; see
	// Render.
	Config map[string]any
}

// Apply turns settings into what the engine reads, in the order in which the kind
// declares them, so that equal settings give equal commands. A nil value counts as
// absent. Values are what a plan decodes to: string, bool, any integer or float64, []any
// and map[string]any. An unknown setting or a value that the setting does not accept is
// an error; all are reported at once.
func (k Kind) Apply(settings map[string]any) (Result, error) {
	var out Result
	var wrong []string
	known := map[string]bool{}
	for _, s := range k.Settings {
		known[s.Name] = true
		v, ok := settings[s.Name]
		if !ok || v == nil {
			continue
		}
		if err := s.apply(v, settings, &out); err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if !known[name] {
			wrong = append(wrong, fmt.Sprintf("unknown setting %q: %s", name, k.settingsHint()))
		}
	}
	if len(wrong) > 0 {
		return out, fmt.Errorf("engine kind %q: %s", k.Name, strings.Join(wrong, "; "))
	}
	if out.Config != nil {
		out.Flags = append(slices.Clone(k.ConfigArgs), out.Flags...)
	}
	return out, nil
}

func (k Kind) settingsHint() string {
	if len(k.Settings) == 0 {
		return "this kind has none; put flags into the command or args"
	}
	return "it has " + namesOf(k.Settings)
}

// add merges an effect into what is already there.
func (a *Result) add(e Effect) {
	a.Flags = append(a.Flags, e.Flags...)
	if len(e.Env) > 0 && a.Env == nil {
		a.Env = map[string]string{}
	}
	maps.Copy(a.Env, e.Env)
	for _, key := range slices.Sorted(maps.Keys(e.Config)) {
		if a.Config == nil {
			a.Config = map[string]any{}
		}
		put(a.Config, strings.Split(key, "."), plainNumbers(e.Config[key]))
	}
}

// put sets a value at a path of nested maps. Maps are merged; anything else in the way is
// replaced: the later setting wins.
func put(into map[string]any, path []string, v any) {
	for _, level := range path[:len(path)-1] {
		next, ok := into[level].(map[string]any)
		if !ok {
			next = map[string]any{}
			into[level] = next
		}
		into = next
	}
	last := path[len(path)-1]
	old, held := into[last].(map[string]any)
	if more, ok := v.(map[string]any); ok && held {
		maps.Copy(old, more)
		return
	}
	into[last] = v
}

// Render returns the configuration file of the kind, nil if none of it is set. Equal
// settings give equal files: keys are in alphabetical order.
func (a Result) Render(k Kind) ([]byte, error) {
	if a.Config == nil {
		return nil, nil
	}
	switch ending := filepath.Ext(k.ConfigName); ending {
	case ".yml", ".yaml":
		return yaml.Marshal(a.Config)
	case ".json":
		return json.MarshalIndent(a.Config, "", "  ")
	default:
		return nil, fmt.Errorf("engine kind %q: mxflow cannot write a configuration file %q; the name must end in .yml, .yaml or .json", k.Name, k.ConfigName)
	}
}
