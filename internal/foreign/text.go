// Package foreign makes the text of other programs (an engine's, a file's) safe to print
// and to keep: without the secrets of this process, without terminal escapes, and bounded
// in length.
package foreign

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mxflow/mxflow/internal/redact"
)

const (
	// LineLimit is how much of one line is ever shown or stored, in bytes, and WorkLimit how
	// much of it is read for that: escapes may eat into it.
	LineLimit = 300
	WorkLimit = 16 * LineLimit
	// shortLimit and quoteLimit are how much of a text is repeated in a message.
	shortLimit = 160
	quoteLimit = 200
)

// Harmless reports whether a rune is visible or only moves to the next line or column:
// control characters and the marks that reverse a line's direction are not.
func Harmless(r rune) bool { return r == '\n' || r == '\t' || unicode.IsGraphic(r) }

// Printable is text with U+FFFD in place of each character that is not harmless, and of
// what is not UTF-8.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if Harmless(r) {
			return r
		}
		return utf8.RuneError
	}, text)
}

// Line is Printable for text that must stay on its line.
func Line(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return r
	}, Printable(text))
}

// Clean makes one line of output safe to print and store: the secrets of this process,
// terminal escapes and control characters are removed, anything not UTF-8 or not printable
// becomes U+FFFD, and the line is cut to LineLimit.
//
// Secrets are removed before anything is cut, since no later pass finds the rest of one;
// and again once all is clean, since one may have contained an escape.
func Clean[T ~string | ~[]byte](text T) string { return CleanTo(text, LineLimit) }

// CleanTo is Clean with a different length.
func CleanTo[T ~string | ~[]byte](text T, most int) string {
	hide := redact.ProcessSecrets()
	line := StripANSI(nil, []byte(hide.Cut(string(text), WorkLimit)))
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
	return strings.TrimRight(shortened(hide, string(out), most), " ")
}

// Short is text without the secrets of this process, shortened for a message.
func Short(text string) string { return shortened(redact.ProcessSecrets(), text, shortLimit) }

// Quote quotes text in a message: without secrets, escaped, and shortened.
func Quote[T ~string | ~[]byte](text T) string {
	quoted := strconv.Quote(redact.ProcessSecrets().Cut(string(text), quoteLimit))
	if len(text) <= quoteLimit {
		return quoted
	}
	return fmt.Sprintf("%s… (%d bytes)", quoted, len(text))
}

// shortened is text without secrets in at most the given number of bytes, the last of
// which mark any cut.
func shortened(hide *redact.Redactor, text string, most int) string {
	const ellipsis = "…"
	if text = hide.Text(text); len(text) <= most {
		return text
	}
	return hide.Cut(text, most-len(ellipsis)) + ellipsis
}

// StripANSI appends line to dst without the terminal escape sequences in it
// (ECMA-48: CSI with parameters, OSC and other strings up to their terminator,
// and the two or three byte escapes). A sequence that the line's end cuts off
// is dropped.
func StripANSI(dst, line []byte) []byte {
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
