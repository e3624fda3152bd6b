package rules

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/expr-lang/expr/file"
	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

// Limits on one rule: a rule is a sentence, not a program. With so little text the
// parser's recursion stays far from the end of the stack.
const (
	maxRuleBytes = 4096
	maxRuleDepth = 100
)

// Error is a mistake in a rule's text: where (in runes) and what to do.
type Error struct {
	At      int // rune offset, -1 when unknown
	Length  int
	Code    string
	Summary string
	Detail  string
	// OfProtocol is set if a protocol does not send or test what is read.
	OfProtocol bool
}

func (e *Error) ofProtocol() *Error {
	e.OfProtocol = true
	return e
}

type extra struct {
	lang.Coded
	ofProtocol bool
}

func (e *Error) Extra() any { return extra{lang.Coded(e.Code), e.OfProtocol} }

// OfProtocol reports whether a diagnostic of a rule says that a protocol does not send or
// test what is read.
func OfProtocol(d *hcl.Diagnostic) bool {
	x, _ := hcl.DiagnosticExtra[extra](d)
	return x.ofProtocol
}

// lexicalLimits checks a rule before the recursive parser sees it.
func lexicalLimits(src string) *Error {
	if strings.TrimSpace(src) == "" {
		return Wrong("empty-rule", "Empty rule", "A rule must compare a measured value, such as chat.tg.gain >= 10%%.")
	}
	if len(src) > maxRuleBytes {
		return Wrong("rule-too-long", "Rule too long",
			"A rule may have up to %d bytes; this one has %d. Split it into several rules: a gate passes when all of "+
				"them do.", maxRuleBytes, len(src))
	}
	depth, at := 0, 0
	for _, c := range src {
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		}
		if depth > maxRuleDepth {
			return &Error{
				At: at, Length: 1, Code: "nested-too-deeply", Summary: "Rule nested too deeply",
				Detail: fmt.Sprintf("A rule may nest up to %d levels.", maxRuleDepth),
			}
		}
		at++
	}
	return nil
}

var (
	// unexpected is how expr-lang names what it did not expect: token Operator("=").
	unexpected = regexp.MustCompile(`unexpected token \w+\((".*?")\)`)
	// notNumber is how it says that a literal is no number.
	notNumber = regexp.MustCompile(`^invalid \w+ literal`)
	// withUnit matches a number and what stands behind it: a unit, or a % with a space before it.
	withUnit = regexp.MustCompile(`(?:^|[^\w.])([0-9][0-9_.]*)(?: +%|\s*([A-Za-zµ][A-Za-zµ/]*))`)
	words    = regexp.MustCompile(`[\w.]+`)
)

// fromExpr is an error of expr-lang, in the words of who writes rules, at its place.
func fromExpr(err error, src string) *Error {
	says := err.Error()
	e := &Error{At: -1, Length: 1, Code: "invalid-rule", Summary: "Invalid rule"}
	if fe := (*file.Error)(nil); errors.As(err, &fe) {
		says = strings.Replace(fe.Message, "unexpected token EOF",
			"the rule ends too early: something is missing, such as a number or a closing bracket", 1)
		says = unexpected.ReplaceAllString(says, "unexpected $1")
		// At the end there is nothing to point at but the last character.
		e.At = min(fe.From, utf8.RuneCountInString(src)-1)
		e.Length = max(1, fe.To-fe.From)
	}
	word := ""
	for _, at := range words.FindAllStringIndex(src, -1) {
		if from := byteOffset(src, e.At); at[0] <= from && from < at[1] {
			word = src[at[0]:at[1]]
		}
	}
	units := withUnit.FindAllStringSubmatch(src, -1)
	units = slices.DeleteFunc(units, func(m []string) bool {
		return slices.Contains([]string{"and", "or", "not", "in", "e", "E", "x", "b", "o"}, m[2])
	})
	switch lower := strings.ToLower(says); {
	case len(units) > 0 && (units[0][2] == "" || units[0][2] == "percent"):
		says = fmt.Sprintf("write %s%%", units[0][1])
	case len(units) > 0:
		says = fmt.Sprintf("%s%s has a unit: write the number alone, in the unit of its metric, as ms for ttft",
			units[0][1], units[0][2])
	case strings.HasPrefix(lower, "bad number syntax"), notNumber.MatchString(lower):
		says = strconv.Quote(word) + " cannot be read as a number"
	case strings.HasPrefix(lower, "literal not terminated"):
		says = "a quote is not closed"
	case strings.HasPrefix(lower, "unrecognized character"):
		says = fmt.Sprintf("unexpected %.1q", src[byteOffset(src, e.At):])
	}
	e.Detail = strings.ToUpper(says[:1]) + says[1:] +
		". A rule compares, as in chat.tg.gain >= 10% and levels.kernels == 'pass'; numbers have a decimal point and " +
		"no unit but % right behind them, and == is not =."
	return e
}

// Diagnostic points into the plan file: at the exact words if it is known which words of
// the file became them, else at the whole text of the rule.
func (e *Error) Diagnostic(at plans.Range, src string, files map[string]*hcl.File) *hcl.Diagnostic {
	d := &hcl.Diagnostic{Severity: hcl.DiagError, Extra: e.Extra(), Summary: e.Summary, Detail: e.Detail}
	d.Subject = lang.HCL(at).Ptr()
	f := files[at.File]
	if f == nil || e.At < 0 || at.Start.Byte >= at.End.Byte || at.End.Byte > len(f.Bytes) {
		return d
	}
	from := byteOffset(src, e.At)
	to := max(from+1, byteOffset(src, e.At+e.Length))
	begins, ends := places(string(f.Bytes[at.Start.Byte:at.End.Byte]), src)
	if to <= len(begins) {
		d.Subject.Start = Position(f.Bytes, at.Start, at.Start.Byte+begins[from])
		d.Subject.End = Position(f.Bytes, at.Start, at.Start.Byte+ends[to-1])
	}
	return d
}

// Position is the line and column of an offset after start, in characters, as carets
// need.
func Position(src []byte, start plans.Pos, offset int) hcl.Pos {
	line := bytes.LastIndexByte(src[:offset], '\n') + 1
	return hcl.Pos{
		Line:   start.Line + bytes.Count(src[start.Byte:offset], []byte("\n")),
		Column: 1 + utf8.RuneCount(src[line:offset]),
		Byte:   offset,
	}
}

func byteOffset(s string, runes int) int {
	n := 0
	for i := range s {
		if n == runes {
			return i
		}
		n++
	}
	return len(s)
}

// places is, for each byte of a rule, where it begins and ends in what is written in the
// plan; nothing if the two do not fit, as for a reference to a local. It serves HCL and
// YAML alike: white space may be folded or be indentation and is taken as it comes, and
// what ${ } became has the place of the ${ }.
func places(written, rule string) (begins, ends []int) {
	at, quoted := 0, written[0] == '"'
	switch written[0] {
	case '"', '\'':
		at = 1
	case '<', '|', '>':
		at = strings.IndexByte(written, '\n') + 1
	}
	mark := func(n, from, to int) {
		for range n {
			begins, ends = append(begins, from), append(ends, to)
		}
	}
	for i := 0; i < len(rule); {
		want, size := utf8.DecodeRuneInString(rule[i:])
		for !unicode.IsSpace(want) && at < len(written) && strings.IndexByte(" \t\r\n", written[at]) >= 0 {
			at++
		}
		if strings.HasPrefix(written[at:], "${") {
			end := at + closing(written[at:])
			// The value ends where the text behind it begins.
			next := written[end:]
			if cut := strings.IndexAny(next, "\"'\\$\n"); cut >= 0 {
				next = next[:cut]
			}
			n := strings.Index(rule[i:], next)
			if n < 0 || next == "" {
				n = len(rule) - i
			}
			mark(n, at, end)
			i, at = i+n, end
			continue
		}
		got, width := utf8.DecodeRuneInString(written[at:])
		switch rest := written[at:]; {
		case quoted && got == '\\':
			if r, _, tail, err := strconv.UnquoteChar(rest, '"'); err == nil {
				got, width = r, len(rest)-len(tail)
			}
		case strings.HasPrefix(rest, "$${"), strings.HasPrefix(rest, "%%{"), written[0] == '\'' &&
			strings.HasPrefix(rest, "''"):
			width = 2
		}
		switch {
		case unicode.IsSpace(want) && !unicode.IsSpace(got):
			width = 0 // it was folded away; what follows tells where we are
		case got != want && !unicode.IsSpace(want):
			return nil, nil
		}
		mark(size, at, at+width)
		i, at = i+size, at+width
	}
	return begins, ends
}

// closing is the length of a ${ } at the start of a text.
func closing(text string) int {
	depth := 0
	for i, c := range text {
		switch c {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}
