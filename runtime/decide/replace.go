package decide

import (
	"slices"

	"github.com/mxflow/mxflow/runtime/ledger"
)

// Usable reports whether a launch may be evidence: one that broke or was disturbed is
// recorded with its cause, and another replaces it.
func Usable(launch *ledger.Launch) bool { return launch.OK && len(launch.Invalid) == 0 }

// Lost reports whether it is unknown how a launch ended, because what made it on another
// machine is gone: another may replace it.
func Lost(launch *ledger.Launch) bool { return !launch.OK && launch.Failure == ledger.FailureLost }

// maxReplaced is how often one slot is launched again because the machine disturbed it,
// or lost it: beyond that, the machine is not fit to measure on.
const maxReplaced = 2

// Replaced reports whether the latest launch of a slot is replaced by another, given all
// that it has. This is the only policy for a launch that was lost or disturbed, whatever
// it was for; a crash is replaced only if that decides a candidate (MayCrashAgain).
func Replaced(slot []*ledger.Launch) bool {
	if len(slot) == 0 {
		return false
	}
	unsound := 0
	for _, l := range slot {
		if !Usable(l) { // others were left on a place that was lost
			unsound++
		}
	}
	last := slot[len(slot)-1]
	return (Lost(last) || last.OK && last.Disturbed) && unsound <= maxReplaced
}

// lacks reports whether a slot must be launched: it was not, or its latest launch is
// replaced.
func lacks(slot []*ledger.Launch) bool {
	return len(slot) == 0 || !slices.ContainsFunc(slot, Usable) && Replaced(slot)
}
