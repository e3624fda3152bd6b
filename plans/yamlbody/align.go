package yamlbody

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Offsets finds, for each byte of a scalar's text, its offset in what is written in the
// file, counted from the first character of the scalar, quotes included; one more is the
// offset of its end. It returns nil if the two do not fit, as after a template has been
// filled in. It is for callers that find a mistake in a text of their own.
func Offsets(written, text string) []int {
	style := Plain
	switch {
	case strings.HasPrefix(written, `"`), strings.HasPrefix(written, `'`):
		style = Quoted
	case strings.HasPrefix(written, "|"), strings.HasPrefix(written, ">"):
		style = Block
	}
	return align(written, text, style)
}

// align finds, for each byte of a scalar's text, the offset in the source that it comes
// from; one more is the offset of its end. The source starts with the scalar. It returns
// nil if the two do not fit.
//
// Every rune that is not white space must be found, in order; white space in the source
// may have been folded, cut or be indentation, and is taken as it comes. So the places of
// words are exact, whatever the style.
func align(src, text string, style Style) []int {
	offsets := make([]int, len(text)+1)
	at, double, single := 0, false, false
	switch {
	case style == Quoted && strings.HasPrefix(src, `"`):
		double, at = true, 1
	case style == Quoted && strings.HasPrefix(src, `'`):
		single, at = true, 1
	case style == Block:
		at = strings.IndexByte(src, '\n') + 1
		if at == 0 {
			at = len(src)
		}
	}
	for i := 0; i < len(text); {
		want, size := utf8.DecodeRuneInString(text[i:])
		if !space(want) {
			at = skipSpace(src, at, double)
		}
		got, width := utf8.DecodeRuneInString(src[at:])
		switch {
		case double && got == '\\':
			got, width = unescape(src[at:])
		case single && strings.HasPrefix(src[at:], "''"):
			width = 2
		}
		for b := range size {
			offsets[i+b] = at
		}
		i += size
		switch {
		case got == want, space(want) && at < len(src) && spaceByte(src[at]):
			at += width
		case space(want):
			// It was folded away; what follows tells where we are.
		default:
			return nil
		}
	}
	offsets[len(text)] = at
	return offsets
}

func space(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == '\r' }

func spaceByte(c byte) bool { return space(rune(c)) }

// skipSpace skips white space, and in double quotes the backslash that joins
// lines.
func skipSpace(src string, at int, double bool) int {
	for at < len(src) {
		switch {
		case spaceByte(src[at]):
			at++
		case double && (strings.HasPrefix(src[at:], "\\\n") || strings.HasPrefix(src[at:], "\\\r\n")):
			at++
		default:
			return at
		}
	}
	return at
}

var escapes = map[byte]rune{
	'0': 0, 'a': 7, 'b': 8, 't': 9, 'n': 10, 'v': 11, 'f': 12, 'r': 13, 'e': 27,
	'N': 0x85, '_': 0xa0, 'L': 0x2028, 'P': 0x2029,
}

// unescape reads an escape of a text in double quotes.
func unescape(src string) (r rune, width int) {
	if len(src) < 2 {
		return utf8.RuneError, len(src)
	}
	if r, ok := escapes[src[1]]; ok {
		return r, 2
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[src[1]]
	if digits == 0 {
		return rune(src[1]), 2
	}
	if len(src) < 2+digits {
		return utf8.RuneError, len(src)
	}
	code, err := strconv.ParseUint(src[2:2+digits], 16, 32)
	if err != nil {
		return utf8.RuneError, 2
	}
	return rune(code), 2 + digits
}
