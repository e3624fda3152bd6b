package main

import (
	"slices"
	"strings"
)

// shortCause is a cause that may be said again.
const shortCause = 40

// once are texts without the causes that were said before: what broke a launch is
// the cause of its level, of the levels behind it, of the benchmark, and of every
// rule that would have read it.
func (t *told) once(texts ...string) (left []string) {
	for _, text := range texts {
		short := t.unsaid(text, "above")
		t.causes = append(t.causes, text)
		if short != "" {
			left = append(left, short)
		}
	}
	return left
}

// chain are causes that lead to their root, which stands last: that one is said in
// full, unless it was before.
func (t *told) chain(causes []string) (left []string) {
	for i, text := range causes {
		short := t.unsaid(text, "above")
		if short == text {
			below := told{causes: causes[i+1:]}
			short = below.unsaid(text, "below")
		}
		if short != "" {
			left = append(left, short)
		}
	}
	t.causes = append(t.causes, causes...)
	return left
}

// unsaid is a text up to the first colon behind which all is said elsewhere; empty
// where the whole is.
func (t *told) unsaid(text, where string) string {
	known := func(tail string) bool {
		return len(tail) >= shortCause && slices.ContainsFunc(t.causes, func(before string) bool { return strings.Contains(before, tail) })
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
			return text[:at] + ", as said " + where
		}
		at += len(": ")
	}
}
