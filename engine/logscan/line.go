package logscan

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mxflow/mxflow/plans/redact"
)

// maxLineBytes is how much of one log line is ever shown or stored.
const maxLineBytes = 300

// cleanedBytes is how much of a line is read for that.
const cleanedBytes = 16 * maxLineBytes

// maxShortBytes is how much of an answer is repeated in a message.
const maxShortBytes = 160

// Clean makes one line of foreign output safe to print and store: the secrets of this
// process, terminal escapes and control characters are removed, anything not UTF-8 or not
// printable becomes U+FFFD (including the marks that reverse a line's direction), and the
// line is cut to maxLineBytes.
//
// Secrets are removed before anything is cut, since no later pass finds the rest of one;
// and again once all is clean, since one may have contained an escape.
func Clean[T ~string | ~[]byte](text T) string { return CleanTo(text, maxLineBytes) }

// CleanTo is Clean with a different length.
func CleanTo[T ~string | ~[]byte](text T, most int) string {
	hide := redact.Known()
	// The generous margin bounds the work on a long line; escapes may eat into it.
	line := stripANSI(nil, []byte(hide.Cut(string(text), cleanedBytes)))
	out := make([]byte, 0, len(line))
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
	}
	return strings.TrimRight(ellipsised(hide, string(out), most), " ")
}

// Short is text without the secrets of this process, shortened for a message.
func Short(text string) string { return ellipsised(redact.Known(), text, maxShortBytes) }

// ellipsised is text without secrets in at most the given number of bytes, the last of
// which mark any cut.
func ellipsised(hide *redact.Redactor, text string, most int) string {
	const ellipsis = "…"
	if text = hide.Text(text); len(text) <= most {
		return text
	}
	return hide.Cut(text, most-len(ellipsis)) + ellipsis
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
