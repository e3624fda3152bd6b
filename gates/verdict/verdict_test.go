package verdict

import (
	"strings"
	"testing"
)

// strange is a word that is not a verdict, as a newer version might write.
const strange = Verdict("great")

func TestWhatVerdictsMean(t *testing.T) {
	for _, c := range []struct {
		v                       Verdict
		known, unlocks, decided bool
		exit                    int
	}{
		{Pass, true, true, true, 0},
		{Waived, true, true, true, 0},
		{Fail, true, false, true, 2},
		{Inconclusive, true, false, true, 3},
		{Invalid, true, false, false, 2},
		{Error, true, false, false, 4},
		{"", false, false, false, 4},
		{strange, false, false, false, 4},
	} {
		if c.v.Known() != c.known || c.v.Unlocks() != c.unlocks || c.v.Decided() != c.decided || c.v.Reusable() != c.decided || c.v.ExitCode() != c.exit {
			t.Errorf("%q: %v %v %v %v %d", c.v, c.v.Known(), c.v.Unlocks(), c.v.Decided(), c.v.Reusable(), c.v.ExitCode())
		}
	}
}

func TestWords(t *testing.T) {
	words := Words()
	if len(words) != len(severity) {
		t.Errorf("%v", words)
	}
	for i, w := range words {
		if severity[Verdict(w)] != i {
			t.Errorf("%s is not at its place in %v", w, words)
		}
	}
}

func TestJoin(t *testing.T) {
	// Best to worst, as the design orders them.
	order := []Verdict{Pass, Waived, Inconclusive, Fail, Invalid, Error}
	for i, a := range order {
		if got := Join(a); got != a {
			t.Errorf("Join(%s) = %s", a, got)
		}
		for j, b := range order {
			if got := Join(a, b, a); got != order[max(i, j)] {
				t.Errorf("Join(%s, %s, %s) = %s", a, b, a, got)
			}
		}
		for _, odd := range []Verdict{strange, ""} {
			if Join(a, odd) != Error || Join(odd, a) != Error {
				t.Errorf("%q beside %s is not an error", odd, a)
			}
		}
	}
	if got := Join(); got != Inconclusive {
		t.Errorf("nothing joins to %s", got)
	}
}

func TestAnd(t *testing.T) {
	for _, want := range []string{"", "a", "a and b", "a, b and c"} {
		names := strings.FieldsFunc(strings.ReplaceAll(want, " and ", ", "), func(r rune) bool { return r == ',' || r == ' ' })
		if got := And(names); got != want {
			t.Errorf("%q: %q, wanted %q", names, got, want)
		}
	}
}
