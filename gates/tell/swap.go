package tell

import (
	"sync/atomic"

	"github.com/mxflow/mxflow/gates/verdict/code"
)

// Swap passes every sentence made from now on through a function, until restore is
// called. It is for tests only, which show with it that words bear on nothing: run twice,
// once with other words, everything but the printed text must be the same. A sentence
// that contains those of its causes is passed with these swapped. It affects the whole
// process, and is safe while others make sentences.
func Swap(with func(c code.Code, sentence string) string) (restore func()) {
	before := swap.Swap(&with)
	return func() { swap.Store(before) }
}

var swap atomic.Pointer[func(code.Code, string) string]

func swapped(c code.Code, sentence string) string {
	if with := swap.Load(); with != nil {
		return (*with)(c, sentence)
	}
	return sentence
}
