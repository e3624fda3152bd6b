package kinds

import (
	"fmt"

	"github.com/mxflow/mxflow/engine/logscan"
)

// Diagnosis is how an engine broke, as its log shows.
type Diagnosis struct {
	// Class is a word for reports: "oom", "crash", "config", "driver".
	Class string
	// Means is what happened and what to do.
	Means string
	// Line is the first line that shows it, LineNo its number.
	Line   string
	LineNo int
}

// diagnosedLine is how much of the line a sentence shows, in characters.
const diagnosedLine = 100

// String is one sentence with its evidence.
func (d Diagnosis) String() string {
	line := []rune(d.Line)
	if len(line) > diagnosedLine {
		line = append(line[:diagnosedLine], '…')
	}
	return fmt.Sprintf("%s [%s, log line %d: %s]", d.Means, d.Class, d.LineNo, string(line))
}

// Diagnose looks in a log for the signatures by which engines of this kind show
// that they broke. The first in the kind's order counts, since a root cause is
// listed before what follows from it. Lines that only look like it (Harmless) are
// passed over. False where the log shows none of them, or cannot be read.
func (k Kind) Diagnose(logPath string) (Diagnosis, bool) {
	var globs []string
	for _, c := range k.Crashes {
		globs = append(globs, c.Glob)
	}
	if len(globs) == 0 {
		return Diagnosis{}, false
	}
	scan, err := logscan.New(globs)
	if err != nil {
		return Diagnosis{}, false
	}
	scan.Unless(k.Harmless)
	if scan.File(logPath) != nil {
		return Diagnosis{}, false
	}
	seen := scan.Seen()
	for _, c := range k.Crashes {
		if m, ok := seen[c.Glob]; ok {
			return Diagnosis{Class: c.Class, Means: c.Means, Line: m.FirstLine, LineNo: m.LineNo}, true
		}
	}
	return Diagnosis{}, false
}
