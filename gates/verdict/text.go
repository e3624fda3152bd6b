package verdict

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/mxflow/mxflow/gates/verdict/code"
)

// String is a reason on one line, followed by its causes; empty if there is none.
func (r Reason) String() string { return r.line(nil) }

// line is String up to the causes that were told above.
func (r Reason) line(told facts) string {
	if r.IsZero() {
		return ""
	}
	text, whole := r.text()
	untold := func(c Reason) bool { return !told.has(c) }
	switch causes := distinct(r.Causes); {
	case whole || len(causes) == 0:
	case !slices.ContainsFunc(causes, untold) && len(Semicolons(causes)) >= shortCause:
		if c := causes[0]; len(causes) == 1 && c.Kind == code.Level.Kind && len(c.Causes) > 0 {
			came, _ := c.text() // the level's verdict is repeated
			text += ": " + came
		}
		text += ", see above"
	default:
		lines := make([]string, len(causes))
		for i, c := range causes {
			lines[i] = c.line(told)
		}
		text += ": " + semicolons(causes, lines)
	}
	if with := swap.Load(); with != nil {
		text = (*with)(r.Kind, text)
	}
	return text
}

// distinct are causes without those that say of another request, or of another launch that crashed
// in the same way, what one before says: how long it took is no other way.
func distinct(causes []Reason) (kept []Reason) {
	plain := func(r Reason) Reason {
		r.Values = maps.Clone(r.Values)
		if delete(r.Values, "request"); r.Kind == code.CrashIs.Kind {
			r.Subject = ""
			r.Causes = slices.Clone(r.Causes)
			for i, c := range r.Causes {
				c.Values = maps.Clone(c.Values)
				for name, v := range c.Values {
					v.Text = strings.Map(undigit, v.Text)
					c.Values[name] = v
				}
				r.Causes[i] = c
			}
		}
		return r
	}
	for _, c := range causes {
		if !slices.ContainsFunc(kept, func(k Reason) bool { return plain(k).Equal(plain(c)) }) {
			kept = append(kept, c)
		}
	}
	return kept
}

func undigit(c rune) rune {
	if '0' <= c && c <= '9' {
		return -1
	}
	return c
}

// Swap passes every sentence made from now on through a function, until restore is
// called. It is for tests only, which show with it that words bear on nothing: run twice,
// once with other words, everything but the printed text must be the same.
func Swap(with func(kind code.Kind, sentence string) string) (restore func()) {
	before := swap.Swap(&with)
	return func() { swap.Store(before) }
}

var swap atomic.Pointer[func(code.Kind, string) string]

// text is a reason without its causes, or with them if the text names them itself.
func (r Reason) text() (text string, whole bool) {
	return r.fill(r.Text), slices.ContainsFunc([]string{"{causes}", "{causes:list}", "{comparison}"},
		func(named string) bool { return strings.Contains(r.Text, named) })
}

// fill puts the values of a reason into its text. In braces stand
//
//	{path}                  a value, as values of its kind are written: "31.68 tok/s", "a, b"
//	{subject} {verdict} {causes} {cause}   those of the reason; the kind of its first cause
//	{path:q}                in quotes
//	{took:2} {took:3}       a number, or both ends of a span, with so many digits
//	{by:rough}              a number as a rough percentage
//	{is~wanted}             a number with enough digits to differ from another value
//	{at_least~limit:least}  a bound, rounded away from what it claims; {at_most~limit:most} likewise
//	{between:outward}       both bounds, rounded away from what lies between
//	{names:and} {names:10}  a list as a sentence joins it, and its first ten
//	{n|launch|launches}     a count with its noun
//	{verdict:did}           what came of something: "failed", "is invalid"
//	{why?: {why}}           what stands behind the ?, where the value is there
//	{why!nothing}           what stands behind the !, where it is not
//	{by=log?…} {by=log!…}   the same by whether it is this word
//
// and "{{" stands for "{".
func (r Reason) fill(text string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(text, '{')
		if i < 0 {
			return b.String() + text
		}
		b.WriteString(text[:i])
		end := closing(text, i)
		switch {
		case strings.HasPrefix(text[i:], "{{"):
			b.WriteByte('{')
			end = i + 1
		case end < 0:
			return b.String() + text[i:]
		default:
			b.WriteString(r.expand(text[i+1 : end]))
		}
		text = text[end+1:]
	}
}

// closing is the index of the brace that closes the one at i; negative if none does.
func closing(s string, i int) int {
	depth := 0
	for j := i; j < len(s); j++ {
		switch s[j] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return j
			}
		}
	}
	return -1
}

// expand is the text for one pair of braces.
func (r Reason) expand(inner string) string {
	at := strings.IndexAny(inner, ":|?!=~")
	if at < 0 {
		return r.value(inner).String()
	}
	name, rest := inner[:at], inner[at+1:]
	v := r.value(name)
	present := !v.IsZero()
	op := inner[at]
	if op == '=' {
		at = strings.IndexAny(rest, "?!")
		present = v.String() == rest[:at]
		op, rest = rest[at], rest[at+1:]
	}
	switch op {
	case '?', '!':
		if present == (op == '!') {
			return ""
		}
		return r.fill(rest)
	case '|':
		one, many, _ := strings.Cut(rest, "|")
		if v.Number != nil && *v.Number == 1 {
			many = one
		}
		return v.String() + " " + many
	case '~':
		other, side, _ := strings.Cut(rest, ":")
		if limit := r.value(other); side != "" && v.Number != nil && limit.Number != nil {
			return boundOf(*v.Number, *limit.Number, v.Unit, side == "least")
		}
		text, _ := formatDistinctValues(v, r.value(other))
		return text
	}
	if first, err := strconv.Atoi(rest); err == nil && v.List != nil {
		if len(v.List) > first {
			return fmt.Sprintf("%s and %d more", strings.Join(v.List[:first], ", "), len(v.List)-first)
		}
		return v.String()
	}
	switch rest {
	case "did":
		return Did(Verdict(v.Text))
	case "q":
		return strconv.Quote(v.String())
	case "and":
		return And(v.List)
	case "list":
		return strings.Join(Lines(r.Causes), ", ")
	}
	if v.Number == nil {
		return v.String()
	}
	switch rest {
	case "outward":
		if v.To != nil {
			return AtLeast(*v.Number, v.Unit) + " to " + AtMost(*v.To, v.Unit)
		}
	case "rough":
		if a := 100 * math.Abs(*v.Number); a >= 99.5 && a < 1e7 {
			return fmt.Sprintf("%.0f%%", 100**v.Number)
		}
		return fmt.Sprintf("%.2g%%", 100**v.Number)
	case "2", "3", "4":
		digits := func(x float64) string { return Digits(x, v.Unit, int(rest[0]-'0')-3) }
		if v.To != nil && digits(*v.To) != digits(*v.Number) {
			return digits(*v.Number) + " to " + digits(*v.To)
		}
		return digits(*v.Number)
	}
	return v.String()
}

func (r Reason) value(name string) Value {
	switch name {
	case "subject":
		return Value{Text: r.Subject}
	case "verdict":
		return Value{Text: string(r.Verdict)}
	case "causes":
		return Value{Text: Semicolons(r.Causes)}
	case "cause":
		if len(r.Causes) > 0 {
			return Value{Text: string(r.Causes[0].Kind)}
		}
	case "comparison":
		return Value{Text: r.comparison()}
	}
	return r.Values[name]
}

// Did is a verdict as a predicate: "failed".
func Did(v Verdict) string {
	switch v {
	case Pass:
		return "passed"
	case Fail:
		return "failed"
	case Error:
		return "ended in error"
	}
	return "is " + string(v)
}

func (v Value) IsZero() bool {
	return v.Text == "" && v.Number == nil && len(v.List) == 0 && len(v.Numbers) == 0
}

func (v Value) String() string {
	switch {
	case v.Number != nil && v.To != nil:
		low, high := FormatDistinct(*v.Number, *v.To, v.Unit)
		return low + " to " + high
	case v.Numbers != nil:
		each := make([]string, len(v.Numbers))
		for i, x := range v.Numbers {
			each[i] = thousands(Digits(x, v.Unit, 1)) // data, of which the spread matters
		}
		return strings.Join(each, ", ")
	case v.Number != nil:
		return Number(*v.Number, v.Unit)
	case v.List != nil:
		return strings.Join(v.List, ", ")
	}
	return v.Text
}

// comparison is one comparison with its evidence, in the notation used everywhere:
// "chat.tg.gain +21.5% (required ≥ +10%, lower bound +20.3%, 4 launches per arm)".
func (r Reason) comparison() string {
	op, of := r.Values["op"].Text, r.Values["of"].Text
	is, want := isWanted(r.Values["is"], r.Values["wanted"])
	required := "required " + wish(op, want, of, !r.Values["negated"].IsZero())
	if is == want && op == "==" && r.Kind == code.AsWanted.Kind {
		required = "as required"
	}
	switch r.Values["each"].Text {
	case "launch":
		required += " in every launch"
	case "pair":
		required += " for every pair of launches"
	}
	evidence := []string{required}
	var rests, behind []Reason
	for _, c := range r.Causes {
		switch {
		case c.Kind == code.RestsOn.Kind:
			rests = append(rests, c)
		case !c.Kind.Evidence():
			behind = append(behind, c)
		}
	}
	for _, c := range rests {
		line := c.String()
		if len(rests) > 1 {
			line = c.Subject + " from " + line
		}
		evidence = append(evidence, line)
	}
	for _, c := range r.Causes {
		if c.Kind.Evidence() {
			evidence = append(evidence, c.String())
		}
	}
	text := r.Subject + " " + is + r.fill("{launch? in launch {launch} of {launches}}") + " (" +
		strings.Join(evidence, ", ") + ")"
	if len(behind) > 0 {
		text += ": " + Semicolons(behind)
	}
	return text
}

// wish is what a comparison requires: "≥ +10%", "pass", "> target.other.chat.tg = 57.85
// tok/s".
func wish(op, value, of string, negated bool) string {
	value = bare(value)
	if of != "" {
		value = of + " = " + value
	}
	if negated {
		op = map[string]string{"==": "!=", "!=": "==", "in": "not in", ">=": "<", ">": "<=", "<=": ">", "<": ">="}[op]
	}
	switch op {
	case "==":
		return value
	case "!=":
		return "anything but " + value
	case "in":
		return "one of " + value
	case "not in":
		return "none of " + value
	}
	return strings.NewReplacer(">=", "≥", "<=", "≤").Replace(op) + " " + value
}

// formatDistinctValues formats both sides of a comparison so that they look different if they are.
func formatDistinctValues(left, right Value) (string, string) {
	if left.Number == nil || right.Number == nil || left.Unit != right.Unit {
		return alone(left), alone(right)
	}
	a, b := FormatDistinct(*left.Number, *right.Number, left.Unit)
	if left.To == nil && right.To == nil {
		return a, b
	}
	end := func(v Value) float64 {
		if v.To != nil {
			return *v.To
		}
		return *v.Number
	}
	x, y := FormatDistinct(end(left), end(right), left.Unit)
	return fromTo(a, x), fromTo(b, y)
}

// isWanted are a value and what a rule wants of it, in the digits that the plan has.
func isWanted(is, wanted Value) (string, string) {
	if is.Number == nil || wanted.Number == nil || is.Unit != wanted.Unit || is.To != nil || wanted.To != nil {
		return formatDistinctValues(is, wanted)
	}
	want := Planned(*wanted.Number, wanted.Unit)
	for digits := range 6 {
		text := Digits(*is.Number, is.Unit, digits)
		near := math.Abs(*is.Number-*wanted.Number) <= 1e-14*math.Max(math.Abs(*is.Number), math.Abs(*wanted.Number))
		if near {
			return want, want
		}
		if text != want && text != Digits(*wanted.Number, is.Unit, digits) {
			return text, want
		}
	}
	return formatDistinctValues(is, wanted)
}

// boundOf is a bound, rounded away from what it claims, with enough digits to differ from the limit.
func boundOf(x, limit float64, unit string, least bool) (text string) {
	toward := math.Ceil
	if least {
		toward = math.Floor
	}
	for digits := range 6 {
		if text = rounded(x, unit, digits, toward); text != rounded(limit, unit, digits, math.Round) {
			return text
		}
	}
	return rounded(x, unit, 0, toward) // it is the limit
}

func alone(v Value) string {
	if v.Number == nil || v.To == nil {
		return v.String()
	}
	return fromTo(FormatDistinct(*v.Number, *v.To, v.Unit))
}

// fromTo is "0 to 2 tokens".
func fromTo(low, high string) string {
	if low == high {
		return low
	}
	number, unit, _ := strings.Cut(low, " ")
	if _, other, _ := strings.Cut(high, " "); unit == other {
		low = number
	}
	return low + " to " + high
}

func Lines(reasons []Reason) []string {
	if reasons == nil {
		return nil
	}
	out := make([]string, len(reasons))
	for i, r := range reasons {
		out[i] = r.String()
	}
	return out
}

func Semicolons(reasons []Reason) string {
	reasons = distinct(reasons)
	return semicolons(reasons, Lines(reasons))
}

// semicolons puts the lines of reasons on one; the number left out follows the last in
// brackets.
func semicolons(reasons []Reason, lines []string) string {
	var b strings.Builder
	for i, line := range lines {
		switch {
		case i == 0:
		case reasons[i].Kind == more:
			b.WriteString(" ")
		default:
			b.WriteString("; ")
		}
		b.WriteString(line)
	}
	return b.String()
}

// Behind is text after a separator, empty if there is no text.
func Behind(separator, text string) string {
	if text == "" {
		return ""
	}
	return separator + text
}

// Pairs are names with their values on one line, sorted by name.
func Pairs(of map[string]string, is, separator string) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		list = append(list, name+is+of[name])
	}
	return strings.Join(list, separator)
}
