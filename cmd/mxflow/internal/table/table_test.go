package table

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/lipgloss"

	"github.com/mxflow/mxflow/internal/testing/must"
)

func tableOf(head []string, rows [][]string, width int) string {
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
	preview := [][]string{
		{"baseline", "measure", "3–8", "first"},
		{"feature.kv_cache.benchmark", "measure", "16", "first; it sends 4 requests at 512 tokens\nand twice that"},
	}
	planHead := []string{"node", "action", "launches", "why"}
	for name, c := range map[string]struct {
		head  []string
		rows  [][]string
		width int
		want  string
	}{
		"a pipe": {planHead, preview, 0, `
node                        action   launches  why
───────────────────────────────────────────────────────────────────────────────────────
baseline                    measure       3–8  first
feature.kv_cache.benchmark  measure        16  first; it sends 4 requests at 512 tokens
                                               and twice that
`},
		"a second table": {planHead, preview, 60, `
node                        action   launches
─────────────────────────────────────────────
baseline                    measure       3–8
feature.kv_cache.benchmark  measure        16

node                        why
─────────────────────────────────────────────────────────
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
		"a name for nothing": {
			[]string{"node", "", "decided"},
			[][]string{{"phase.cache.step.exec.announce", "locked until it stands again", ""}},
			20, `
node     phase.cache.step.exec.announce
         locked until it
         stands again
`,
		},
		"other scripts": {
			[]string{"model", "gain", "why"},
			[][]string{{"模型-大", "×2.1 ± 0.1", "≥ 2"}, {"é", "x", "not"}},
			0, `
model    gain        why
────────────────────────
模型-大  ×2.1 ± 0.1  ≥ 2
é        x           not
`,
		},
		"no rows": {[]string{"a", "b"}, nil, 80, "\na  b\n────\n"},
	} {
		if got := tableOf(c.head, c.rows, c.width); got != c.want[1:] {
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
		{
			[]string{"feature", "claim", "measured", "hypothesis"},
			[][]string{{"recompute", why, why, "refuted"}, {"gemm", "", "–", "open"}},
		},
		{
			[]string{"cell", "metric", "then", "now", "now / then"},
			[][]string{{"pp512 tg128", "模型 tg (tok/s)", "2266 ± 12", "41.08 ± 3", "×0.018"}},
		},
	} {
		var words, longest int
		for _, w := range fieldsOf(table.rows) {
			words, longest = words+1, max(longest, lipgloss.Width(w))
		}
		for width := 40; width <= 200; width++ {
			text := tableOf(table.head, table.rows, width)
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
				if last := line[strings.LastIndexByte(line, ' ')+1:]; relates(last) || strings.HasSuffix(last, "-") ||
					strings.TrimSpace(line) != line && strings.HasPrefix(strings.TrimSpace(line), "%") {
					t.Fatalf("%d columns: a number is parted from what belongs to it in %q:\n%s", width, line, text)
				}
			}
		}
		if words == 0 || longest > 30 {
			t.Fatal("this shows nothing")
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
	for name, got := range map[string]string{
		"table and paragraph": b.String(), "wrapped": Wrap(hostile, 40),
		"a live line": Fit(hostile, 40),
	} {
		for _, bad := range []string{"\x1b[31mr", "\x1b[2J", "\r", "\a", "\u202e"} {
			if strings.Contains(got, bad) {
				t.Errorf("%s has %q: %q", name, bad, got)
			}
		}
		must.Contain(t, name, got, "y")
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

func TestFolding(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"short": {"as it is\n\n", "as it is\n\n"},
		"a sentence": {
			"one two three four five six seven eight ≥ 9\n",
			"one two three four five six seven\n  eight ≥ 9\n",
		},
		"a list": {
			"- one two three four five six seven eight nine\n",
			"- one two three four five six seven\n  eight nine\n",
		},
		"a name": {
			"  answer    \"The capital of France\" continues so\n",
			"  answer    \"The capital of France\"\n            continues so\n",
		},
		"an event": {
			"[  12.6s] ports / leaks: stress fail: host memory\n",
			"[  12.6s] ports / leaks: stress\n          fail: host memory\n",
		},
		"a command": {
			"  mxflow ab --a 'one command' --b 'another command'\n",
			"  mxflow ab --a 'one command' --b 'another command'\n",
		},
		"its own name": {
			"mxflow 0.1.0, on arch amd64, cores 2, cpu EPYC\n",
			"mxflow 0.1.0, on arch amd64, cores\n  2, cpu EPYC\n",
		},
		"with one": {
			"To decide between them: mxflow ab --a one --b two\n",
			"To decide between them:\n  mxflow ab --a one --b two\n",
		},
		"behind its name": {
			"the test  mxflow explain feature.B .mxflow-ab/f6ec40b9/ab.hcl\n",
			"the test  mxflow explain feature.B .mxflow-ab/f6ec40b9/ab.hcl\n",
		},
		"a log": {
			"  | a line of a log that is longer than what stands here\n",
			"  | a line of a log that is longer than what stands here\n",
		},
		"not at an end": {
			"one two three four five six seven eight nine",
			"one two three four five six seven eight nine",
		},
		"other scripts": {"模型 模型 模型 模型 模型 模型 模型 模型 模型\n", "模型 模型 模型 模型 模型 模型 模型\n  模型 模型\n"},
	} {
		var b bytes.Buffer
		if _, err := fmt.Fprint(&Folding{To: &b, Width: 36}, c.text); err != nil || b.String() != c.want {
			t.Errorf("%s: %v\n%swant\n%s", name, err, b.String(), c.want)
		}
	}
	var b bytes.Buffer
	f := &Folding{To: &b, Width: 36}
	fmt.Fprint(f, "a prompt with its answer > ")
	fmt.Fprint(f, "one two three four five six seven eight\n")
	must.Equal(t, "a prompt", b.String(), "a prompt with its answer > one two three four five six seven eight\n")
}
