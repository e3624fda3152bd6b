package table

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/lipgloss"

	"github.com/mxflow/mxflow/internal/testing/must"
)

func locale(t *testing.T, all, ctype, lang string) {
	t.Helper()
	t.Setenv("LC_ALL", all)
	t.Setenv("LC_CTYPE", ctype)
	t.Setenv("LANG", lang)
}

func TestOnlyASCII(t *testing.T) {
	for _, c := range []struct {
		all, ctype, lang string
		want             bool
	}{
		{"", "", "", false},
		{"C", "", "", true},
		{"POSIX", "en_US.UTF-8", "en_US.UTF-8", true},
		{"C.UTF-8", "C", "C", false},
		{"C.utf8", "", "", false},
		{"", "C", "en_US.UTF-8", true},
		{"", "UTF-8", "C", false},
		{"", "", "de_DE.ISO-8859-1", true},
		{"", "", "de_DE.UTF-8", false},
	} {
		locale(t, c.all, c.ctype, c.lang)
		must.Equal(t, fmt.Sprintf("LC_ALL=%s LC_CTYPE=%s LANG=%s", c.all, c.ctype, c.lang), OnlyASCII(), c.want)
	}
}

// TestPlain: in a locale with ASCII alone every byte is ASCII, and a line is no wider than its screen for it.
func TestPlain(t *testing.T) {
	texts := map[string]string{
		"decode 23.4 → 397 tok/s ± 2": "decode 23.4 -> 397 tok/s +/- 2", "(≥ +10%, ≤ 3×)": "(>= +10%, <= 3x)",
		"a ✓ · b ✗ · c ▸ · d –": "a ok . b no . c > . d -", "模型é": `\u6a21\u578b\u00e9`, "\xff": "?", "as it is": "as it is",
	}
	for text, want := range texts {
		locale(t, "C", "", "")
		must.Equal(t, text, Plain(text), want)
		locale(t, "", "", "")
		must.Equal(t, text, Plain(text), text)
	}
	locale(t, "POSIX", "", "")
	text := strings.Repeat("chat.tg.gain ≥ +10%: 4.2 ± 0.1 ms → 3 ms … ", 9)
	for _, width := range []int{60, 80, 120} {
		var b strings.Builder
		on := Screen{Writer: ASCII{&b}, Width: width, Colour: true}
		on.Table([]string{"node", "gain", "why"},
			[][]string{{"feature.kv", "397 ± 162", text}, {"模型", "5.1 ± 0.2", "pass"}})
		on.Below([]string{"node", "action", "what"},
			[][]string{{"feature.kv", "qualify\nbenchmark", text}, {"and more"}})
		on.Sentence(text)
		fmt.Fprintln(on, Fit(text, width))
		fmt.Fprintln(&Folding{To: on, Width: width}, text)
		for line := range strings.Lines(b.String()) {
			if n := lipgloss.Width(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d columns, and a line has %d: %s", width, n, line)
			}
		}
		if i := strings.IndexFunc(b.String(), func(r rune) bool { return r >= utf8.RuneSelf }); i >= 0 {
			t.Errorf("%d columns: %q is no ASCII", width, b.String()[i:i+9])
		}
		must.Contain(t, "the table", b.String(), "+/-", "->", ">=", "-----", `\u6a21`)
	}
}
