package steps

import (
	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/gates/verdict"
)

// The reasons why a log is not whole.
const (
	beganBefore = "the server was running before the launch, so its log begins in the middle and what is missing in it proves nothing: with restart in the endpoint block it begins with the start"
	wasCut      = "the log grew so large that its middle was dropped, and what is missing in it proves nothing: let the engine log less"
	brokeOff    = "the connection to the docker daemon broke while the log was followed, and what is missing in it proves nothing: see that the daemon answers, and apply again"
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
func judgePartial(why string, wanted []evidence, seen map[string]logscan.Match, v verdict.Verdict, reasons []string) (verdict.Verdict, []string) {
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
		return verdict.Inconclusive, append([]string{why}, reasons...)
	}
	return v, reasons
}
