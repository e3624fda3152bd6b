package decide

import (
	"iter"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Tries counts how often a question was asked, with the session in which it is asked now:
// whether what is called so, or is this variant, does better than its parent at some work.
// The rules are no part of it, so one that is changed after its numbers were seen asks again,
// and neither is what the feature sets: who turns a knob after a fail asks again, too.
//
// Asked before are the sessions that could have passed and did not: with fewer launches
// than the two that may be clear by recorded noise none passes, whatever becomes of it, and after a pass nothing is
// tried until it passes. What was broken off after a look counts, as does what a person
// retracted. Records from the first launch of the candidate in its session on bear on
// nothing, so a replay counts the same. A first try counts 0.
func Tries(records iter.Seq2[int, *ledger.Record], name, candidate, parent, session, work string) int {
	if candidate == parent || work == "" {
		return 0
	}
	tries := map[armKey]*tried{}
	// By session, its parent: first in its first round, whatever rounds stand beside that.
	parents := map[string]string{}
	of := map[string]armKey{} // of launches of the candidate
	for _, r := range records {
		if d := r.Decision; d != nil {
			for _, ev := range d.Evidence {
				if len(ev.Candidate.Launches) == 0 {
					continue
				}
				if t := tries[of[ev.Candidate.Launches[0]]]; t != nil {
					t.came(d, ev)
				}
			}
		}
		l := r.Launch
		if l == nil || l.Purpose != ledger.ForBenchmark || l.Work != work {
			continue
		}
		if l.Session == session && l.VariantKey == candidate {
			break
		}
		if l.Ordinal == 1 && parents[l.Session] == "" {
			parents[l.Session] = l.VariantKey
		}
		if l.VariantKey == parent || l.VariantKey != candidate && l.Variant != name || !Sound(l) {
			continue
		}
		a := armKey{session: l.Session, variant: l.VariantKey}
		if tries[a] == nil {
			tries[a] = &tried{}
		}
		tries[a].launches++
		of[l.ID] = a
	}
	n := 0
	for a, t := range tries {
		if parents[a.session] == parent && t.launches >= stats.Clear && (t.refused || !t.passed) {
			n++
		}
	}
	if n > 0 {
		n++ // with this one
	}
	return n
}

// tried is what became of a session for one candidate.
type tried struct {
	launches        int
	passed, refused bool
}

// came adds a decision that read it.
func (t *tried) came(d *ledger.Decision, ev ledger.Evidence) {
	came := d.Verdict
	for _, alt := range d.Alternatives {
		if alt.Name == ev.Candidate.Name {
			came = alt.Verdict
		}
	}
	if came == verdict.Pass && len(d.OnSeenData) == 0 && d.Retraction == nil {
		t.passed = true
	} else {
		t.refused = true
	}
}

// triedBefore says of every feature that rules read which try it is, where it is not the
// first.
func triedBefore(all *gates.Evidence, s gates.Settings, evidence []ledger.Evidence) (said []verdict.Reason) {
	for _, ev := range evidence {
		if f := all.Features[ev.Feature]; f != nil && f.Try > 1 {
			said = append(said, gates.Tried(ev.Feature, f.Try, s.FalsePass))
		}
	}
	return said
}
