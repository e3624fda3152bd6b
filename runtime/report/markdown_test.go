package report

import (
	"strings"
	"testing"
)

func TestInert(t *testing.T) {
	for text, want := range map[string]string{
		"ttft < 5 ms, <0.1":         "ttft < 5 ms, <0.1",
		"<script>alert(1)</script>": "&lt;script>alert(1)&lt;/script>",
		"<!-- hides the rest":       "&lt;!-- hides the rest",
		"![x](http://a/b)":          `![x]\(http://a/b)`,
		"`a<b`":                     "`a<b`",
		"`a` <b> `c`":               "`a` &lt;b> `c`",
		"``<b>``":                   "``&lt;b>``",
		"red \x1b[31m\u202e":        "red \uFFFD[31m\uFFFD",
		"ä\nb":                      "ä\nb",
	} {
		if got := Inert(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func FuzzInert(f *testing.F) {
	f.Add("`<a>`")
	f.Add("<<a")
	f.Fuzz(func(t *testing.T, text string) {
		got := Inert(text)
		code := len(got) > 1 && strings.Count(got, "`") == 2 && got[0] == '`' && got[len(got)-1] == '`'
		if !code && tagBegins.MatchString(got) || strings.ContainsAny(got, "\x1b\x07\x00\r") {
			t.Errorf("%q: %q", text, got)
		}
		if again := Inert(got); again != got && !strings.Contains(got, "](") && !strings.Contains(text, "](") {
			t.Errorf("%q, then %q", got, again)
		}
	})
}
