package verdict

import (
	"fmt"

	"github.com/mxflow/mxflow/gates/verdict/code"
)

// Sentence is the code of a reason that is a finished sentence: on the way out, since
// every fact gets a code of its own.
const Sentence code.Code = "words"

// Say is a reason that is a finished sentence: on the way out; use New with a code.
func Say(format string, args ...any) Reason {
	return New(Sentence, Text("text", fmt.Sprintf(format, args...)))
}
