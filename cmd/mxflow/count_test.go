package main

import "testing"

func TestCount(t *testing.T) {
	for _, c := range []struct {
		n          int
		what, want string
	}{
		{0, "error", "0 errors"},
		{1, "process", "1 process"},
		{2, "process", "2 processes"},
		{1, "launch", "1 launch"},
		{8, "launch", "8 launches"},
		{3, "case", "3 cases"},
	} {
		if got := count(c.n, c.what); got != c.want {
			t.Errorf("%d %s: %q, want %q", c.n, c.what, got, c.want)
		}
	}
}
