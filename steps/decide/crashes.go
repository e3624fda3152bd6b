package decide

import (
	"iter"
	"maps"
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// dies reports whether a launch broke in a way attributable to its variant: a fresh start
// of the engine ended by itself, or its log shows that it broke although the process
// stayed. Mistakes of the plan or the machine do not count, nor what mxflow stopped or
// could not do.
func dies(l *ledger.Launch) bool {
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
		case l.VariantKey == candidate.Key && dies(l):
			died = append(died, l)
		case l.VariantKey == parent.Key && !l.OK && (l.Exit != nil || dies(l)):
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
		how = append(how, verdict.New(code.CrashIs).On(l.ID).From(l.Error))
	}
	first := died[0].Error
	if !slices.ContainsFunc(died, func(l *ledger.Launch) bool { return !alike(l.Error, first) }) {
		how = []verdict.Reason{first}
	}
	return died, verdict.New(code.CrashedAgain, verdict.List("launches", ids), verdict.Text("other", parent.Name), verdict.Int("other_launches", others)).On(candidate.Name).From(how...)
}

// alike reports whether two launches broke in the same way: with the same signature, if
// there is one.
func alike(a, b verdict.Reason) bool {
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
	return last.VariantKey == candidate.Key && dies(last) && len(died) == 2
}

// Crashes returns the starts of a variant on this machine that crashed since its last
// launch that counts, in any slot, whoever started it and why: to qualify it, or in an
// abandoned session. Later launches must not hide them; the next launch of a session
// counts them. A launch of another session that a decision rests on has counted those
// before it; for a candidate, only if it was a candidate there too, since being a parent
// says nothing about its own crashes. An error, such as a crash itself causes, is not
// such a decision. elsewhere reports whether a run was on another machine.
func Crashes(records iter.Seq2[int, *ledger.Record], variant, session string, candidate bool, elsewhere func(*ledger.RunStart) bool) []*ledger.Launch {
	type candidates []map[string]string
	decided, foreign := map[string]candidates{}, map[string]bool{} // by launch, by run
	for _, r := range records {
		switch {
		case r.RunStart != nil:
			foreign[r.Run] = elsewhere(r.RunStart)
		case r.Decision != nil && r.Decision.Kind == string(runtime.KindBenchmark) && r.Decision.Verdict == verdict.Pass:
			for _, id := range r.Decision.Launches {
				decided[id] = append(decided[id], r.Decision.Variant)
			}
		}
	}
	counts := func(launch *ledger.Launch) bool {
		return launch.Purpose == ledger.ForBenchmark && (!candidate || slices.ContainsFunc(decided[launch.ID], func(knobs map[string]string) bool {
			return maps.Equal(knobs, launch.Knobs)
		}))
	}
	var own, other []*ledger.Launch
	for _, r := range records {
		launch := r.Launch
		if launch == nil || launch.VariantKey != variant || foreign[r.Run] {
			continue
		}
		switch here := launch.Session == session; {
		case launch.Crashed() && here:
			own = append(own, launch)
		case launch.Crashed():
			other = append(other, launch)
		case Sound(launch) && here:
			own, other = nil, nil
		case Sound(launch) && counts(launch):
			other = nil
		}
	}
	return append(other, own...)
}
