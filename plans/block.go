package plans

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Block is a level, a step or a part: a body whose schema a Registry declares.
type Block struct {
	// Kind is the label that selects the schema: "smoke", "exec".
	Kind string
	// Name is the second label: of a step, and of a level that may occur several times.
	Name string
	// Attrs are the decoded attributes with defaults filled in: string, bool, float64,
	// []any, map[string]any; a duration is a string such as "30s"; a reference is the
	// name of its target.
	Attrs map[string]any
	// Parts are its nested blocks, by keyword, in plan order.
	Parts map[string][]*Block `json:",omitempty"`
	Range Range               `json:"-"`
	Finds []LevelResult       `json:"-"`
	// Notes are attributes that are text for readers of reports.
	Notes map[string]string `json:"-"`

	// Written are the attributes present in the plan, right or wrong.
	Written map[string]bool `json:"-"`
}

// LevelResult is a number, or a word, that a level finds for a variant, in its qualification
// launch.
type LevelResult struct {
	// Name is its name in rules, after the level's name: "exact_match".
	Name string
	Unit string
	// Better is the direction in which it improves: "higher", "lower" or "neither".
	Better string
	Doc    string
	// Words are set if it is a word: its possible values.
	Words []string
}

// Level is the block's name as a level: its own, or else its kind, of which a protocol
// has one.
func (b *Block) Level() string {
	if b.Name != "" {
		return b.Name
	}
	return b.Kind
}

// LevelAddress is the address under which a launch keeps a number found by a level.
func LevelAddress(level, name string) string { return FoundRoot + level + "." + name }

// FoundRoot is the prefix of the addresses of such numbers.
const FoundRoot = "levels."

// Decode decodes the attributes into the struct whose tags declare them (see Fields), or
// else into one with json tags. A duration goes into a Dur, a reference into a string.
func (b *Block) Decode(into any) (err error) {
	decode := func(v, into any) {
		text, wrong := json.Marshal(v)
		if wrong == nil {
			wrong = json.Unmarshal(text, into)
		}
		err = errors.Join(err, wrong)
	}
	v := reflect.ValueOf(into).Elem()
	fields := Fields(v.Type())
	for _, f := range fields {
		if value, given := b.Attrs[f.Name]; given && v.Field(f.Index).CanSet() {
			decode(value, v.Field(f.Index).Addr().Interface())
		}
	}
	if len(fields) == 0 {
		decode(b.Attrs, into)
	}
	if err != nil {
		return fmt.Errorf("decode %s %q: %w", b.Kind, b.Name, err)
	}
	return nil
}

// Written is a value of Attrs as a message quotes it: null, "text", [1, 2].
func Written(v any) string {
	var text strings.Builder
	w := json.NewEncoder(&text)
	w.SetEscapeHTML(false)
	if err := w.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// Checked is a Schema's check for blocks whose attributes are a T.
func Checked[T any](check func(b *Block, c T) []AttrError) func(*Block) []AttrError {
	return func(b *Block) []AttrError {
		var c T
		if err := b.Decode(&c); err != nil {
			return []AttrError{{Code: "invalid-value", Summary: "Invalid " + b.Kind + " block", Detail: err.Error()}}
		}
		return check(b, c)
	}
}

// Dur is a duration with a JSON form such as "1m30s".
type Dur time.Duration

func (d *Dur) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	parsed, err := time.ParseDuration(s)
	*d = Dur(parsed)
	return err
}

func (d Dur) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }
