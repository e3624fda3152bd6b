package logscan

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Glob is a compiled pattern of the plan language: pieces of text that must occur in this
// order. It is unanchored and ignores case; * stands for any text, including the empty
// one and every character, and nothing else is special. So it matches mangled kernel
// names and log lines alike, and takes time proportional to the text: the leftmost place
// of each piece is always as good as any other, so nothing is ever tried twice. In a
// pattern of several lines each line is a pattern by itself, and text that matches any of
// them matches.
type Glob struct{ alternatives [][][]byte }

// ParseGlob compiles a pattern. One without any text, such as "*", would match
// everything and prove nothing: that is an error.
func ParseGlob(pattern string) (Glob, error) {
	var g Glob
	for one := range strings.SplitSeq(pattern, "\n") {
		var pieces [][]byte
		for piece := range strings.SplitSeq(one, "*") {
			if piece != "" {
				pieces = append(pieces, bytes.ToLower([]byte(piece)))
			}
		}
		if len(pieces) == 0 {
			return Glob{}, fmt.Errorf("pattern %q matches every line: add some text", one)
		}
		g.alternatives = append(g.alternatives, pieces)
	}
	return g, nil
}

func (g Glob) Match(text string) bool {
	return g.matchLower(bytes.ToLower([]byte(text)))
}

// matchLower is Match for text that bytes.ToLower made lower case; invalid UTF-8 becomes
// U+FFFD in both.
func (g Glob) matchLower(text []byte) bool {
	return slices.ContainsFunc(g.alternatives, func(pieces [][]byte) bool {
		rest := text
		for _, piece := range pieces {
			i := bytes.Index(rest, piece)
			if i < 0 {
				return false
			}
			rest = rest[i+len(piece):]
		}
		return true
	})
}

// Names reports whether the pattern is about the part of a line from at to to, and not
// just about the same line: one of its pieces is there. If the line is not whole, other
// pieces may be in the part that was cut off.
func (g Glob) Names(line string, at, to int, whole bool) bool {
	if at < 0 || at >= to || to > len(line) || whole && !g.Match(line) {
		return false
	}
	all := bytes.ToLower([]byte(line[:at]))
	from := len(all)
	all = append(all, bytes.ToLower([]byte(line[at:to]))...)
	until := len(all)
	all = append(all, bytes.ToLower([]byte(line[to:]))...)
	return slices.ContainsFunc(slices.Concat(g.alternatives...), func(piece []byte) bool {
		start := max(0, from-len(piece)+1) // the first place whose end is there
		i := bytes.Index(all[start:], piece)
		return i >= 0 && start+i < until
	})
}
