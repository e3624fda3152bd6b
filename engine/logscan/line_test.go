package logscan

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/internal/testing/require"
)

func writeLog(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "engine.log")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestTailLog(t *testing.T) {
	long := strings.Repeat("ä", 200)
	tests := map[string]struct {
		log  string
		n    int
		want []string
	}{
		"empty":               {"", 5, nil},
		"fewer than asked":    {"a\nb\n", 5, []string{"a", "b"}},
		"more than asked":     {"a\nb\nc\n", 2, []string{"b", "c"}},
		"no newline at end":   {"a\nb", 2, []string{"a", "b"}},
		"blank lines":         {"a\n\n  \nb\n\n", 2, []string{"a", "b"}},
		"windows":             {"a\r\nb\r\n", 2, []string{"a", "b"}},
		"progress":            {"0%\r50%\r100%\ndone\n", 5, []string{"100%", "done"}},
		"colour":              {"\x1b[32mINFO\x1b[0m ok\x1b]0;title\x07!\n", 1, []string{"INFO ok!"}},
		"not UTF-8":           {"caf\xe9\n", 1, []string{"caf\uFFFD"}},
		"control and reverse": {"a\x00\x07\tb\u202ec\n", 1, []string{"a b\uFFFDc"}},
		"long":                {long + "\n", 1, []string{strings.Repeat("ä", 148) + "…"}},
		"none asked":          {"a\n", 0, nil},
		"huge line":           {strings.Repeat("x", 1<<20) + "\nend\n", 5, []string{"end"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Tail(writeLog(t, tc.log), tc.n); !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	if got := Tail(filepath.Join(t.TempDir(), "none"), 5); got != nil {
		t.Errorf("a missing log gave %q", got)
	}
	if got := Tail(writeLog(t, strings.Repeat("x", 1<<20)), 5); len(got) != 1 || len(got[0]) > foreign.LineLimit {
		t.Errorf("one endless line gave %d lines", len(got))
	}
}

func FuzzCleanLine(f *testing.F) {
	for _, s := range []string{"", "\x1b", "\x1b[", "\x1b]0;x", "\x1b[31mred\x1b[m", "\x1bPx\x1b\\y", "\xff\xfe", strings.Repeat("€", 200), "\x1b(B"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		got := foreign.Clean(line)
		if len(got) > foreign.LineLimit || !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Errorf("%q became %q", line, got)
		}
		if again := foreign.Clean(got); again != got {
			t.Errorf("cleaning %q again gave %q", got, again)
		}
	})
}

func TestScanLogCutsHugeLines(t *testing.T) {
	log := "before\n" + strings.Repeat("x", maxScanLine) + "needle" + strings.Repeat("y", 2*maxScanLine) + "\nafter\n" +
		strings.Repeat("z", maxScanLine-1) + "\nexact"
	seen, lines, err := ScanFile(writeLog(t, log), []string{"before", "xx", "needle", "yy", "after", "exact"})
	if err != nil || lines != 5 {
		t.Errorf("%d lines, %v; want 5", lines, err)
	}
	for p, line := range map[string]int{"before": 1, "xx": 2, "needle": 0, "yy": 0, "after": 3, "exact": 5} {
		if seen[p].LineNo != line {
			t.Errorf("%q seen in line %d, want %d", p, seen[p].LineNo, line)
		}
	}
}

func TestScanLogErrors(t *testing.T) {
	if _, _, err := ScanFile(writeLog(t, "a"), []string{"*"}); err == nil {
		t.Error("a pattern that matches everything was accepted")
	}
	if _, _, err := ScanFile(filepath.Join(t.TempDir(), "none"), []string{"a"}); err == nil {
		t.Error("a missing log was read")
	}
}

// globReference is the definition of a glob, tried at every position.
func globReference(pattern, text string) bool {
	if pattern == "" {
		return true
	}
	if pattern[0] == '*' {
		for i := range len(text) + 1 {
			if globReference(pattern[1:], text[i:]) {
				return true
			}
		}
		return false
	}
	return text != "" && text[0] == pattern[0] && globReference(pattern[1:], text[1:])
}

func FuzzGlob(f *testing.F) {
	f.Add("*a*b*", "xAyBz")
	f.Add("ab*ab", "abab")
	f.Add("aab", "aaab")
	f.Add("a**b", "a:<,>b")
	f.Add("É*ß", "écoleSSß")
	f.Add("*", "x")
	f.Add("\xff", "a\xfeb")
	f.Add("ab*c\nÉ*b\nab", "éab")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 20 || len(text) > 60 || strings.Count(pattern, "*") > 6 {
			return // the reference takes exponential time
		}
		g, err := ParseGlob(pattern)
		if vacuous := slices.ContainsFunc(strings.Split(pattern, "\n"), func(one string) bool { return strings.Trim(one, "*") == "" }); vacuous != (err != nil) {
			t.Fatalf("ParseGlob(%q): %v", pattern, err)
		}
		if err != nil {
			return
		}
		lower := func(s string) string { return strings.ToLower(strings.ToValidUTF8(s, "")) }
		if !utf8.ValidString(pattern) || !utf8.ValidString(text) {
			return // only checks that it does not fail
		}
		want := slices.ContainsFunc(strings.Split(lower(pattern), "\n"), func(one string) bool { return globReference("*"+one+"*", lower(text)) })
		if got := g.Match(text); got != want {
			t.Errorf("%q on %q: %v, want %v", pattern, text, got, want)
		}
	})
}
