package logscan

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/internal/testing/must"
)

func writeLog(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "engine.log")
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestTailLog(t *testing.T) {
	long := strings.Repeat("ä", 200)
	for name, tc := range map[string]struct {
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
	} {
		if got := Tail(writeLog(t, tc.log), tc.n); !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
	if got := Tail(filepath.Join(t.TempDir(), "none"), 5); got != nil {
		t.Errorf("a missing log gave %q", got)
	}
	if got := Tail(writeLog(t, strings.Repeat("x", 1<<20)), 5); len(got) != 1 || len(got[0]) > foreign.LineLimit {
		t.Errorf("one endless line gave %d lines", len(got))
	}
}

func FuzzCleanLine(f *testing.F) {
	for _, s := range []string{
		"", "\x1b", "\x1b[", "\x1b]0;x", "\x1b[31mred\x1b[m", "\x1bPx\x1b\\y", "\xff\xfe",
		strings.Repeat("€", 200), "\x1b(B",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		got := foreign.Clean(line)
		if len(got) > foreign.LineLimit || !utf8.ValidString(got) ||
			strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r == 0x7f }) {
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
	seen, lines, err := scanFile(writeLog(t, log), []string{"before", "xx", "needle", "yy", "after", "exact"})
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
	if _, _, err := scanFile(writeLog(t, "a"), []string{"*"}); err == nil {
		t.Error("a pattern that matches everything was accepted")
	}
	if _, _, err := scanFile(filepath.Join(t.TempDir(), "none"), []string{"a"}); err == nil {
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
		if vacuous := slices.ContainsFunc(strings.Split(pattern, "\n"), func(one string) bool {
			return strings.Trim(one, "*") == ""
		}); vacuous != (err != nil) {
			t.Fatalf("ParseGlob(%q): %v", pattern, err)
		}
		if err != nil {
			return
		}
		lower := func(s string) string { return strings.ToLower(strings.ToValidUTF8(s, "")) }
		if !utf8.ValidString(pattern) || !utf8.ValidString(text) {
			return // only checks that it does not fail
		}
		want := slices.ContainsFunc(strings.Split(lower(pattern), "\n"), func(one string) bool {
			return globReference("*"+one+"*", lower(text))
		})
		if got := g.Match(text); got != want {
			t.Errorf("%q on %q: %v, want %v", pattern, text, got, want)
		}
	})
}

func TestTail(t *testing.T) {
	redact.Know([]string{"hunter2-hunter2"})
	path := filepath.Join(t.TempDir(), "engine.log")
	if got := Tail(path, 9); got != nil {
		t.Errorf("a log that is not there yet has the lines %q", got)
	}
	log, err := os.Create(path)
	must.Do(t, err)
	defer log.Close()
	for _, step := range []struct {
		gains string
		want  []string
	}{
		{"one\n\n\x1b[31mtwo\x1b[0m\nLoading:  0%\rLoading: 50%", []string{"two", "Loading: 50%"}},
		{"\rLoading: 100%\nthree\n", []string{"Loading: 100%", "three"}},
		{"key hunter2-hun", []string{"three", "key "}},
		{"ter2\n", []string{"three", "key " + redact.Mark}},
		{strings.Repeat("x", tailWindow) + "\nlast\n", []string{"last"}},
	} {
		if _, err := log.WriteString(step.gains); err != nil {
			t.Fatal(err)
		}
		if got := Tail(path, 2); !slices.Equal(got, step.want) {
			t.Errorf("after %.40q: %q, want %q", step.gains, got, step.want)
		}
	}
}

// TestNearest: the lines with the most of the glob's text, each text once whatever its
// digits, and none that has next to nothing of it.
func TestNearest(t *testing.T) {
	const log = "INFO 10:00:01 loading weights\n" +
		"INFO 10:00:02 using kernel moe_marlin\n" +
		"INFO 10:00:03 using kernel moe_marlin\n" +
		"INFO 10:00:04 \x1b[1mUsing Kernel\x1b[0m moe_cutlas\n" +
		"INFO 10:00:05 kernel cache hit\n" +
		"INFO 10:00:06 using kernel moe_triton\n" +
		"warm 1%\rusing kernel moe_cutlass of nobody\rwarm 100%\n" +
		"bye"
	for glob, want := range map[string][]string{
		"*using kernel*moe_cutlass_fp4*": {
			"7 using kernel moe_cutlass of nobody",
			"4 INFO 10:00:04 Using Kernel moe_cutlas", "2 INFO 10:00:02 using kernel moe_marlin",
		},
		"*USING KERNEL moe_tritn*": {
			"6 INFO 10:00:06 using kernel moe_triton",
			"2 INFO 10:00:02 using kernel moe_marlin", "4 INFO 10:00:04 Using Kernel moe_cutlas",
		},
		"*marlyn*":           {"2 INFO 10:00:02 using kernel moe_marlin"},
		"*wholly*different*": nil,
		"*ab*c*":             nil, // too short for any
		"*INFO 10:00:05 loading*": {
			"1 INFO 10:00:01 loading weights", "5 INFO 10:00:05 kernel cache hit",
			"2 INFO 10:00:02 using kernel moe_marlin",
		},
	} {
		near, err := Nearest(strings.NewReader(log), glob, 0)
		must.Do(t, err)
		var got []string
		for _, n := range near {
			got = append(got, fmt.Sprintf("%d %s", n.LineNo, n.Line))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", glob, got, want)
		}
	}
	if _, err := Nearest(strings.NewReader(log), "*", 0); err == nil {
		t.Error("every line is near to *")
	}
	redact.Know([]string{"hunter2-hunter2"})
	t.Cleanup(redact.Forget)
	near, err := Nearest(strings.NewReader("using kernel moe_cutlass with hunter2-hunter2\n"),
		"*using kernel moe_marlin*", 0)
	if err != nil || len(near) != 1 || near[0].Line != "using kernel moe_cutlass with "+redact.Mark {
		t.Errorf("%+v, %v", near, err)
	}
}

// Lines behind the first request, whatever they are, except what was there before it.
func TestNearestBehind(t *testing.T) {
	const log = "INFO 10:00:01 kv cache: fp8 (requested)\n" +
		"INFO 10:00:01 heartbeat 1\n" +
		"INFO 10:00:02 POST /v1/completions HTTP/1.1 200\n" +
		"INFO 10:00:02 heartbeat 2\n" +
		"INFO 10:00:03 step took 3 ms\n" +
		"INFO 10:00:04 step took 4 ms\n" +
		"INFO 10:00:05 fp8 cache: 512 blocks written\n"
	near, err := Nearest(strings.NewReader(log), "*kv cache: fp8 (requested)*", 2)
	if err != nil || len(near) != 2 || near[0].LineNo != 7 || near[1].LineNo != 5 {
		t.Errorf("%+v, %v", near, err)
	}
	if near, err := Nearest(strings.NewReader(log), "*fp8*", 7); err != nil || len(near) != 0 {
		t.Errorf("%+v, %v", near, err)
	}
}

func FuzzNearest(f *testing.F) {
	f.Add("using kernel moe_marlin\nabc", "*using kernel*cutlass*")
	f.Add("\xff\xfe\r\r\n\x1b[", "é*ß\nabc")
	f.Fuzz(func(t *testing.T, log, glob string) {
		near, err := Nearest(strings.NewReader(log), glob, 0)
		if err != nil {
			return
		}
		for i, n := range near {
			if i >= nearest || n.LineNo < 1 || n.LineNo > strings.Count(log, "\n")+1 || i > 0 &&
				n.shared > near[i-1].shared {
				t.Errorf("%+v", near)
			}
		}
	})
}

// scanFile looks for globs in the log at a path.
func scanFile(path string, globs []string) (seen map[string]Match, lines int, err error) {
	s, err := New(globs)
	if err != nil {
		return nil, 0, err
	}
	err = s.File(path)
	return s.Matches(), s.Lines(), err
}
