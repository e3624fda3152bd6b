package report

import (
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// shortCause is a cause that may be said again.
const shortCause = 40

// asSaid is what stands for a text that was said in full before.
const asSaid = "as said above"

// Said is what a page has said so far: what broke a launch is the cause of its level,
// of the levels behind it, of the benchmark, and of every rule that would have read
// it, and is said once.
type Said struct{ texts []string }

// Once are texts without the causes that were said before; what was said as a whole
// is left out.
func (s *Said) Once(texts ...string) (left []string) {
	for _, text := range texts {
		short := s.unsaid(text, "above")
		s.texts = append(s.texts, text)
		if short != "" {
			left = append(left, short)
		}
	}
	return left
}

// OnceAtLeast is Once where something has to stand: "as said above".
func (s *Said) OnceAtLeast(texts ...string) []string {
	if left := s.Once(texts...); len(left) > 0 || len(texts) == 0 {
		return left
	}
	return []string{asSaid}
}

// Reasons are those of a decision: what its own tests found is said of each, and
// what kept them from being made once.
func (s *Said) Reasons(d *ledger.Decision, texts []string) (left []string) {
	for _, text := range texts {
		short := s.unsaid(text, "above")
		if i := strings.Index(text, ": level "); short == "" && i >= 0 && levelWord(text[i:]) != "" {
			short = text[:i] + levelWord(text[i:]) + ", " + asSaid
		}
		if s.texts = append(s.texts, text); short != "" {
			left = append(left, short)
		}
	}
	switch {
	case TestsDecided(d):
		return texts
	case len(left) == 0 && len(texts) > 0:
		return []string{asSaid}
	}
	return left
}

// Chain are causes that lead to their root, which stands last: that one is said in
// full, unless it was before.
func (s *Said) Chain(causes []string) (left []string) {
	for i, text := range causes {
		short := s.unsaid(text, "above")
		if short == text {
			below := Said{texts: causes[i+1:]}
			short = below.unsaid(text, "below")
		}
		if short != "" {
			left = append(left, short)
		}
	}
	s.texts = append(s.texts, causes...)
	return left
}

// unsaid is a text up to the first colon behind which all is said elsewhere; empty
// where the whole is.
func (s *Said) unsaid(text, where string) string {
	known := func(tail string) bool {
		return len(tail) >= shortCause && slices.ContainsFunc(s.texts, func(before string) bool { return strings.Contains(before, tail) })
	}
	if known(text) {
		return ""
	}
	for at := 0; ; {
		i := strings.Index(text[at:], ": ")
		if i < 0 {
			return text
		}
		if at += i; known(text[at+len(": "):]) {
			return text[:at] + levelWord(text[at:]) + ", as said " + where
		}
		at += len(": ")
	}
}

// levelWord is ": level X is V" where a cause begins so: which level it is may stand
// again.
func levelWord(cause string) string {
	head, _, more := strings.Cut(strings.TrimPrefix(cause, ": "), ": ")
	if name, of := strings.CutPrefix(head, "level "); of && more && strings.Count(name, " is ") == 1 && len(head) < shortCause {
		return ": " + head
	}
	return ""
}

// TestsDecided reports whether a decision follows from tests of its own: every rule
// that did not pass has a comparison whose test did not. Everything else has a
// cause below it.
func TestsDecided(d *ledger.Decision) bool {
	if len(d.Rules) == 0 {
		return false
	}
	for _, l := range d.Levels {
		if l.Verdict != verdict.Pass {
			return false
		}
	}
	for _, r := range d.Rules {
		tested := r.Verdict == verdict.Pass
		for _, c := range r.Comparisons {
			t := c.Test
			tested = tested || c.Verdict != verdict.Pass && t != nil && t.Form != verdict.Exact
		}
		if !tested {
			return false
		}
	}
	return true
}
