package verdict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/sorted"
)

// Reason is a fact behind a verdict, a note or a lock: its kind, its subject and its
// causes. Its text is written where the fact is found, and nothing reads it back: keys
// and digests rest on kinds, subjects and verdicts.
type Reason struct {
	Kind code.Kind
	// Subject is what the fact is about: a node, a level, a rule, a launch, an address.
	Subject string
	// Verdict is the subject's outcome, if the fact has one.
	Verdict Verdict
	// Text is what a person reads, with values in braces: see fill. JSON has it filled in.
	Text string
	// Values are the values that go with the kind.
	Values Values
	// Causes are the facts that it follows from. They follow the text, ": one; another",
	// unless it names them itself.
	Causes []Reason
}

// New returns a reason of a fact that several places find.
func New(f code.Fact, values ...Arg) Reason { return Say(f.Kind, f.Text, values...) }

// Say returns a reason of this kind, whose text has the values in braces.
func Say(kind code.Kind, text string, values ...Arg) Reason {
	r := Reason{Kind: kind, Text: text}
	for _, v := range values {
		if r.Values == nil {
			r.Values = Values{}
		}
		r.Values[v.Name] = v.Value
	}
	return r
}

// As returns the reason as another fact about the same, with the same values.
func (r Reason) As(f code.Fact) Reason { r.Kind, r.Text = f.Kind, f.Text; return r }

func (r Reason) On(subject string) Reason { r.Subject = subject; return r }

// Is returns the reason with this verdict on its subject.
func (r Reason) Is(v Verdict) Reason { r.Verdict = v; return r }

// From returns the reason with these causes, zero ones left out.
func (r Reason) From(causes ...Reason) Reason {
	r.Causes = nil // nil for none, as when read back
	for _, c := range causes {
		if !c.IsZero() {
			r.Causes = append(r.Causes, c)
		}
	}
	return r
}

// IsZero reports whether there is no fact at all.
func (r Reason) IsZero() bool { return r.Kind == "" }

// Equal reports whether two reasons are the same fact with the same values.
func (r Reason) Equal(o Reason) bool {
	return r.Kind == o.Kind && r.Subject == o.Subject && r.Verdict == o.Verdict &&
		reflect.DeepEqual(r.Values, o.Values) &&
		slices.EqualFunc(r.Causes, o.Causes, Reason.Equal)
}

// reasonJSON is how a reason is written: with its text as a person reads it and, if values
// stand in it, as it was made, so it can be said again of another subject.
type reasonJSON struct {
	Kind     code.Kind `json:"kind"`
	Subject  string    `json:"subject,omitempty"`
	Verdict  Verdict   `json:"verdict,omitempty"`
	Values   Values    `json:"values,omitempty"`
	Text     string    `json:"text,omitempty"`
	Template string    `json:"template,omitempty"`
	Causes   []Reason  `json:"causes,omitempty"`
}

// MarshalJSON writes the text filled in, without that of its causes unless it names them.
func (r Reason) MarshalJSON() ([]byte, error) {
	j := reasonJSON{r.Kind, r.Subject, r.Verdict, r.Values, r.fill(r.Text), r.Text, r.Causes}
	if j.Template == j.Text {
		j.Template = ""
	}
	return JSON(j)
}

func (r *Reason) UnmarshalJSON(data []byte) error {
	var j reasonJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	if j.Template == "" {
		j.Template = strings.ReplaceAll(j.Text, "{", "{{")
	}
	*r = Reason{j.Kind, j.Subject, j.Verdict, j.Template, j.Values, j.Causes}
	return nil
}

// Key is what digests and keys may rest on: kinds, subjects and verdicts down to the
// roots. Values and texts are left out: a number printed with one more digit, or an error
// that an engine words differently, is the same fact.
func (r Reason) Key() string {
	var b strings.Builder
	r.writeKey(&b)
	return b.String()
}

func (r Reason) writeKey(b *strings.Builder) {
	fmt.Fprintf(b, "%q %q %q", r.Kind, r.Subject, r.Verdict)
	if len(r.Causes) == 0 {
		return
	}
	b.WriteString(" (")
	for i, c := range r.Causes {
		if i > 0 {
			b.WriteString(", ")
		}
		c.writeKey(b)
	}
	b.WriteString(")")
}

func (r Reason) AnyOf(facts ...code.Fact) bool {
	return slices.ContainsFunc(facts, func(f code.Fact) bool { return f.Kind == r.Kind })
}

// Holds reports whether a kind is among some reasons or their causes.
func Holds(reasons []Reason, k code.Kind) bool {
	return slices.ContainsFunc(reasons, func(r Reason) bool { return r.Kind == k || Holds(r.Causes, k) })
}

// Map returns the reason with f applied to every subject and every text, also in its
// causes: how secrets are redacted.
func (r Reason) Map(f func(string) string) Reason {
	r.Subject, r.Text, r.Values, r.Causes = f(r.Subject), f(r.Text), maps.Clone(r.Values), slices.Clone(r.Causes)
	for name, v := range sorted.All(r.Values) {
		v.Text, v.List = f(v.Text), slices.Clone(v.List)
		for i := range v.List {
			v.List[i] = f(v.List[i])
		}
		r.Values[name] = v
	}
	for i, c := range r.Causes {
		r.Causes[i] = c.Map(f)
	}
	return r
}

// Values are the values of a reason by name.
type Values map[string]Value

type Arg struct {
	Name  string
	Value Value
}

// Value is a text, a number or a span of numbers with their unit, or a list of texts
// or of numbers.
type Value struct {
	Text   string
	Number *float64
	To     *float64 // the end of a span
	// Unit is the unit of all numbers: "tok/s", "ms", "GB", "count", "ratio" (a change:
	// 0.1 is +10%), "percent" (a computed ratio that is not a change), "spread" (a ratio
	// without a direction), "share" (0.1 is 10%), "p" (a chance), "level" (that a chance
	// is compared with), "duration" (seconds).
	Unit    string
	List    []string
	Numbers []float64
}

// Text is a text argument: a name, a path, another program's words.
func Text(name, text string) Arg { return Arg{name, Value{Text: text}} }

// Err is an argument with an error of the system or of an engine: foreign words, which
// nothing parses.
func Err(err error) Arg {
	if err == nil {
		return Text("error", "")
	}
	return Text("error", err.Error())
}

func Int(name string, n int) Arg { return Num(name, float64(n), "count") }

// Num is an argument with a number in a unit; one that is not finite is kept as a word,
// as JSON has no number for it.
func Num(name string, x float64, unit string) Arg {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return Text(name, fmt.Sprint(x))
	}
	return Arg{name, Value{Number: &x, Unit: unit}}
}

// Millis is an argument with a time in milliseconds.
func Millis(name string, d time.Duration) Arg {
	return Num(name, float64(d)/float64(time.Millisecond), "ms")
}

// Span is an argument with the range between two finite numbers of a unit.
func Span(name string, low, high float64, unit string) Arg {
	return Arg{name, Value{Number: &low, To: &high, Unit: unit}}
}

func Dur(name string, d time.Duration) Arg { return Num(name, d.Seconds(), "duration") }

func List(name string, texts []string) Arg { return Arg{name, Value{List: slices.Clone(texts)}} }

// numbers is the JSON form of numbers with their unit.
type numbers struct {
	Value  *float64  `json:"value,omitempty"`
	To     *float64  `json:"to,omitempty"`
	Values []float64 `json:"values,omitempty"`
	Unit   string    `json:"unit,omitempty"`
}

// MarshalJSON writes a text as a string, a list of texts as a list, a count as a number,
// and other numbers as {"value": 1.5, "unit": "GB"}, with "to" for a span and "values"
// for several.
func (v Value) MarshalJSON() ([]byte, error) {
	switch {
	case v.Number != nil && v.Unit == "count" && v.To == nil:
		return json.Marshal(*v.Number)
	case v.Number != nil || v.Numbers != nil:
		return json.Marshal(numbers{v.Number, v.To, v.Numbers, v.Unit})
	case v.List != nil:
		return JSON(v.List)
	}
	return JSON(v.Text)
}

// JSON is a value compact, without escaping "<": the outer encoder decides that.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// UnmarshalJSON reads what MarshalJSON writes, and refuses anything else.
func (v *Value) UnmarshalJSON(data []byte) error {
	*v = Value{}
	switch data[0] {
	case '"':
		return json.Unmarshal(data, &v.Text)
	case '[':
		return json.Unmarshal(data, &v.List)
	case '{':
		var n numbers
		if err := json.Unmarshal(data, &n); err != nil {
			return err
		}
		if n.Value == nil && n.Values == nil {
			return fmt.Errorf("%s is no value of a reason", data)
		}
		v.Number, v.To, v.Numbers, v.Unit = n.Value, n.To, n.Values, n.Unit
		return nil
	case 'n':
		return errors.New("null is no value of a reason")
	}
	v.Unit = "count"
	return json.Unmarshal(data, &v.Number)
}

// And joins names for a sentence: "a, b and c".
func And(names []string) string { return Joined(names, "and") }

// Joined joins names, with a word before the last.
func Joined(names []string, word string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " " + word + " " + names[last]
}

func Because(f code.Fact, values ...Arg) []Reason { return []Reason{New(f, values...)} }

// Line is an argument with the first line of an error, without what follows, such as the
// end of a log.
func Line(err error) Arg {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return Text("error", line)
}

// Fault is a fact returned as an error, where there is no decision to put it into. Its
// text is for debugging; people are shown the fact.
type Fault struct{ Reason Reason }

func (f *Fault) Error() string { return f.Reason.Key() }

// OfError is the fact behind an error: the one that it carries or, if none, that
// something broke, with the error's text.
func OfError(err error) Reason {
	if f := (*Fault)(nil); errors.As(err, &f) {
		return f.Reason
	}
	return Say("broken", "{error}", Err(err))
}
