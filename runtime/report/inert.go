package report

import (
	"regexp"
	"strconv"
	"strings"
)

// Inert escapes foreign text (of an engine, a log, a summary) for Markdown: no tag, link
// or image starts in it, and nothing controls a terminal. Text that is a single code span
// stays unchanged, as nothing starts there.
func Inert(text string) string {
	text = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || strconv.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, text)
	if inner := strings.Trim(text, "`"); text == "`"+inner+"`" && !strings.Contains(inner, "`") {
		return text
	}
	return strings.ReplaceAll(tagBegins.ReplaceAllString(text, "&lt;$1"), "](", `]\(`)
}

// tagBegins matches the start of HTML in Markdown; "< 5 ms" is not one.
var tagBegins = regexp.MustCompile(`<([A-Za-z/!?])`)
