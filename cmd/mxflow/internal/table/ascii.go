package table

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/internal/redact"
)

// OnlyASCII reports whether the locale has no other characters: that of LC_ALL, else of LC_CTYPE, else of
// LANG, the first that is not empty, unless it names UTF-8. Where none is set, as in most containers and
// services, text is UTF-8, as git prints it: nothing says that its reader cannot show it.
func OnlyASCII() bool {
	locale := strings.ToLower(cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG")))
	return locale != "" && !strings.Contains(strings.ReplaceAll(locale, "-", ""), "utf8")
}

// ASCII is a writer of text for people whose locale has only ASCII, see Plain.
type ASCII struct{ To io.Writer }

func (a ASCII) Write(p []byte) (int, error) {
	if _, err := io.WriteString(a.To, Plain(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Plain is a text in the characters of the locale: where that has only ASCII, "->" for "→", ">=" for
// "≥", and \u6a21 for what has no likeness.
func Plain(text string) string {
	if !OnlyASCII() || strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch like, has := likeness[r]; {
		case has:
			b.WriteString(like)
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case r == utf8.RuneError:
			b.WriteByte('?')
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// likeness is ASCII for what mxflow itself prints.
var likeness = map[rune]string{
	'…': "...", '–': "-", '—': "-", '−': "-", '→': "->", '·': ".", '±': "+/-", '×': "x", '≥': ">=", '≤': "<=",
	'≠': "!=", '≈': "~", '─': "-", '│': "|", '┼': "+", '✓': "ok", '✗': "no", '▸': ">", '▶': ">", '❌': "x",
	'⚠': "!", 'µ': "u", 'μ': "u", '°': "deg ", '²': "^2", '√': "sqrt ", '‹': "'", '›': "'", '“': `"`, '”': `"`,
	'‘': "'", '’': "'", '\u00a0': " ", '▁': " ", 'α': "alpha", 'σ': "sigma", 'Σ': "sum ",
}

// shown is a text of anybody as it is drawn: without secrets, which nothing finds any more once it is cut
// or broken, and without what steers a terminal.
func shown(text string) string { return Plain(foreign.Printable(redact.ProcessSecrets().Text(text))) }

// UTF8 is a writer of the same that keeps the characters: for a document that is a file to others.
func UTF8(w io.Writer) io.Writer {
	switch w := w.(type) {
	case Hiding:
		return Hiding{UTF8(w.To), w.Secrets}
	case foreign.Writer:
		w.To = UTF8(w.To)
		return w
	case *Folding:
		return &Folding{To: UTF8(w.To), Width: w.Width}
	case ASCII:
		return w.To
	}
	return w
}
