package table

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/lipgloss"
)

func drawn(head []string, rows [][]string, width int) string {
	var b strings.Builder
	Draw(&b, head, rows, false, width)
	return b.String()
}

func fieldsOf(rows [][]string) (words []string) {
	for _, row := range rows {
		words = append(words, strings.Fields(strings.Join(row, " "))...)
	}
	return words
}

// TestTableLayouts: side by side while there is room, then in more lines, then in two
// tables, then a line for each cell.
func TestTableLayouts(t *testing.T) {
	preview := [][]string{{"baseline", "measure", "3–8", "first"}, {"feature.kv_cache.benchmark", "measure", "16", "first; it sends 4 requests at 512 tokens\nand twice that"}}
	planHead := []string{"node", "action", "launches", "why"}
	for name, c := range map[string]struct {
		head  []string
		rows  [][]string
		width int
		want  string
	}{
		"a pipe": {planHead, preview, 0, `
node                        action   launches  why
─────────────────────────────────────────────────────────────────────────────────────────
baseline                    measure       3–8  first
feature.kv_cache.benchmark  measure        16  first; it sends 4 requests at 512 tokens
                                               and twice that
`},
		"more lines": {planHead, preview, 80, `
node                        action   launches  why
────────────────────────────────────────────────────────────────────────────────
baseline                    measure       3–8  first
feature.kv_cache.benchmark  measure        16  first; it sends 4 requests at 512
                                               tokens
                                               and twice that
`},
		"tight": {[]string{"node", "sets", "time of launch", "decided", "accepted by"}, [][]string{{"feature.kv_cache.benchmark", "kv_cache = on", "12.5 s", "2026-11-23 01:22", "chat.tg.gain is +142.2%, wanted ≥ -100%"}}, 80, `
node                        sets           time of  decided     accepted by
                                            launch
────────────────────────────────────────────────────────────────────────────────
feature.kv_cache.benchmark  kv_cache = on   12.5 s  2026-11-23  chat.tg.gain is
                                                    01:22       +142.2%, wanted
                                                                ≥ -100%
`},
		"a second table": {planHead, preview, 60, `
node                        action   launches
───────────────────────────────────────────────
baseline                    measure       3–8
feature.kv_cache.benchmark  measure        16

node                        why
───────────────────────────────────────────────────────────
baseline                    first
feature.kv_cache.benchmark  first; it sends 4 requests at
                            512 tokens
                            and twice that
`},
		"records": {planHead, preview, 30, `
node      baseline
action    measure
launches  3–8
why       first

node      feature.kv_cache.benchmark
action    measure
launches  16
why       first; it sends 4
          requests at 512
          tokens
          and twice that
`},
		"a name for nothing": {[]string{"node", "", "decided"}, [][]string{{"phase.cache.step.exec.announce", "locked until it stands again", ""}}, 20, `
node     phase.cache.step.exec.announce
         locked until it
         stands again
`},
		"other scripts": {[]string{"model", "gain", "why"}, [][]string{{"模型-大", "×2.1 ± 0.1", "≥ 2"}, {"é", "x", "not"}}, 0, `
model    gain        why
──────────────────────────
模型-大  ×2.1 ± 0.1  ≥ 2
é        x           not
`},
		"no rows": {[]string{"a", "b"}, nil, 80, "\na  b\n──────\n"},
	} {
		if got := drawn(c.head, c.rows, c.width); got != c.want[1:] {
			t.Errorf("%s: got\n%swant%s", name, got, c.want)
		}
	}
}

// TestTablesFit: at any width nothing is lost, no line is longer than the terminal
// unless one word is, and a number keeps its sign, its bound and its unit.
func TestTablesFit(t *testing.T) {
	why := "chat.tg.gain is -97.4%, wanted >= -3.0%: interval -18.8% to b1-0c1e570, 4.2 ± 0.1 ms, p = 0.000324 ≤ 0.015"
	for _, table := range []struct {
		head []string
		rows [][]string
	}{
		{[]string{"node", "why"}, [][]string{{"feature.kv", strings.Repeat(why+" ", 4)}, {"phase.cache", "short"}}},
		{[]string{"feature", "claim", "measured", "hypothesis"}, [][]string{{"recompute", why, why, "refuted"}, {"gemm", "", "–", "open"}}},
		{[]string{"cell", "metric", "then", "now", "now / then"}, [][]string{{"pp512 tg128", "模型 tg (tok/s)", "2266 ± 12", "41.08 ± 3", "×0.018"}}},
	} {
		var words, longest int
		for _, w := range fieldsOf(table.rows) {
			words, longest = words+1, max(longest, lipgloss.Width(w))
		}
		for width := 40; width <= 200; width++ {
			text := drawn(table.head, table.rows, width)
			got := strings.Fields(text)
			for _, w := range fieldsOf(table.rows) {
				at := slices.Index(got, w)
				if at < 0 {
					t.Fatalf("%d columns: %q is lost or cut:\n%s", width, w, text)
				}
				got[at] = ""
			}
			for line := range strings.Lines(text) {
				line = strings.TrimSuffix(line, "\n")
				if n := lipgloss.Width(line); n > width {
					t.Fatalf("%d columns, and a line has %d:\n%s", width, n, text)
				}
				if last := line[strings.LastIndexByte(line, ' ')+1:]; relates(last) || strings.HasSuffix(last, "-") || strings.TrimSpace(line) != line && strings.HasPrefix(strings.TrimSpace(line), "%") {
					t.Fatalf("%d columns: a number is parted from what belongs to it in %q:\n%s", width, line, text)
				}
			}
		}
		if words == 0 || longest > 30 {
			t.Fatal("this shows nothing")
		}
	}
}

// TestPipedTablesKeepAll: what is read by programs is as wide as it is, and no column
// is cut.
func TestPipedTablesKeepAll(t *testing.T) {
	long := strings.Repeat("x", 300)
	sentence := strings.TrimSpace(strings.Repeat("a reason of words, ", 20))
	text := drawn([]string{"path", "why", "when"}, [][]string{{long, sentence, "12:00"}}, 0)
	if !strings.Contains(text, long) || !strings.Contains(strings.ReplaceAll(text, " ", ""), "12:00") {
		t.Errorf("something is missing:\n%s", text)
	}
	if n := strings.Count(text, "reason"); n != 20 {
		t.Errorf("%d of 20 words:\n%s", n, text)
	}
	for line := range strings.Lines(text) {
		if strings.Contains(line, "reason") && len(strings.TrimSpace(strings.TrimPrefix(line, long))) > MaxColumn+2+len("12:00") {
			t.Errorf("a sentence is not broken: %s", line)
		}
	}
}

func TestFit(t *testing.T) {
	for _, c := range []struct {
		text    string
		columns int
		want    string
	}{
		{"short", 20, "short"},
		{"decode · launch 5 of 16", 10, "decode · …"},
		{"模型模型模型模型", 11, "模型模型模…"},
		{"模型模型模型模型", 12, "模型模型模…"},
		{"cannot be known", 0, "cannot be known"},
	} {
		if got := Fit(c.text, c.columns); got != c.want || c.columns > 9 && lipgloss.Width(got) > c.columns {
			t.Errorf("%q at %d: %q, want %q", c.text, c.columns, got, c.want)
		}
	}
}

// TestInert: what is drawn steers no terminal, even with colours, and is as wide as it
// was counted to be.
func TestInert(t *testing.T) {
	const hostile = "x\x1b[31mred\x1b[2J\r\a\u202ey"
	var b strings.Builder
	Draw(&b, []string{"head " + hostile, "b"}, [][]string{{hostile, "pass"}}, true, 60)
	Paragraph(&b, "  ", hostile, 60)
	for name, got := range map[string]string{"table and paragraph": b.String(), "wrapped": Wrap(hostile, 40), "a live line": Fit(hostile, 40)} {
		for _, bad := range []string{"\x1b[31mr", "\x1b[2J", "\r", "\a", "\u202e"} {
			if strings.Contains(got, bad) {
				t.Errorf("%s has %q: %q", name, bad, got)
			}
		}
		if !strings.Contains(got, "y") {
			t.Errorf("%s lost its text: %q", name, got)
		}
	}
}

// TestParagraphFits: what is indented further counts, too.
func TestParagraphFits(t *testing.T) {
	for width := 30; width < 100; width++ {
		var b strings.Builder
		Paragraph(&b, "  ", strings.Repeat("Make launches differ less: no other load. ", 8), width)
		for line := range strings.Lines(b.String()) {
			if n := len(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d columns of %d: %q", n, width, line)
			}
		}
	}
}
