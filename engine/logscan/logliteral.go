package logscan

import (
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

const (
	// maxLiteral is how much of a literal is looked for: its beginning, since a
	// text that lacks that lacks the whole.
	maxLiteral = 24
	// maxAlternatives bounds the literals of one expression.
	maxAlternatives = 64
)

// literalsOf are texts in lower case ASCII, one of which stands in the folded
// form of every line that the expression matches; nil where none can be told,
// as for ^\d+$. Caseless says that the expression ignores case, so that a
// letter may also match one outside ASCII (s matches U+017F), which folding
// does not undo.
func literalsOf(expr string) (literals []string, caseless bool, err error) {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, false, err
	}
	re = re.Simplify()
	return required(re), ignoresCase(re), nil
}

// required is the rarest choice of literals, by the length of its shortest.
func required(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		if run := asciiRun(string(re.Rune)); run != "" {
			return []string{run}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		var best []string
		for _, sub := range re.Sub {
			if l := required(sub); shortest(l) > shortest(best) {
				best = l
			}
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			l := required(sub)
			if l == nil || len(all)+len(l) > maxAlternatives {
				return nil
			}
			all = append(all, l...)
		}
		return all
	}
	return nil
}

// shortest is the length of the shortest literal, 0 where there is none.
func shortest(literals []string) int {
	least := 0
	for i, l := range literals {
		if i == 0 || len(l) < least {
			least = len(l)
		}
	}
	return least
}

// asciiRun is the longest part of s without characters outside ASCII, in lower
// case: the rest would have to be folded as a line is, which is not worth it.
func asciiRun(s string) string {
	best := ""
	for _, run := range strings.FieldsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) {
		if len(run) > len(best) {
			best = run
		}
	}
	return strings.ToLower(best[:min(len(best), maxLiteral)])
}

func ignoresCase(re *syntax.Regexp) bool {
	if re.Flags&syntax.FoldCase != 0 {
		return true
	}
	for _, sub := range re.Sub {
		if ignoresCase(sub) {
			return true
		}
	}
	return false
}

// literal is a piece of the glob that every line it matches has; empty where all
// are outside ASCII.
func (g Glob) literal() string {
	best := ""
	for _, piece := range g.pieces {
		if run := asciiRun(string(piece)); len(run) > len(best) {
			best = run
		}
	}
	return best
}
