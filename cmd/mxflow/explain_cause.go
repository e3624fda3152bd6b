package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

// mostCauses bounds a chain of causes.
const mostCauses = 20

// causesOf leads from a decision that its own evidence did not make to what did:
// the nodes it rests on that did not pass, as they stood then.
func causesOf(st *store.Store, d store.Decided) (causes []string) {
	seen := map[string]bool{d.Node: true}
	var add func(d store.Decided)
	add = func(d store.Decided) {
		for _, node := range restsOn(d) {
			under, ok := asOf(st, node, d.Record)
			if !ok || seen[node] || under.Verdict.Unlocks() || len(causes) >= mostCauses {
				continue
			}
			seen[node] = true
			causes = append(causes, fmt.Sprintf("%s was %s%s", node, under.Verdict, because(reasonsOf(under.Decision), 1)))
			add(under)
		}
	}
	add(d)
	for _, ev := range d.Evidence {
		if ev.Broken != "" && len(causes) == 0 {
			causes = append(causes, fmt.Sprintf("nothing of feature %s could be read (%s): %s", ev.Feature, ev.Broken, ev.Cause))
		}
	}
	return causes
}

// restsOn are the nodes that a decision of that kind rests on directly.
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

// asOf is the newest decision about a node that stands before a record.
func asOf(st *store.Store, node string, record int) (found store.Decided, ok bool) {
	for _, d := range st.History(node) {
		if d.Record < record {
			found, ok = d, true
		}
	}
	return found, ok
}

// reasonsOf are why a node came out as it did: of its first level that did not
// pass, else its own.
func reasonsOf(d *ledger.Decision) []string {
	for _, l := range d.Levels {
		if l.Verdict != verdict.Pass {
			return []string{fmt.Sprintf("level %s is %s%s", l.Name, l.Verdict, because(l.Reasons, 1))}
		}
	}
	return d.Reasons
}

// lockCauses lead from a lock, whose text names the root node and its verdict, to
// why that came out so.
func lockCauses(st *store.Store, cause string) []string {
	node, word, ok := strings.Cut(cause, " is ")
	d, _, known := st.Latest(node)
	if !ok || !known || string(d.Verdict) != word {
		return []string{cause}
	}
	causes := []string{cause + because(reasonsOf(d), 3)}
	history := st.History(node)
	if report.TestsDecided(d) {
		return causes
	}
	return append(causes, causesOf(st, history[len(history)-1])...)
}

// marksOf are what people said of a decision: that it was withdrawn, and waivers.
func marksOf(st *store.Store, d store.Decided, now time.Time) (marks []string) {
	if r := d.Retraction; r != nil {
		marks = append(marks, fmt.Sprintf("%s; what is withdrawn was %s, which --attempt %d explains", r.SaysOf(d.Node), r.Was(), r.Attempt))
	}
	decidedBy := map[int]int{} // by attempt: what only got another hypothesis is one decision
	for _, other := range st.History(d.Node) {
		decidedBy[other.Attempt] = other.DecidedBy()
		if r := other.Retraction; r != nil && other.Attempt > d.Attempt && decidedBy[r.Attempt] == d.DecidedBy() {
			marks = append(marks, fmt.Sprintf("this decision was withdrawn on %s: %s", ledger.Minute(other.Time), r.SaysOf(d.Node)))
			break // later ones carry the same act on
		}
	}
	var waiver *ledger.Waiver
	for _, r := range st.Records() {
		if r.Waiver.About(d.Decision) {
			waiver = r.Waiver
		}
	}
	if says := waiver.Says(d.Decision, now); says != "" {
		marks = append(marks, fmt.Sprintf("%s; the verdict by the evidence stays %s", says, d.Verdict))
	}
	return marks
}

// unmarked are the reasons of a decision that its marks do not say.
func unmarked(d *ledger.Decision) []string {
	r := d.Retraction
	if r == nil {
		return d.Reasons
	}
	return slices.DeleteFunc(slices.Clone(d.Reasons), func(reason string) bool {
		return reason == r.SaysOf(d.Node) || reason == "it was "+r.Was()
	})
}

// atMinute writes a time as people look for it on this machine.
func atMinute(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }
