package embedded

import (
	"strings"
	"unicode/utf8"
)

// textStream turns token spellings into text that may be sent: it holds back
// incomplete UTF-8 and anything that may become a stop string.
type textStream struct {
	stops   []string
	pending []byte
}

// push adds a spelling and returns what is safe to send. stopped means that a
// stop string was found; the text ends before it.
func (s *textStream) push(piece []byte) (text string, stopped bool) {
	s.pending = append(s.pending, piece...)
	for _, stop := range s.stops {
		if before, _, found := strings.Cut(string(s.pending), stop); found {
			s.pending = nil
			return strings.ToValidUTF8(before, "\uFFFD"), true
		}
	}
	safe := completeUTF8(s.pending)
	for _, stop := range s.stops {
		for n := min(len(stop)-1, len(s.pending)); n > 0; n-- {
			if strings.HasSuffix(string(s.pending), stop[:n]) {
				safe = min(safe, completeUTF8(s.pending[:len(s.pending)-n]))
				break
			}
		}
	}
	text = strings.ToValidUTF8(string(s.pending[:safe]), "\uFFFD")
	s.pending = s.pending[safe:]
	return text, false
}

// flush returns what was held back.
func (s *textStream) flush() string {
	text := strings.ToValidUTF8(string(s.pending), "\uFFFD")
	s.pending = nil
	return text
}

// completeUTF8 is the length of b without a last sequence that more bytes
// could complete.
func completeUTF8(b []byte) int {
	for back := 1; back <= min(utf8.UTFMax-1, len(b)); back++ {
		if start := len(b) - back; utf8.RuneStart(b[start]) {
			if !utf8.FullRune(b[start:]) {
				return start
			}
			break
		}
	}
	return len(b)
}
