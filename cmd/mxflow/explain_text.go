package main

import (
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
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
	width := a.fits()
	if width > 0 {
		width -= 3
	}
	drawTable(&b, head, rows, false, width)
	fmt.Fprintln(a.stdout)
	for line := range strings.Lines(b.String()) {
		fmt.Fprint(a.stdout, strings.TrimRight("   "+line, " \n")+"\n")
	}
}

func (a *app) paragraphs(indent string, texts []string) {
	for _, t := range texts {
		a.paragraph(indent, t)
	}
}

// paragraph prints a text between words, its later lines a little further in.
func (a *app) paragraph(indent, text string) {
	for i, line := range strings.Split(wrap(text, min(explainWidth, a.width())-len(indent)), "\n") {
		if i > 0 {
			line = "  " + line
		}
		fmt.Fprintln(a.stdout, indent+line)
	}
}

// spans writes ascending numbers briefly: "3, 4, 7 and 12 to 16".
func spans(numbers []int) string {
	var words []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		switch {
		case j > i+1:
			words = append(words, fmt.Sprintf("%d to %d", numbers[i], numbers[j]))
		case j > i:
			words = append(words, fmt.Sprint(numbers[i]), fmt.Sprint(numbers[j]))
		default:
			words = append(words, fmt.Sprint(numbers[i]))
		}
		i = j + 1
	}
	return verdict.And(words)
}
