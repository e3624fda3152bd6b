package decide

import (
	"iter"
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// isEngineCrash reports whether a launch broke in a way attributable to its variant: a fresh start
// of the engine ended by itself, or its log shows that it broke although the process
// stayed. Mistakes of the plan or the machine do not count, nor what mxflow stopped or
// could not do.
func isEngineCrash(l *ledger.Launch) bool {
	if l.OK || l.Engine["fresh"] == "no" || l.Excused() {
		return false
	}
	return l.Exit != nil || l.Failure == ledger.FailureEngine
}

// CrashedAgain reports that a candidate crashed in a second fresh launch among those of a
// session, or among those that qualify it and its parent, while none of its parent's did;
// no fact if it did not, or if the parent was not launched there: then it may be the load
// or the machine. The second need not replace the first: an engine that crashes now and
// then, and is relaunched each time, would pick its own sample.
func CrashedAgain(candidate, parent Arm, launches []*ledger.Launch) (died []*ledger.Launch, why verdict.Reason) {
	others := 0
	for _, l := range launches {
		switch {
		case l.VariantKey == candidate.Key && isEngineCrash(l):
			died = append(died, l)
		case l.VariantKey == parent.Key && !l.OK && (l.Exit != nil || isEngineCrash(l)):
			return nil, why
		case l.VariantKey == parent.Key && l.OK:
			others++
		}
	}
	if len(died) < 2 || others == 0 {
		return nil, why
	}
	var ids []string
	var how []verdict.Reason
	for _, l := range died {
		ids = append(ids, l.ID)
		how = append(how, verdict.Say("session.crash_is", "{subject}").On(l.ID).From(l.Error))
	}
	first := died[0].Error
	if !slices.ContainsFunc(died, func(l *ledger.Launch) bool { return !sameCrash(l.Error, first) }) {
		how = []verdict.Reason{first}
	}
	return died, verdict.New(code.CrashedAgain, verdict.List("launches", ids), verdict.Text("other", parent.Name), verdict.Int("other_launches", others)).On(candidate.Name).From(how...)
}

// sameCrash reports whether two launches broke in the same way: with the same signature, if
// there is one.
func sameCrash(a, b verdict.Reason) bool {
	if len(a.Causes) == 0 {
		return a.Equal(b)
	}
	return slices.EqualFunc(a.Causes, b.Causes, verdict.Reason.Equal)
}

// MayCrashAgain reports whether a launch that just crashed is repeated to see whether it
// crashes again: the first crash of its candidate, if the parent survived the same.
func MayCrashAgain(candidate, parent Arm, launches []*ledger.Launch) bool {
	last := launches[len(launches)-1]
	died, _ := CrashedAgain(candidate, parent, append(slices.Clone(launches), last))
	return last.VariantKey == candidate.Key && isEngineCrash(last) && len(died) == 2
}

// Crashes returns the starts of a variant that crashed since its last launch that was
// measured and counts, whoever started it and why: to qualify it, or in an abandoned
// session. Later launches must not hide them; its next launch counts them.
func Crashes(records iter.Seq2[int, *ledger.Record], variant string) (crashed []*ledger.Launch) {
	for _, r := range records {
		switch l := r.Launch; {
		case l == nil || l.VariantKey != variant:
		case l.Crashed():
			crashed = append(crashed, l)
		case Usable(l) && l.Purpose == ledger.ForBenchmark:
			crashed = nil
		}
	}
	return crashed
}
