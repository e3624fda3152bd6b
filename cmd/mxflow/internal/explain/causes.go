package explain

import (
	"slices"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

// mostCauses limits a chain of causes.
const mostCauses = 20

// causesOf leads from a decision not made by its own evidence to what made it: the nodes
// it rests on that did not pass, as of then.
func causesOf(st *store.Store, d store.Decided) (causes []verdict.Reason) {
	seen := map[string]bool{d.Node: true}
	var add func(d store.Decided)
	add = func(d store.Decided) {
		for _, node := range restsOn(d) {
			under, ok := asOf(st, node, d.Record)
			if !ok || seen[node] || under.Verdict.Unlocks() || len(causes) >= mostCauses {
				continue
			}
			seen[node] = true
			causes = append(causes, verdict.Say("outcome.was", "{subject} {verdict:did}").On(node).Is(under.Verdict).From(verdict.Few(reasonsOf(under.Decision), 1)...))
			add(under)
		}
	}
	add(d)
	for _, ev := range d.Evidence {
		if ev.Broken != "" && len(causes) == 0 {
			causes = append(causes, verdict.Say("feature.unread",
				"no result of feature {subject} could be read ({verdict})").On(ev.Feature).Is(ev.Broken).From(ev.Cause))
		}
	}
	return causes
}

// restsOn are the nodes that a decision of that kind directly rests on.
func restsOn(d store.Decided) (nodes []string) {
	switch runtime.Kind(d.Kind) {
	case runtime.KindGate, runtime.KindPhase:
		for _, ev := range d.Evidence {
			nodes = append(nodes, runtime.FeatureID(ev.Feature))
		}
	case runtime.KindFeature, runtime.KindCriteria:
		names := []string{runtime.CandidateOf(d.Node)}
		for _, alt := range d.Alternatives {
			names = append(names, alt.Name)
		}
		for _, name := range names {
			nodes = append(nodes, runtime.BenchmarkID(name), runtime.QualifyID(name))
		}
		nodes = append(nodes, runtime.BaselineID)
	case runtime.KindBenchmark:
		nodes = append(nodes, runtime.QualifyID(runtime.CandidateOf(d.Node)), runtime.BaselineID)
	case runtime.KindQualify:
		nodes = append(nodes, runtime.BaselineID)
	}
	return nodes
}

// asOf is the newest decision about a node before a record.
func asOf(st *store.Store, node string, record int) (found store.Decided, ok bool) {
	for _, d := range st.History(node) {
		if d.Record < record {
			found, ok = d, true
		}
	}
	return found, ok
}

// reasonsOf are why a node came out as it did: those of its first level that did not
// pass, else its own.
func reasonsOf(d *ledger.Decision) []verdict.Reason {
	for _, l := range d.Levels {
		if l.Verdict != verdict.Pass {
			return []verdict.Reason{l.WithoutCauses().From(verdict.Few(l.Reasons, 1)...)}
		}
	}
	return d.Why()
}

// lockCauses lead from a lock to the reasons for its root's outcome.
func lockCauses(st *store.Store, cause verdict.Reason) []verdict.Reason {
	d, _, known := st.Latest(cause.Subject)
	if cause.Kind != code.Outcome.Kind || len(cause.Causes) > 0 || !known || d.Verdict != cause.Verdict {
		return []verdict.Reason{cause}
	}
	causes := []verdict.Reason{cause.From(verdict.Few(reasonsOf(d), 3)...)}
	if report.TestsDecided(d) {
		return causes
	}
	history := st.History(cause.Subject)
	return append(causes, causesOf(st, history[len(history)-1])...)
}

// marksOf are people's acts on a decision: that it was withdrawn, and waivers.
func marksOf(st *store.Store, d store.Decided, now time.Time) (marks []verdict.Reason) {
	if r := d.Retraction; r != nil {
		was := r.Was()
		was = was.As(code.Of("explain.was_withdrawn",
			"{causes}; withdrawn: {verdict}{accepted?, accepted} (attempt {attempt}, see --attempt {attempt})"))
		marks = append(marks, was.From(r.Of(d.Node)))
	}
	for _, other := range st.History(d.Node) {
		if r := other.Retraction; r != nil && other.Attempt > d.Attempt && r.Attempt == d.Attempt {
			marks = append(marks, verdict.Say("explain.withdrawn_later", "withdrawn on {when}",
				verdict.Text("when", ledger.Minute(other.Time))).From(r.Of(d.Node)))
			break // later ones carry the same act on
		}
	}
	var waiver *ledger.Waiver
	for _, r := range st.Records() {
		if r.Waiver.About(d.Decision) {
			waiver = r.Waiver
		}
	}
	if bears := waiver.Effect(d.Decision, now); !bears.IsZero() {
		marks = append(marks, verdict.Say("explain.evidence_stays",
			"{causes}; the verdict by evidence remains {verdict}").Is(d.Verdict).From(bears))
	}
	return marks
}

// unmarked are the reasons of a decision that its marks do not contain.
func unmarked(d *ledger.Decision) []verdict.Reason {
	r := d.Retraction
	if r == nil {
		return d.Why()
	}
	return slices.DeleteFunc(d.Why(), func(reason verdict.Reason) bool {
		return reason.Equal(r.Of(d.Node)) || reason.Equal(r.Was())
	})
}
