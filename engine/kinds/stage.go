package kinds

import (
	"regexp"
	"slices"
	"strings"
)

// Stage is a part of an engine's start that makes people wait. Stages need not come in
// this order, and one may come twice.
type Stage string

// Stages that kinds distinguish by their logs. No kind logs FirstRequest: mxflow itself
// sends it.
const (
	Weights      Stage = "weights"
	Compile      Stage = "compile"
	WarmUp       Stage = "warm_up"
	KVCache      Stage = "kv_cache"
	Graphs       Stage = "graphs"
	Serving      Stage = "serving"
	FirstRequest Stage = "first_request"
)

// StageLines are the log lines that show that a stage began or continues.
type StageLines struct {
	Stage Stage
	// Log are RE2 expressions, matched against lines without their terminal escapes.
	Log []string
}

// StageOf returns a function that maps a line of the log to the stage that it shows,
// empty if it shows none. If the kind may be any other, the lines of all kinds count.
func (k Kind) StageOf() func(line string) Stage {
	var stages []Stage
	var shownBy []*regexp.Regexp
	for _, k := range k.orAll() {
		for _, s := range k.Stages {
			stages = append(stages, s.Stage)
			shownBy = append(shownBy, regexp.MustCompile("(?:"+strings.Join(s.Log, ")|(?:")+")"))
		}
	}
	return func(line string) Stage {
		i := slices.IndexFunc(shownBy, func(re *regexp.Regexp) bool { return re.MatchString(line) })
		if i < 0 {
			return ""
		}
		return stages[i]
	}
}
