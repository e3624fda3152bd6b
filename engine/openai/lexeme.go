package openai

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// What JSON is made of below values: each function scans one piece that begins
// at i and returns the index behind it, or -1.

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

func literal(b []byte, i int, word string) int {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

// number scans -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
func number(b []byte, i int) int {
	if i < len(b) && b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if i = digits(b, i); i < 0 {
		return -1
	}
	if i < len(b) && b[i] == '.' {
		if i = digits(b, i+1); i < 0 {
			return -1
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return digits(b, i)
	}
	return i
}

// digits scans one digit or more.
func digits(b []byte, i int) int {
	from := i
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	if i == from {
		return -1
	}
	return i
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// scanString scans the string whose quote is at i and returns the index after its closing
// quote, or -1. Plain strings are ASCII without escapes.
//
// Eight bytes are examined together: for a byte x, (x − 1) &^ x has the high bit set if x
// is 0, and (x − 32) &^ x if x is below 32. A borrow can mark a byte wrongly only above
// one marked rightly, so the lowest mark is right.
func scanString(b []byte, i int) (end int, plain bool) {
	plain = true
	i++
	for {
		for i+8 <= len(b) {
			x := binary.LittleEndian.Uint64(b[i:])
			quote, slash := x^'"'*ones, x^'\\'*ones
			marks := (x | (x-' '*ones)&^x | (quote-ones)&^quote | (slash-ones)&^slash) & highs
			if marks != 0 {
				i += bits.TrailingZeros64(marks) / 8
				break
			}
			i += 8
		}
		if i >= len(b) {
			return -1, false
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1, plain
		case c == '\\':
			plain = false
			if i = escape(b, i); i < 0 {
				return -1, false
			}
		case c < ' ':
			return -1, false
		case c >= 0x80:
			// Bytes that are not UTF-8 are valid here, as in encoding/json, and become
			// U+FFFD when the value is taken.
			plain = false
			for i < len(b) && b[i] >= 0x80 {
				i++
			}
		default:
			i++
		}
	}
}

// escape scans the escape sequence at i.
func escape(b []byte, i int) int {
	if i+1 >= len(b) {
		return -1
	}
	switch b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		if _, ok := hex4(b[i+2:]); ok {
			return i + 6
		}
	}
	return -1
}

// appendUnescaped appends the value of a string that scanString accepted, given without
// its quotes. As in encoding/json, bytes that are not UTF-8 and halves of surrogate pairs
// become U+FFFD.
func appendUnescaped(dst, raw []byte) []byte {
	for i := 0; i < len(raw); {
		run := i
		for i < len(raw) && raw[i] != '\\' && raw[i] < utf8.RuneSelf {
			i++
		}
		dst = append(dst, raw[run:i]...)
		switch {
		case i >= len(raw):
		case raw[i] == '\\':
			dst, i = appendEscape(dst, raw, i)
		default:
			r, size := utf8.DecodeRune(raw[i:])
			dst = utf8.AppendRune(dst, r)
			i += size
		}
	}
	return dst
}

func appendEscape(dst, raw []byte, i int) ([]byte, int) {
	if i+1 >= len(raw) {
		return dst, len(raw)
	}
	switch c := raw[i+1]; c {
	case 'b':
		return append(dst, '\b'), i + 2
	case 'f':
		return append(dst, '\f'), i + 2
	case 'n':
		return append(dst, '\n'), i + 2
	case 'r':
		return append(dst, '\r'), i + 2
	case 't':
		return append(dst, '\t'), i + 2
	case 'u':
	default: // '"', '\\' and '/' stand for themselves
		return append(dst, c), i + 2
	}
	r, _ := hex4(raw[i+2:])
	i += 6
	if !utf16.IsSurrogate(r) {
		return utf8.AppendRune(dst, r), i
	}
	// The other half must follow; otherwise what follows stands for itself.
	if i+1 < len(raw) && raw[i] == '\\' && raw[i+1] == 'u' {
		if low, ok := hex4(raw[i+2:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return utf8.AppendRune(dst, pair), i + 6
			}
		}
	}
	return utf8.AppendRune(dst, utf8.RuneError), i
}

// hex4 reads the four hexadecimal digits of \uXXXX.
func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
