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
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mxflow/mxflow/gates/verdict/code"
)

// Reason is a fact behind a verdict, a note or a lock: what was found, of what, and
// what it follows from. It holds no sentence; gates/tell makes those, and nothing
// reads them back.
type Reason struct {
	Code code.Code `json:"code"`
	// Subject is what the fact is about: a node, a level, a rule, a launch, an address.
	Subject string `json:"subject,omitempty"`
	// Verdict is what became of the subject, where the fact says that.
	Verdict Verdict `json:"verdict,omitempty"`
	// Args are the values that go with the code.
	Args Args `json:"args,omitempty"`
	// Causes are what it follows from.
	Causes []Reason `json:"causes,omitempty"`
}

// New is a reason of a code with its values.
func New(c code.Code, args ...Arg) Reason {
	r := Reason{Code: c}
	for _, a := range args {
		if r.Args == nil {
			r.Args = Args{}
		}
		r.Args[a.Name] = a.Value
	}
	return r
}

// On is the reason about a subject.
func (r Reason) On(subject string) Reason { r.Subject = subject; return r }

// Is is the reason with what became of its subject.
func (r Reason) Is(v Verdict) Reason { r.Verdict = v; return r }

// From is the reason with what it follows from; what is no fact is left out.
func (r Reason) From(causes ...Reason) Reason {
	r.Causes = nil // for none, as when it is read back
	for _, c := range causes {
		if !c.IsZero() {
			r.Causes = append(r.Causes, c)
		}
	}
	return r
}

// IsZero reports whether there is no fact at all.
func (r Reason) IsZero() bool { return r.Code == "" }

// Equal reports whether two reasons say the same of the same.
func (r Reason) Equal(o Reason) bool { return reflect.DeepEqual(r, o) }

// Key is what digests and keys may rest on: codes, subjects and verdicts down to the
// roots. Values are left out, since a number that is printed with one more digit, or
// an error that an engine words in another way, is the same fact.
func (r Reason) Key() string {
	var b strings.Builder
	r.writeKey(&b)
	return b.String()
}

func (r Reason) writeKey(b *strings.Builder) {
	fmt.Fprintf(b, "%q %q %q", r.Code, r.Subject, r.Verdict)
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

// Holds reports whether a reason of a code is among some or what they follow from.
func Holds(reasons []Reason, c code.Code) bool {
	return slices.ContainsFunc(reasons, func(r Reason) bool { return r.Code == c || Holds(r.Causes, c) })
}

// Map is the reason with every text among its values and those of its causes, and
// every subject, put through a function: how secrets are taken out.
func (r Reason) Map(f func(string) string) Reason {
	r.Subject, r.Args, r.Causes = f(r.Subject), maps.Clone(r.Args), slices.Clone(r.Causes)
	for name, v := range r.Args {
		v.Text, v.List = f(v.Text), slices.Clone(v.List)
		for i := range v.List {
			v.List[i] = f(v.List[i])
		}
		r.Args[name] = v
	}
	for i, c := range r.Causes {
		r.Causes[i] = c.Map(f)
	}
	return r
}

// Args are the values of a reason by name.
type Args map[string]Value

// Arg is one named value.
type Arg struct {
	Name  string
	Value Value
}

// Value is a text, a number or a span of numbers with their unit, or a list of texts
// or of numbers.
type Value struct {
	Text   string
	Number *float64
	// To is the other end of a span that begins at Number.
	To *float64
	// Unit is that of all numbers: "tok/s", "ms", "GB", "count", "ratio" (a change: 0.1
	// is +10%), "percent" (a ratio that is worked out and no change by itself),
	// "spread" (a ratio without a direction), "share" (0.1 is 10%), "p" (a chance),
	// "level" (that a chance is held against), "duration" (seconds).
	Unit    string
	List    []string
	Numbers []float64
}

// Text is an argument that is a text: a name, a path, somebody else's words.
func Text(name, text string) Arg { return Arg{name, Value{Text: text}} }

// Err is an argument that is an error of the system or of an engine: somebody else's
// words, which nothing looks into.
func Err(err error) Arg {
	if err == nil {
		return Text("error", "")
	}
	return Text("error", err.Error())
}

// Int is an argument that counts.
func Int(name string, n int) Arg { return Num(name, float64(n), "count") }

// Num is an argument that is a number in a unit; one that is not finite is kept as a
// word, since JSON has no number for it.
func Num(name string, x float64, unit string) Arg {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return Text(name, fmt.Sprint(x))
	}
	return Arg{name, Value{Number: &x, Unit: unit}}
}

// Millis is a time as an argument, in milliseconds.
func Millis(name string, d time.Duration) Arg {
	return Num(name, float64(d)/float64(time.Millisecond), "ms")
}

// Span is an argument that is all between two finite numbers of a unit.
func Span(name string, low, high float64, unit string) Arg {
	return Arg{name, Value{Number: &low, To: &high, Unit: unit}}
}

// Dur is an argument that is a duration.
func Dur(name string, d time.Duration) Arg { return Num(name, d.Seconds(), "duration") }

// List is an argument that is several texts.
func List(name string, texts []string) Arg { return Arg{name, Value{List: slices.Clone(texts)}} }

// numbers is a value of numbers with their unit, as JSON.
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
		return plainJSON(v.List)
	case plain(v.Text):
		return []byte(`"` + v.Text + `"`), nil
	}
	return plainJSON(v.Text)
}

// plain reports whether a text is the same between the quotes of JSON. Most are, and
// a ledger holds many.
func plain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// plainJSON leaves "<" as it is: whoever writes the whole says whether that is escaped.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// UnmarshalJSON reads what MarshalJSON writes, and refuses anything else.
func (v *Value) UnmarshalJSON(data []byte) error {
	*v = Value{}
	switch data[0] {
	case '"':
		if inside := string(data[1 : len(data)-1]); plain(inside) {
			v.Text = inside
			return nil
		}
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
	n, err := strconv.ParseFloat(string(data), 64)
	if err != nil {
		return err
	}
	v.Number, v.Unit = &n, "count"
	return nil
}

// And joins names as a sentence does: "a, b and c".
func And(names []string) string { return Joined(names, "and") }

// Joined are names with a word before the last of them.
func Joined(names []string, word string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " " + word + " " + names[last]
}

// Because is one reason.
func Because(c code.Code, args ...Arg) []Reason {
	return []Reason{New(c, args...)}
}

// Line is an error without what stands below its first line, such as the end of a
// log.
func Line(err error) Arg { return Text("error", firstLine(err)) }

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// Fault is a fact on its way as an error, where what cannot go on has nobody to hand a
// decision to. Its text is for whoever debugs; people are shown the fact.
type Fault struct{ Reason Reason }

func (f *Fault) Error() string { return f.Reason.Key() }

// OfError is the fact behind an error: the one that it carries, or that something
// broke, with the error in its own words.
func OfError(err error) Reason {
	if f := (*Fault)(nil); errors.As(err, &f) {
		return f.Reason
	}
	return New(code.Broken, Err(err))
}
