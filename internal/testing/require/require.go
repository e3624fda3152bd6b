// Package require ends a test that cannot go on.
package require

import "testing"

// NoError ends the test with an error that is not nil.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
