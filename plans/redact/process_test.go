package redact

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestCutLeavesNoHalfOfASecret puts secrets at every place of a text and cuts it
// everywhere, both whole and as given by a reader that stopped in the middle.
func TestCutLeavesNoHalfOfASecret(t *testing.T) {
	secrets := []string{"sk-Zürich/0123456789 ABCDEF", "QQWWEERRTTYY"}
	r := New(secrets)
	for _, form := range r.forms {
		for _, at := range []int{0, 1, 7, 39} {
			text := strings.Repeat("-", at) + form + strings.Repeat("-", 60)
			for most := range len(text) {
				if cut := r.Cut(text, most); len(cut) > most || shows(cut, form) || !utf8.ValidString(cut) && utf8.ValidString(form) {
					t.Fatalf("%q cut at %d: %q", text, most, cut)
				}
			}
			for end := at + 1; end < at+len(form); end++ {
				if cut := r.Cut(text[:end], end-1); shows(cut, form) {
					t.Fatalf("%q, which was cut, cut: %q", text[:end], cut)
				}
			}
			for from := at + 1; from < at+len(form); from++ {
				if rest := r.WithoutCutStart(text[from:]); shows(rest, form) {
					t.Fatalf("%q, whose beginning is gone: %q", text[from:], rest)
				}
			}
		}
	}
	if got := r.Cut("aä€", 3); got != "aä" {
		t.Errorf("a character was split: %q", got)
	}
	var none *Redactor
	if got := none.Cut("aä€", 5) + none.WithoutCutStart("x"); got != "aäx" {
		t.Errorf("without secrets: %q", got)
	}
}

// shows reports whether a text contains four characters of a secret.
func shows(text, secret string) bool {
	for i := range len(secret) - 3 {
		if strings.Contains(text, secret[i:i+4]) && !strings.Contains("----"+Mark, secret[i:i+4]) {
			return true
		}
	}
	return false
}

func TestOfProcess(t *testing.T) {
	before := Known().Text("not known so far")
	Know([]string{"known from now on", "abc"})
	Know([]string{"and another one"})
	if before != "not known so far" || Known().Text("known from now on, and another one, abc") != Mark+", "+Mark+", abc" {
		t.Errorf("%q, %q", before, Known().Text("known from now on, and another one, abc"))
	}
}
