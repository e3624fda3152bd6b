package logscan

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Glob is a compiled pattern of the plan language: pieces of text that must
// occur in this order. It is unanchored and ignores case; * stands for any
// text, the empty one and every character included, and nothing else is
// special. So it matches mangled kernel names and log lines alike, and takes
// time proportional to the text: the leftmost place of each piece is always as
// good as any other, hence nothing is ever tried twice.
type Glob struct{ pieces [][]byte }

// ParseGlob compiles a pattern. One without any text, such as "*", would match
// everything and prove nothing: that is an error.
func ParseGlob(pattern string) (Glob, error) {
	var g Glob
	for piece := range strings.SplitSeq(pattern, "*") {
		if piece != "" {
			g.pieces = append(g.pieces, fold(nil, []byte(piece)))
		}
	}
	if len(g.pieces) == 0 {
		return Glob{}, fmt.Errorf("pattern %q matches every line: it needs some text to look for", pattern)
	}
	return g, nil
}

// Match reports whether text contains the pattern.
func (g Glob) Match(text string) bool {
	return g.matchFolded(fold(nil, []byte(text)))
}

// matchFolded is Match on text that went through fold.
func (g Glob) matchFolded(text []byte) bool {
	for _, piece := range g.pieces {
		i := bytes.Index(text, piece)
		if i < 0 {
			return false
		}
		text = text[i+len(piece):]
	}
	return len(g.pieces) > 0
}

// Names reports whether the pattern is about what stands in a line from at to to, and
// not only about the same line: one of its pieces lies there. Of a line that is not
// whole, other pieces may be in what was cut off.
func (g Glob) Names(line string, at, to int, whole bool) bool {
	if at < 0 || at >= to || to > len(line) || whole && !g.Match(line) {
		return false
	}
	all := fold(nil, []byte(line[:at]))
	from := len(all)
	all = fold(all, []byte(line[at:to]))
	until := len(all)
	all = fold(all, []byte(line[to:]))
	return slices.ContainsFunc(g.pieces, func(piece []byte) bool {
		start := max(0, from-len(piece)+1) // the first place whose end is there
		i := bytes.Index(all[start:], piece)
		return i >= 0 && start+i < until
	})
}

// literal is a piece of the glob that every line it matches has; empty where all
// are outside ASCII.
func (g Glob) literal() string {
	best := ""
	for _, piece := range g.pieces {
		if run := asciiRun(string(piece)); len(run) > len(best) {
			best = run
		}
	}
	return best
}

// fold appends text to dst in lower case. Invalid UTF-8 becomes U+FFFD, in
// patterns as in text.
func fold(dst, text []byte) []byte {
	from := len(dst)
	dst = slices.Grow(dst, len(text))[:from+len(text)]
	out := dst[from:]
	for i, c := range text {
		if c >= utf8.RuneSelf {
			return foldUnicode(dst[:from+i], text[i:])
		}
		if c-'A' < 26 {
			c += 'a' - 'A'
		}
		out[i] = c
	}
	return dst
}

func foldUnicode(dst, text []byte) []byte {
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		dst = utf8.AppendRune(dst, unicode.ToLower(r))
		text = text[n:]
	}
	return dst
}
