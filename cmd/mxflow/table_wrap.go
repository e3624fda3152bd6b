package main

import (
	"strings"

	"github.com/charmbracelet/lipgloss"
)

// wrap breaks a paragraph at width columns, between words only, and never between a
// number and what makes it one: "-3.0 %", "≥ 12", "4.2 ± 0.1".
func wrap(text string, width int) string {
	var b strings.Builder
	column := 0
	for _, word := range together(strings.Fields(text)) {
		n := lipgloss.Width(word)
		switch {
		case column == 0:
		case column+1+n > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}

// together joins the words that no line may end between.
func together(words []string) (out []string) {
	for i, word := range words {
		if i > 0 && (strings.HasPrefix(word, "%") || word == "±" || relates(words[i-1])) {
			out[len(out)-1] += " " + word
			continue
		}
		out = append(out, word)
	}
	return out
}

// relates reports whether a word says how the number behind it is meant: ">=", "(<", "±".
func relates(word string) bool {
	switch strings.TrimLeft(word, "([") {
	case "=", "==", "!=", "<", "<=", ">", ">=", "≤", "≥", "≠", "±", "×", "≈":
		return true
	}
	return false
}
