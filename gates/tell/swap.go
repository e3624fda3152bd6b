package tell

import (
	"sync/atomic"

	"github.com/mxflow/mxflow/gates/verdict/code"
)

// Swap puts every sentence that is made from now on through a function, until restore
// is called. It is for tests alone, which show with it that words bear on nothing: run
// twice, once with other words, everything but what is printed has to come out the
// same. A sentence that holds those of its causes is given with these swapped. It holds
// for the whole process, and may be called while others make sentences.
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
