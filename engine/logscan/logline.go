package logscan

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// maxLineBytes is how much of one log line is ever shown or stored.
const maxLineBytes = 300

// cleanedBytes is how much of a line is looked at for that.
const cleanedBytes = 16 * maxLineBytes

// Clean makes one line of foreign output safe to print and store: terminal
// escapes and control characters go, what is not UTF-8 or not printable becomes
// U+FFFD (this includes the marks that reverse a line's direction), and the
// line is cut to maxLineBytes.
func Clean(line []byte) string {
	// Cutting first bounds the work on a line of gigabytes; escapes are allowed
	// to eat into the generous margin.
	if len(line) > cleanedBytes {
		line = line[:cleanedBytes]
	}
	line = stripANSI(nil, line)
	const ellipsis = "…"
	out := make([]byte, 0, min(len(line), maxLineBytes)+utf8.UTFMax)
	fits := 0 // length of out that still leaves room for the ellipsis
	for len(line) > 0 {
		r, n := utf8.DecodeRune(line)
		line = line[n:]
		switch {
		case r == '\t':
			r = ' '
		case r < ' ' || r == 0x7f:
			continue
		case !unicode.IsPrint(r):
			r = utf8.RuneError
		}
		out = utf8.AppendRune(out, r)
		if len(out) <= maxLineBytes-len(ellipsis) {
			fits = len(out)
		}
		if len(out) > maxLineBytes {
			return string(append(out[:fits], ellipsis...))
		}
	}
	return string(bytes.TrimRight(out, " "))
}

// stripANSI appends line to dst without the terminal escape sequences in it
// (ECMA-48: CSI with parameters, OSC and other strings up to their terminator,
// and the two or three byte escapes). A sequence that the line's end cuts off
// is dropped.
func stripANSI(dst, line []byte) []byte {
	for {
		esc := bytes.IndexByte(line, 0x1b)
		if esc < 0 {
			return append(dst, line...)
		}
		dst = append(dst, line[:esc]...)
		line = line[esc+escapeLen(line[esc:]):]
	}
}

// escapeLen is the length of the escape sequence that s starts with.
func escapeLen(s []byte) int {
	if len(s) < 2 {
		return len(s)
	}
	switch s[1] {
	case '[':
		for i := 2; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
			if s[i] < 0x20 || s[i] > 0x7e {
				return i // not a sequence after all: keep what follows
			}
		}
		return len(s)
	case ']', 'P', 'X', '^', '_':
		for i := 2; i < len(s); i++ {
			if s[i] == 0x07 {
				return i + 1
			}
			if s[i] == 0x1b {
				if i+1 < len(s) && s[i+1] == '\\' {
					return i + 2
				}
				return i
			}
		}
		return len(s)
	}
	i := 1
	for i < len(s) && s[i] >= 0x20 && s[i] <= 0x2f {
		i++
	}
	if i < len(s) && s[i] >= 0x30 && s[i] <= 0x7e {
		i++
	}
	return i
}
