package foreign

import (
	"fmt"
	"io"
	"regexp"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON escapes what is not harmless in the strings of a document, which keeps its meaning.
func JSON(document []byte) []byte {
	if plain(document) {
		return document
	}
	out := make([]byte, 0, len(document)+16)
	for _, r := range string(document) {
		switch {
		case Harmless(r):
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

// Writer writes text as Printable makes it, each piece by itself, with LF for CRLF. It is
// the last place before the terminal, for text that was not cleaned at its source.
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
		case Harmless(r):
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
