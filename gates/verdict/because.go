package verdict

import (
	"strings"

	"github.com/mxflow/mxflow/gates/verdict/code"
)

// Because is one reason.
func Because(c code.Code, args ...Arg) []Reason {
	return []Reason{New(c, args...)}
}

// Line is an error without what stands below its first line, such as the end of a
// log.
func Line(err error) Arg { return Text("error", firstLine(err)) }

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
