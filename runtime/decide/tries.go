package decide

import (
	"iter"
	"slices"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// triesOf counts how often a question was asked, including the present session: whether a
// candidate of this name, or this variant, beats its parent at some work. Rules are not
// part of it, so changing one after seeing its numbers asks again, and neither is what
// the feature sets: turning a knob after a fail asks again, too.
//
// Earlier tries are the sessions that could have passed and did not: with fewer launches
// than the two that may be clear by recorded noise none passes, whatever comes of it, and
// after a pass there are no more tries. A session broken off after a look counts.
// Records from the candidate's first launch in its session
// on are ignored, so a replay counts the same. A first try counts 0.
func triesOf(records iter.Seq2[int, *ledger.Record], name, candidate, parent, session, work string) int {
	if candidate == parent || work == "" {
		return 0
	}
	type try struct {
		launches        int
		passed, refused bool
	}
	tries := map[armKey]*try{}
	// By session, its parent: first in its first round, whichever rounds run in parallel with that.
	parents := map[string]string{}
	of := map[string]armKey{} // of launches of the candidate
	for _, r := range records {
		if d := r.Decision; d != nil {
			for _, ev := range d.Evidence {
				if len(ev.Candidate.Launches) == 0 || tries[of[ev.Candidate.Launches[0].ID]] == nil {
					continue
				}
				outcome := d.Verdict
				for _, alt := range d.Alternatives {
					if alt.Name == ev.Candidate.Name {
						outcome = alt.Verdict
					}
				}
				t, passed := tries[of[ev.Candidate.Launches[0].ID]], outcome == verdict.Pass
				t.passed, t.refused = t.passed || passed, t.refused || !passed
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
		if l.VariantKey == parent || l.VariantKey != candidate && l.Variant != name || !Usable(l) {
			continue
		}
		a := armKey{session: l.Session, variant: l.VariantKey}
		if tries[a] == nil {
			tries[a] = &try{}
		}
		tries[a].launches++
		of[l.ID] = a
	}
	n := 0
	for a, t := range tries {
		if parents[a.session] == parent && t.launches >= stats.TwoLaunches && (t.refused || !t.passed) {
			n++
		}
	}
	if n > 0 {
		n++ // with this one
	}
	return n
}

// marks are caveats about the features that rules read: which try it is, if not the
// first, that its launches keep one tune per arm, and what the plan declares of answers.
func marks(evidence []gates.Feature, s gates.Settings) (said []verdict.Reason) {
	for _, f := range evidence {
		if f.Try > 1 {
			said = append(said, gates.TryNote(f.Name, f.Try, s.FalsePass))
		}
		if slices.ContainsFunc(f.Candidate.Launches, func(l gates.Launch) bool { return l.Pinned }) {
			said = append(said, verdict.New(code.TunePinned).On(f.Name))
		}
		if f.Answers.Unchecked {
			said = append(said, verdict.New(code.Unchecked).On(f.Name))
		}
		if f.Answers.Least != nil {
			said = append(said, verdict.New(code.Declared, verdict.Num("least", *f.Answers.Least, "share")).On(f.Name))
		}
	}
	return said
}
