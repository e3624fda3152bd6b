// Package must ends a test at an error that it does not expect.
package must

import (
	"strings"
	"testing"
)

// Get is the value of a call that may not fail, as in must.Get(os.ReadFile(path))(t).
func Get[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Do(t, err)
		return value
	}
}

// Do ends the test unless the error is nil, as in must.Do(t, os.Remove(path)).
func Do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Equal reports a value that is not as wanted, as in must.Equal(t, name, got, want), and goes on.
func Equal[T comparable](t testing.TB, of any, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%v:\ngot  %#v\nwant %#v", of, got, want)
	}
}

// Refuse reports an error that is not there, or does not say what it should.
func Refuse(t testing.TB, of any, err error, says string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("%v: %v, want an error that says %q", of, err, says)
	}
}

// Contain reports each part that a text lacks.
func Contain(t testing.TB, of any, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%v: no %q in\n%s", of, part, text)
		}
	}
}
