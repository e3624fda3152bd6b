package prompt

import (
	"strings"
	"testing"
)

// The prose of prompts must be countable piece by piece: it starts with a letter, is
// plain ASCII, and has no duplicates.
func TestProse(t *testing.T) {
	if len(prose) < 200 {
		t.Errorf("%d sentences", len(prose))
	}
	for name, texts := range map[string][]string{"sentence": prose, "word": singles, "opener": openers} {
		seen := map[string]bool{}
		for _, text := range texts {
			if seen[text] {
				t.Errorf("the %s %q is there twice", name, text)
			}
			seen[text] = true
			letter := strings.ToLower(text[:1])
			if letter < "a" || letter > "z" || strings.Contains(text, "  ") || strings.TrimSpace(text) != text {
				t.Errorf("the %s %q", name, text)
			}
			for _, c := range []byte(text) {
				if c < ' ' || c > '~' {
					t.Errorf("the %s %q is not plain ASCII", name, text)
					break
				}
			}
		}
	}
}
