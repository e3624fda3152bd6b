package main

import (
	"strings"
	"testing"
)

// TestOverrideOptions: who and why stand in one line that can be printed.
func TestOverrideOptions(t *testing.T) {
	for _, c := range []struct{ reason, by, problem, want string }{
		{"known, mended in 0.12", "kim", "", "known, mended in 0.12"},
		{"  two\n  lines\t", "kim", "", "two lines"},
		{"", "kim", "--reason is missing", ""},
		{" \n", "kim", "--reason is missing", ""},
		{"known", " ", "--by is missing", ""},
		{"red \x1b[31m", "kim", "contains unprintable characters", ""},
		{"half \xff", "kim", "contains unprintable characters", ""},
		{strings.Repeat("x", 2001), "kim", "2001 bytes long", ""},
		{"known", strings.Repeat("x", 201), "201 bytes long", ""},
	} {
		s := overrideOptions{reason: c.reason, by: c.by}
		switch err := s.check(); {
		case c.problem == "" && (err != nil || s.reason != c.want):
			t.Errorf("%q by %q: %q, %v", c.reason, c.by, s.reason, err)
		case c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)):
			t.Errorf("%q by %q: %v, want %q", c.reason, c.by, err, c.problem)
		}
	}
}
