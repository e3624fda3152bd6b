package report

import (
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// shortCause is a cause that may be said again.
const shortCause = 40

// Said is what a page has said so far: what broke a launch is the cause of its level,
// of the levels behind it, of the benchmark, and of every rule that would have read
// it, and is said once.
type Said struct{ texts []string }

// Each are texts without the causes that were said before, one for each: what they
// begin with stays.
func (s *Said) Each(texts ...string) (all []string) {
	for _, text := range texts {
		all = append(all, s.unsaid(text, "above"))
		s.texts = append(s.texts, text)
	}
	return all
}

// Once is Each without the texts that stand above word for word: of one decision
// these say nothing more.
func (s *Said) Once(texts ...string) (left []string) {
	for _, text := range texts {
		if !s.repeats(text) {
			left = append(left, s.Each(text)...)
		}
	}
	return left
}

// repeats reports whether a text was said as it is.
func (s *Said) repeats(text string) bool {
	return len(text) >= shortCause && slices.Contains(s.texts, text)
}

// Reasons are those of a decision: what its own tests found is said of each, and
// what kept them from being made once.
func (s *Said) Reasons(d *ledger.Decision, texts []string) []string {
	if short := s.Each(texts...); !TestsDecided(d) {
		return short
	}
	return texts
}

// Chain are causes that lead to their root, which stands last: that one is said in
// full, unless it was before.
func (s *Said) Chain(causes []string) (left []string) {
	for i, text := range causes {
		if s.repeats(text) {
			continue
		}
		short := s.unsaid(text, "above")
		if short == text {
			below := Said{texts: causes[i+1:]}
			short = below.unsaid(text, "below")
		}
		left = append(left, short)
	}
	s.texts = append(s.texts, causes...)
	return left
}

// unsaid is a text up to the first colon behind which all is said elsewhere, with
// what it came to where that follows.
func (s *Said) unsaid(text, where string) string {
	known := func(tail string) bool {
		return len(tail) >= shortCause && slices.ContainsFunc(s.texts, func(before string) bool { return strings.Contains(before, tail) })
	}
	for at := 0; ; {
		i := strings.Index(text[at:], ": ")
		if i < 0 {
			return text
		}
		if at += i; known(text[at+len(": "):]) {
			return text[:at] + cameTo(text[at:]) + ", as said " + where
		}
		at += len(": ")
	}
}

// cameTo is ": level X is V" or ": V" where a cause begins so: which level it is, and
// what something came to, stands again.
func cameTo(cause string) string {
	head, _, more := strings.Cut(strings.TrimPrefix(cause, ": "), ": ")
	if more && verdict.Verdict(head).Known() {
		return ": " + head
	}
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
