// Package must ends a test at an error that it does not expect.
package must

import "testing"

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
