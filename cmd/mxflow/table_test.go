package main

import (
	"strings"
	"testing"
)

// A number keeps its minus sign, wherever its line is broken.
func TestTablesBreakBetweenWordsOnly(t *testing.T) {
	for pad := 60; pad < 96; pad++ {
		why := strings.Repeat("x", pad) + " interval -18.8 % to b1-0c1e570, as wanted"
		var b strings.Builder
		writeTable(&b, []string{"what", "why"}, [][]string{{"one", why}}, false)
		for line := range strings.Lines(b.String()) {
			if strings.HasSuffix(strings.TrimSpace(line), "-") {
				t.Fatalf("with %d characters before it, a word is broken after its hyphen:\n%s", pad, b.String())
			}
		}
		if got := strings.Join(strings.Fields(b.String()), " "); !strings.Contains(got, why) {
			t.Fatalf("words were lost: %s", got)
		}
	}
}
