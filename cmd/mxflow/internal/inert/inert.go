// Package inert keeps foreign text (an engine's, a plan's, a file's) from controlling the
// terminal that it is printed on. It is the last place to do so, for text that was not
// cleaned at its source.
package inert

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// harmless reports whether a rune is visible or only moves to the next line or column:
// control characters and bidirectional marks are not.
func harmless(r rune) bool { return r == '\n' || r == '\t' || unicode.IsGraphic(r) }

// Text is text with U+FFFD in place of each character that is not harmless.
func Text(text string) string {
	return strings.Map(func(r rune) rune {
		if harmless(r) {
			return r
		}
		return utf8.RuneError
	}, text)
}

// JSON escapes such characters in the strings of a document, which keeps its meaning.
func JSON(document []byte) []byte {
	if plain(document) {
		return document
	}
	out := make([]byte, 0, len(document)+16)
	for _, r := range string(document) {
		switch {
		case harmless(r):
			out = utf8.AppendRune(out, r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

// Writer writes text that way, each piece by itself. CRLF line ends are allowed.
type Writer struct {
	To io.Writer
	// Colours lets mxflow's own colours through.
	Colours bool
}

// colour is bold, dim, underlined, red to cyan or grey, and their end: these hide no
// text.
var colour = regexp.MustCompile(`^\x1b\[((0|[124]|3[1-6]|90)(;(0|[124]|3[1-6]|90))*)?m`)

func (w Writer) Write(p []byte) (int, error) {
	out := p
	if !plain(p) {
		out = w.cleaned(p)
	}
	if _, err := w.To.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (w Writer) cleaned(p []byte) []byte {
	out := make([]byte, 0, len(p)+16)
	for len(p) > 0 {
		r, n := utf8.DecodeRune(p)
		switch {
		case r == '\x1b' && w.Colours && colour.Match(p):
			n = len(colour.Find(p))
			out = append(out, p[:n]...)
		case r == '\r' && len(p) > 1 && p[1] == '\n':
		case harmless(r):
			out = utf8.AppendRune(out, r)
		default:
			out = utf8.AppendRune(out, utf8.RuneError)
		}
		p = p[n:]
	}
	return out
}

// plain reports whether text is harmless ASCII, which nearly all is.
func plain(p []byte) bool {
	for _, c := range p {
		if c >= 0x7f || c < ' ' && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}
