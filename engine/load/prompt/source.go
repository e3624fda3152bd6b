package prompt

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// nonceBits is how many bits make prompts unique.
const nonceBits = 64

// source is an endless ASCII text for one prompt.
type source struct {
	// r draws the text, begin its unique part; the same if no part of the text is shared.
	r, begin *rand.Rand
	// nonce is 16 hexadecimal digits that differ from those of every other prompt. The
	// first is a letter and the second is not, so what precedes them in a chat template
	// merges with the same single letter in every prompt, or with none.
	nonce string
	text  strings.Builder
	// sentence is the classes of the words that the current one still lacks.
	sentence string
}

// source derives a text from the spec and the arguments alone.
func (s Spec) source(series string, index int) *source {
	draw := func(from string) [sha256.Size]byte {
		return sha256.Sum256(fmt.Appendf(nil, "mxflow prompt 2\n%d\n%q\n%s\n%d\n%s", s.Seed, s.Cell, series, index, from))
	}
	own := draw(s.Draw)
	text := &source{r: randOf(own), begin: randOf(own)}
	text.nonce = fmt.Sprintf("%c%c%s", "abcdef"[own[24]%6], "0123456789"[own[25]%10], hex.EncodeToString(own[16:23]))
	if s.Body != "" {
		text.r = randOf(draw("body " + s.Body))
	} else {
		text.begin = text.r
	}
	return text
}

func randOf(sum [sha256.Size]byte) *rand.Rand {
	return rand.New(rand.NewPCG(binary.LittleEndian.Uint64(sum[:]), binary.LittleEndian.Uint64(sum[8:])))
}

// next is the next word of the text, after a space. A class without words is left out.
func (s *source) next(of words) string {
	for {
		if s.sentence == "" {
			s.sentence = patterns[s.r.IntN(len(patterns))]
		}
		some := of[rune(s.sentence[0])]
		s.sentence = s.sentence[1:]
		if len(some) > 0 {
			return some[s.r.IntN(len(some))]
		}
	}
}

// words is a nonce of words instead of digits: the first one of openers, the others of
// ones, enough for nonceBits.
func (s *source) words(openers, ones []string) (first string, rest []string) {
	first = openers[s.begin.IntN(len(openers))]
	for bits := math.Log2(float64(len(openers))); bits < nonceBits; bits += math.Log2(float64(len(ones))) {
		rest = append(rest, ones[s.begin.IntN(len(ones))])
	}
	return first, rest
}

// first returns the first n bytes of the text. It starts with the nonce: caches work on
// prefixes, so the unique part must come first. If it would end in a space it ends in a
// full stop: chat templates trim their input, and some vocabularies count a trailing
// space separately.
func (s *source) first(n int) string {
	if s.text.Len() == 0 {
		s.text.WriteString(s.nonce + ".")
	}
	for s.text.Len() < n {
		s.text.WriteString(s.next(allWords))
	}
	text := s.text.String()[:n]
	if cut, spaced := strings.CutSuffix(text, " "); spaced {
		return cut + "."
	}
	return text
}
