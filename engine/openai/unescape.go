package openai

import (
	"unicode/utf16"
	"unicode/utf8"
)

// appendUnescaped appends the value of a string that scanString accepted, given
// without its quotes. As in encoding/json, bytes that are no UTF-8 and halves of
// surrogate pairs become U+FFFD.
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
	// The other half must follow; if it does not, what follows stands for itself.
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
