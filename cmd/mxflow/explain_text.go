package main

import (
	"fmt"
	"strings"
)

// explainWidth is where sentences of an explanation wrap.
const explainWidth = 92

func inUnit(unit string) string {
	if unit == "" {
		return ""
	}
	return "(" + unit + ")"
}

// indentedTable prints a table below a rule.
func (a *app) indentedTable(head []string, rows [][]string) {
	var b strings.Builder
	writeTable(&b, head, rows, false)
	fmt.Fprintf(a.stdout, "\n   %s\n", strings.ReplaceAll(strings.TrimRight(b.String(), "\n"), "\n", "\n   "))
}

func (a *app) paragraphs(indent string, texts []string) {
	for _, t := range texts {
		a.paragraph(indent, t)
	}
}

// paragraph prints a text between words, its later lines a little further in.
func (a *app) paragraph(indent, text string) {
	for i, line := range strings.Split(wrap(text, explainWidth-len(indent)), "\n") {
		if i > 0 {
			line = "  " + line
		}
		fmt.Fprintln(a.stdout, indent+line)
	}
}
