package verdict

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mxflow/mxflow/gates/verdict/code"
)

// shortCause is the length up to which a cause is repeated.
const shortCause = 40

// Page remembers the reasons that a page has printed. The cause of a broken launch is
// also that of its level, of the levels after it, of the benchmark and of every rule that
// would have read it; it is printed once.
type Page struct {
	// lines holds the reasons printed as a line; told these with all their causes.
	lines, told facts
}

type facts map[string][]Reason

func (f facts) has(r Reason) bool { return slices.ContainsFunc(f[r.Key()], r.Equal) }

func (f facts) add(r Reason) { f[r.Key()] = append(f[r.Key()], r) }

// Each prints reasons one per line, up to a cause that was printed before; what they say
// themselves stays.
func (p *Page) Each(reasons ...Reason) (lines []string) {
	for _, r := range reasons {
		lines = append(lines, r.line(p.told))
		p.record(r)
	}
	return lines
}

// Unprinted is Each without the reasons that were already printed as a line: repeated for one
// decision they add nothing.
func (p *Page) Unprinted(reasons ...Reason) (lines []string) {
	for _, r := range reasons {
		if !p.repeats(r) {
			lines = append(lines, p.Each(r)...)
		}
	}
	return lines
}

// record records a reason as printed, with all its causes.
func (p *Page) record(r Reason) {
	if p.lines == nil {
		p.lines, p.told = facts{}, facts{}
	}
	if !p.lines.has(r) {
		p.lines.add(r)
	}
	p.know(r)
}

func (p *Page) know(r Reason) {
	if p.told.has(r) {
		return
	}
	p.told.add(r)
	for _, c := range r.Causes {
		p.know(c)
	}
}

// repeats reports whether a reason was printed as a line.
func (p *Page) repeats(r Reason) bool { return len(r.String()) >= shortCause && p.lines.has(r) }

// more is the kind of the number of reasons left out.
const more = code.Kind("more")

// Few returns the first of some reasons, and how many more there are.
func Few(reasons []Reason, most int) []Reason {
	if len(reasons) <= most {
		return reasons
	}
	return append(slices.Clone(reasons[:most]), Say(more, "(and {n} more)", Int("n", len(reasons)-most)))
}

// Brief is the first line of a reason: an engine's failure may have put a whole log into
// it.
func Brief(r Reason) string {
	line, _, _ := strings.Cut(r.String(), "\n")
	return line
}

// Sentence is a reason as a sentence, with a capital letter and a full stop.
func Sentence(r Reason) string { return Capital(Stopped(r)) }

func Stopped(r Reason) string { return FullStop(r.String()) }

// FullStop adds a full stop to a text that has no end of its own.
func FullStop(text string) string {
	if text == "" || strings.ContainsAny(text[len(text)-1:], ".!?") {
		return text
	}
	return text + "."
}

func Capital(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + text[size:]
}
