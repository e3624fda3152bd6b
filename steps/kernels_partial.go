package steps

import (
	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/steps/variant"
)

// logBroken reports whether an engine's log could not be followed to this moment.
func logBroken(inst engine.Instance) bool {
	followed, ok := inst.(interface{ LogBroken() bool })
	return ok && followed.LogBroken()
}

// judgePartial is the verdict where the log is not whole: it begins in the
// middle, because the server was running before the launch, or its middle was
// dropped. What is there still speaks, for and against; what is missing says
// nothing.
func judgePartial(why code.Code, wanted []variant.Evidence, seen map[string]logscan.Match, v verdict.Verdict, reasons []verdict.Reason) (verdict.Verdict, []verdict.Reason) {
	excluded := false
	for _, e := range wanted {
		for _, glob := range e.MustNotSee {
			if _, ok := seen[glob]; ok {
				return v, reasons // it was seen, whatever is missing
			}
			excluded = true
		}
	}
	if v == verdict.Fail || v == verdict.Pass && excluded {
		return verdict.Inconclusive, append(verdict.Because(why), reasons...)
	}
	return v, reasons
}
