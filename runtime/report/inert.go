package report

import (
	"regexp"
	"strconv"
	"strings"
)

// Inert is text of somebody else's (an engine, a log, a summary) as a page of
// Markdown shows it: no tag, link or image begins in it, and nothing steers a
// terminal. Text that is one piece of code stays as it is, since nothing begins there.
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

// tagBegins is what HTML in Markdown starts with; "< 5 ms" is none.
var tagBegins = regexp.MustCompile(`<([A-Za-z/!?])`)
