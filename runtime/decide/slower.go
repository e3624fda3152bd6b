package decide

import (
	"math"
	"slices"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// leastSlower is by how much a parent must be slower to be worth a note.
const leastSlower = 0.02

// ParentSlower is that a parent is slower beside its candidate than in all of its launches of the same
// work and boot from before the candidate first ran, which may have left something behind that slows
// it. No fact if it is not, or with fewer than two launches on either side.
func ParentSlower(v *View, candidate, parent Arm, used []*ledger.Launch) verdict.Reason {
	var first time.Time // start of the candidate
	var before, after []*ledger.Launch
	for _, l := range used {
		if l.VariantKey == parent.Key {
			after = append(after, l)
		}
	}
	for _, r := range v.records() {
		if l := r.Launch; l != nil && l.VariantKey == candidate.Key && (first.IsZero() || l.Started.Before(first)) {
			first = l.Started
		}
	}
	for _, r := range v.records() {
		l := r.Launch
		if l != nil && len(after) > 0 && l.VariantKey == parent.Key && l.Purpose == ledger.ForBenchmark && Usable(l) &&
			l.Started.Before(first) &&
			l.Work == after[0].Work && l.BootID == after[0].BootID && l.Place.Same(after[0].Place) {
			before = append(before, l)
			after = slices.DeleteFunc(after, func(a *ledger.Launch) bool { return a.ID == l.ID })
		}
	}
	if len(before) < 2 || len(after) < 2 {
		return verdict.Reason{}
	}
	for address := range sorted.All(after[0].Metrics) {
		_, name := measure.SplitAddress(address)
		m, _ := measure.LookupIn(name, measure.PerRequest)
		if !slices.Contains([]measure.Facet{measure.OfDecode, measure.OfFirstText, measure.OfWhole}, m.Facet) {
			continue
		}
		times := func(launches []*ledger.Launch) (all []float64) {
			for _, l := range launches {
				x, known := l.Metrics[address].Stats["median"]
				switch {
				case !known:
					x = math.NaN()
				case m.Better == measure.Higher:
					x = 1 / x
				}
				all = append(all, x)
			}
			return all
		}
		was, wrong := stats.Mean(times(before))
		is, alsoWrong := stats.Mean(times(after))
		if wrong == nil && alsoWrong == nil && is/was-1 >= leastSlower &&
			slices.Min(times(after)) > slices.Max(times(before)) {
			return verdict.Say("parent.slower",
				"{subject} is slower here than in any of its {n|launch|launches} before {other} first ran: {metric} "+
					"by {by} on "+
					"average; if {other} left something behind that slows it, its gain is that",
				verdict.Int("n", len(before)), verdict.Text("other", candidate.Name), verdict.Text("metric", address),
				verdict.Num("by", is/was-1, "share")).On(parent.Name)
		}
	}
	return verdict.Reason{}
}
