package kinds

import "regexp"

// Stage is a part of an engine's start that takes a person's patience. They need not
// come in this order, and one may come twice.
type Stage string

// Stages that kinds tell apart by their logs. FirstRequest is nobody's line: it is
// mxflow that asks.
const (
	Weights      Stage = "weights"
	Compile      Stage = "compile"
	WarmUp       Stage = "warm_up"
	KVCache      Stage = "kv_cache"
	Graphs       Stage = "graphs"
	Serving      Stage = "serving"
	FirstRequest Stage = "first_request"
)

// StageLines are lines by which an engine shows that a stage began, or continues.
type StageLines struct {
	Stage Stage
	// Log are RE2 expressions, on lines without their terminal escapes.
	Log []string
}

// StageOf is a function that says which stage a line of the log shows; empty where it
// shows none. Where the kind may be an engine of any other, their lines count.
func (k Kind) StageOf() func(line string) Stage {
	own := []Kind{k}
	if k.Any {
		own = All()
	}
	type shown struct {
		stage Stage
		by    *regexp.Regexp
	}
	var all []shown
	for _, k := range own {
		for _, s := range k.Stages {
			for _, text := range s.Log {
				all = append(all, shown{s.Stage, regexp.MustCompile(text)})
			}
		}
	}
	return func(line string) Stage {
		for _, s := range all {
			if s.by.MatchString(line) {
				return s.stage
			}
		}
		return ""
	}
}
