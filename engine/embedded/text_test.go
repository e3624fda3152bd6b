package embedded

import (
	"slices"
	"testing"
)

func TestTextStream(t *testing.T) {
	for _, test := range []struct {
		name    string
		stops   []string
		pieces  []string
		want    []string // one a piece, then the flush unless stopped
		stopped bool
	}{
		{"plain", nil, []string{"a", "b"}, []string{"a", "b", ""}, false},
		{"split character is held back", nil, []string{"x\xc3", "\xa9y"}, []string{"x", "éy", ""}, false},
		{"four bytes one by one", nil, []string{"\xf0", "\x9f", "\x99", "\x82"}, []string{"", "", "", "🙂", ""}, false},
		{"broken sequence is replaced", nil, []string{"\xc3", "a"}, []string{"", "\uFFFDa", ""}, false},
		{"incomplete at the end", nil, []string{"a\xc3"}, []string{"a", "\uFFFD"}, false},
		{"stop inside a piece", []string{". "}, []string{"one. two"}, []string{"one"}, true},
		{"stop across pieces", []string{"END"}, []string{"xE", "N", "Dy"}, []string{"x", "", ""}, true},
		{"almost a stop", []string{"END"}, []string{"xE", "Ny"}, []string{"x", "ENy", ""}, false},
		{"almost a stop at the end", []string{"END"}, []string{"xEN"}, []string{"x", "EN"}, false},
	} {
		s := textStream{stops: test.stops}
		var got []string
		stopped := false
		for _, p := range test.pieces {
			var text string
			text, stopped = s.push([]byte(p))
			got = append(got, text)
		}
		if !stopped {
			got = append(got, s.flush())
		}
		if !slices.Equal(got, test.want) || stopped != test.stopped {
			t.Errorf("%s: %q, stopped %v; want %q, %v", test.name, got, stopped, test.want, test.stopped)
		}
	}
}
