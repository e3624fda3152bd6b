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

// dies reports whether a launch broke in a way that its variant may be held to: a
// fresh start of the engine ended by itself, or its log shows that it broke while the
// process stayed. What its log shows to be a mistake of the plan, or of the machine, is
// none, nor what mxflow stopped or could not do.
func dies(l *ledger.Launch) bool {
	if l.OK || l.Engine["fresh"] == "no" {
		return false
	}
	for _, c := range l.Error.Causes {
		if c.Code == code.Diagnosed {
			return !slices.Contains([]string{"config", "driver", "disk"}, c.Args["class"].Text)
		}
	}
	return l.Crashed()
}

// CrashedAgain says that a candidate died in a second fresh launch among those of a
// session, or among those that qualify it and its parent, while none of its parent's
// crashed; no fact where it did not, and where the parent was not launched there: then it
// may be the load or the machine. The second need not stand in the place of the first,
// since what dies now and then, and is launched again each time, picks its own sample.
func CrashedAgain(candidate, parent Arm, launches []*ledger.Launch) (died []*ledger.Launch, why verdict.Reason) {
	others := 0
	for _, l := range launches {
		switch {
		case l.VariantKey == candidate.Key && dies(l):
			died = append(died, l)
		case l.VariantKey == parent.Key && (l.Crashed() || dies(l)):
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

// alike reports whether two launches broke in one way: with the same signature, where
// there is one.
func alike(a, b verdict.Reason) bool {
	if len(a.Causes) == 0 {
		return a.Equal(b)
	}
	return slices.EqualFunc(a.Causes, b.Causes, verdict.Reason.Equal)
}

// MayCrashAgain reports whether a launch that just died is to be made once more, to see
// whether it dies again: its candidate's first that did, where the parent has borne the
// same.
func MayCrashAgain(candidate, parent Arm, launches []*ledger.Launch) bool {
	last := launches[len(launches)-1]
	died, _ := CrashedAgain(candidate, parent, append(slices.Clone(launches), last))
	return last.VariantKey == candidate.Key && dies(last) && len(died) == 2
}

// Crashes are the starts of a variant on this machine that crashed since its last
// launch that counts, in any slot, whoever started it and what for: to qualify it,
// or in a session that was left behind. What is launched after them must not make
// them forgotten. They are those that the next launch of a session counts. A launch of
// another session that a decision rests on has counted those before it; of what is a
// candidate here, only where it was one there too, since what it is the parent of says
// nothing of its own crashes. An error, such as the crash itself makes, is no such
// decision. elsewhere reports whether a run was on another machine.
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
