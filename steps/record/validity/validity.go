// Package validity decides whether launches count: each on its own, and those of arms
// compared with each other, by their answers, their amount of work, their observations
// and their environment. A launch that does not count proves nothing, however fast it
// was. It reads launches on record, their samples and the plan's knobs; it starts none,
// and decides no rule.
package validity

import (
	"slices"
	"sync"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/launch"
	"github.com/mxflow/mxflow/steps/variant"
)

// Checker compares launches with each other, for one plan.
type Checker struct {
	Launches *launch.Lab

	// proved caches launches whose evidence was found, see LaunchWithoutEvidence.
	proved sync.Map
	// free are the observations of FreeObservations, worked out once.
	free  []any
	freed sync.Once
}

// Valid judges whether complete launches count: each by itself, then the arms against
// each other. An arm whose answers do not read as text has proved nothing by being fast,
// nor has one that generated less. Of engines of another make than the first arm's, which
// count tokens in their own way, only answers are compared; without answers of the first arm, each must be text.
func (j *Checker) Valid(launches []*ledger.Launch, vs []*variant.Variant, ws []*plans.Workload,
	rounds int,
) (verdict.Verdict, []verdict.Reason, error) {
	notes := []verdict.Reason{verdict.New(code.LaunchesPerArm, verdict.Int("n", rounds))}
	byArm := byKey(launches)
	for _, launch := range launches {
		if len(launch.Invalid) > 0 {
			v, why := decide.NotCounted(launch)
			return v, []verdict.Reason{verdict.New(code.LaunchSays).On(launch.ID).From(why...)}, nil
		}
	}
	alike := slices.DeleteFunc(slices.Clone(vs[1:]), func(v *variant.Variant) bool { return v.Engine != vs[0].Engine })
	for _, v := range alike {
		if why := mixedTokenCounts(byArm[vs[0].Key], byArm[v.Key], vs[0].Name, v.Name); !why.IsZero() {
			return verdict.Invalid, []verdict.Reason{why}, nil
		}
		if why := unequalAmounts(byArm[vs[0].Key], byArm[v.Key], vs[0].Name, v.Name); !why.IsZero() {
			return verdict.Invalid, []verdict.Reason{why}, nil
		}
	}
	for _, w := range ws {
		if vs[len(vs)-1].Command != nil {
			break // it was sent nothing
		}
		if w.Coherence == "baseline" && (vs[0].Command != nil || len(byArm[vs[0].Key]) == 0) {
			alone := *w
			alone.Coherence, w = "absolute", &alone
		}
		why, said, err := j.coherence(w, vs, byArm)
		if err != nil {
			return "", nil, err
		}
		if !why.IsZero() {
			return verdict.Invalid, []verdict.Reason{why}, nil
		}
		notes = append(notes, said...)
	}
	for _, v := range alike {
		why, note := clocks(byArm[vs[0].Key], byArm[v.Key], vs[0].Name, v.Name)
		if !why.IsZero() {
			return verdict.Invalid, []verdict.Reason{why}, nil
		}
		if !note.IsZero() {
			notes = append(notes, note)
		}
	}
	return verdict.Pass, notes, nil
}

// SelfContradiction is how what launches show about themselves contradicts their variants, or
// the launches they are compared with: unproved knobs, settings that differ. No fact if
// nothing does.
func (j *Checker) SelfContradiction(launches []*ledger.Launch, vs []*variant.Variant, protocol string) (verdict.Reason,
	error,
) {
	byArm := byKey(launches)
	for _, v := range vs {
		if why, err := j.LaunchWithoutEvidence(byArm[v.Key], v, protocol); err != nil || !why.IsZero() {
			return why, err
		}
	}
	return j.IncomparableObservations(launches, vs)
}

// NotesOf are the notes of launches, each once, with how many launches have it.
func NotesOf(launches []*ledger.Launch) (notes []verdict.Reason) {
	type having struct {
		note verdict.Reason
		ids  []string
	}
	var all []having
	for _, launch := range launches {
		for _, n := range launch.Notes {
			i := slices.IndexFunc(all, func(h having) bool { return h.note.Equal(n) })
			if i < 0 {
				i, all = len(all), append(all, having{note: n})
			}
			if !slices.Contains(all[i].ids, launch.ID) {
				all[i].ids = append(all[i].ids, launch.ID)
			}
		}
	}
	for _, h := range all {
		said := verdict.Say("launch.note", "{subject}").On(h.ids[0])
		if len(h.ids) > 1 {
			said = verdict.Say("launches.note", "{launches} of {of} launches",
				verdict.Int("launches", len(h.ids)), verdict.Int("of", len(launches)))
		}
		notes = append(notes, said.From(h.note))
	}
	return notes
}

func byKey(launches []*ledger.Launch) map[string][]*ledger.Launch {
	arms := map[string][]*ledger.Launch{}
	for _, launch := range launches {
		arms[launch.VariantKey] = append(arms[launch.VariantKey], launch)
	}
	return arms
}
