package prompt

import (
	"slices"
	"strings"
	"testing"
)

// Words must be countable one by one: they start with a letter, are plain ASCII, and are
// there once in their class.
func TestWords(t *testing.T) {
	if len(Prose()) < 200 || len(allWords.singles()) < 300 || len(allWords) != 9 {
		t.Errorf("%d sentences, %d words in %d classes", len(Prose()), len(allWords.singles()), len(allWords))
	}
	for name, texts := range map[rune][]string{'P': Prose(), 'O': slices.Clone(openers)} {
		for i := range texts {
			texts[i] = " " + texts[i]
		}
		allOf(t, name, texts)
	}
	for class, texts := range allWords {
		allOf(t, class, texts)
		for _, text := range texts {
			if strings.Contains(text[1:], " ") || strings.HasSuffix(text, ".") != (class == 'e') {
				t.Errorf("%c: %q", class, text)
			}
		}
	}
	for _, pattern := range patterns {
		for _, class := range pattern {
			if len(allWords[class]) == 0 {
				t.Errorf("the pattern %s has %c, a class without words", pattern, class)
			}
		}
		if pattern[0] != 'D' || !strings.HasSuffix(pattern, "e") {
			t.Errorf("the pattern %s is no sentence", pattern)
		}
	}
}

func allOf(t *testing.T, class rune, texts []string) {
	t.Helper()
	seen := map[string]bool{}
	for _, text := range texts {
		if seen[text] {
			t.Errorf("%c: %q is there twice", class, text)
		}
		seen[text] = true
		letter := strings.ToLower(text[1:2])
		if text[0] != ' ' || letter < "a" || letter > "z" || strings.Contains(text, "  ") || strings.TrimSpace(text) != text[1:] {
			t.Errorf("%c: %q", class, text)
		}
		for _, c := range []byte(text) {
			if c < ' ' || c > '~' {
				t.Errorf("%c: %q is not plain ASCII", class, text)
				break
			}
		}
	}
}

// Prompts have no run of words in common that is worth remembering, in a launch or in
// several.
func TestPromptsShareNoRuns(t *testing.T) {
	const run = 7
	for _, name := range []string{"words", "pieces of four", "bytes"} { // with all words, with short ones, and by length
		seen, all := map[string]int{}, 0
		for launch := range 4 {
			p, err := Build(t.Context(), &fake{count: tokenizers[name]}, Spec{Cell: "chat", Draw: strings.Repeat("a", launch), Tokens: 2000, Requests: 16})
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range p.Measured {
				words := strings.Fields(one.Text)
				for i := range len(words) - run {
					seen[strings.Join(words[i:i+run], " ")]++
					all++
				}
			}
		}
		repeated := 0
		for _, n := range seen {
			repeated += n - 1
		}
		if repeated*10_000 > all {
			t.Errorf("%s: %d of %d runs of %d words are there again", name, repeated, all, run)
		}
	}
}
