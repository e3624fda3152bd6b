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
	if !again(len(died), 0) || others == 0 {
		return nil, why
	}
	var ids []string
	var how []verdict.Reason
	for _, l := range died {
		ids = append(ids, l.ID)
		how = append(how, verdict.New(code.CrashIs).On(l.ID).From(l.Error))
	}
	first := died[0].Error
	if !slices.ContainsFunc(died, func(l *ledger.Launch) bool { return !sameCrash(l.Error, first) }) {
		how = []verdict.Reason{first}
	}
	return died, verdict.New(code.CrashedAgain, verdict.List("launches", ids), verdict.Text("other", parent.Name),
		verdict.Int("other_launches", others)).On(candidate.Name).From(how...)
}

// again reports whether something befell a candidate again that never befell its parent: once
// may be chance.
func again(own, others int) bool { return own >= 2 && others == 0 }

// muchOftener is how many more launches of one arm than of another an interruption, which may be a
// person's, must have hit.
const muchOftener = 3

// CutOff is how many starts of a session's arms were cut off by the end of mxflow, up to the last
// of these launches, and whether that keeps the candidate from passing: if mxflow was killed again
// in its launches and in none of its parent's, or they were cut off much oftener. No fact if none was.
func CutOff(v *View, candidate, parent Arm, launches []*ledger.Launch) (why verdict.Reason, often bool) {
	if len(launches) == 0 || parent.Key == "" {
		return why, false
	}
	// An end cuts off all that ran side by side, so ends and kills count those of mxflow, not of launches.
	type count struct{ starts, cut, killed, ends, kills int }
	counts := map[string]*count{candidate.Key: {}, parent.Key: {}}
	missing := map[string]bool{}
	for _, l := range launches {
		missing[l.ID] = true
	}
	open, runs := map[string]*ledger.Start{}, map[string]string{} // by launch
	for _, r := range v.records() {
		switch start := r.Start; {
		case start != nil && start.Session == launches[0].Session && counts[start.VariantKey] != nil:
			counts[start.VariantKey].starts++
			open[start.Launch], runs[start.Launch] = start, r.Run
		case r.Launch != nil:
			delete(open, r.Launch.ID)
			delete(missing, r.Launch.ID)
		case r.End != nil:
			killed, hit := r.End.Reason.Kind == code.Abandoned.Kind, map[*count]bool{}
			for id, start := range open {
				if runs[id] != r.Run {
					continue
				}
				c := counts[start.VariantKey]
				if c.cut++; killed {
					c.killed++
				}
				hit[c] = true
				delete(open, id)
			}
			for c := range hit {
				if c.ends++; killed {
					c.kills++
				}
			}
		}
		if len(missing) == 0 {
			break
		}
	}
	own, other := counts[candidate.Key], counts[parent.Key]
	if own.cut+other.cut == 0 {
		return why, false
	}
	often = again(own.kills, other.kills) || own.ends-other.ends >= muchOftener
	args := []verdict.Arg{
		verdict.Int("n", own.cut), verdict.Int("of", own.starts),
		verdict.Text("other", parent.Name), verdict.Int("other_n", other.cut), verdict.Int("other_of", other.starts),
	}
	if own.killed+other.killed > 0 {
		args = append(args, verdict.Int("killed", own.killed), verdict.Int("other_killed", other.killed))
	}
	if often {
		args = append(args, verdict.Text("often", "yes"))
	}
	return verdict.New(code.CutOff, args...).On(candidate.Name), often
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
