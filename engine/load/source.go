package load

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
)

// source is an endless ASCII text of its own for one prompt.
type source struct {
	r    *rand.Rand
	text strings.Builder
}

// newSource derives the text from its arguments alone. It begins with 16
// hexadecimal digits that differ from those of every other prompt: caches work
// on prefixes, so what is unique must come first.
func newSource(seed int64, cell, series string, index int) *source {
	sum := sha256.Sum256(fmt.Appendf(nil, "mxflow prompt 1\n%d\n%q\n%s\n%d\n", seed, cell, series, index))
	s := &source{r: rand.New(rand.NewPCG(binary.LittleEndian.Uint64(sum[:]), binary.LittleEndian.Uint64(sum[8:])))}
	s.text.WriteString(hex.EncodeToString(sum[16:24]))
	s.text.WriteByte('.')
	return s
}

// first returns the first n bytes of the text. Where that would end in a space
// it ends in a full stop: chat templates trim what they are given, and some
// vocabularies count a space at the end apart.
func (s *source) first(n int) string {
	for s.text.Len() < n {
		for _, i := range s.r.Perm(len(prose)) {
			s.text.WriteByte(' ')
			s.text.WriteString(prose[i])
		}
	}
	text := s.text.String()[:n]
	if cut, spaced := strings.CutSuffix(text, " "); spaced {
		return cut + "."
	}
	return text
}
