package steps

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/load/coherence"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/record"
	"github.com/mxflow/mxflow/steps/variant"
)

// valid judges whether complete launches count: each by itself, then the arms
// against each other. An arm whose answers do not read as text has proved
// nothing by being fast, nor one that generated less.
func (l *Lab) valid(launches []*ledger.Launch, vs []*variant.Variant, ws []*plans.Workload, rounds int) (verdict.Verdict, []verdict.Reason, error) {
	notes := []verdict.Reason{perArm(rounds)}
	byArm := map[string][]*ledger.Launch{}
	for _, launch := range launches {
		byArm[launch.VariantKey] = append(byArm[launch.VariantKey], launch)
		if len(launch.Invalid) > 0 {
			return verdict.Invalid, []verdict.Reason{verdict.New(code.LaunchSays).On(launch.ID).From(launch.Invalid...)}, nil
		}
	}
	notes = append(notes, notesOf(launches)...)
	for _, v := range vs[1:] {
		if why := countedApart(byArm[vs[0].Key], byArm[v.Key], vs[0].Name, v.Name); !why.IsZero() {
			return verdict.Invalid, []verdict.Reason{why}, nil
		}
		if why := unequal(byArm[vs[0].Key], byArm[v.Key], vs[0].Name, v.Name); !why.IsZero() {
			return verdict.Invalid, []verdict.Reason{why}, nil
		}
	}
	for _, w := range ws {
		why, said, err := l.coherence(w, vs, byArm)
		if err != nil {
			return "", nil, err
		}
		if !why.IsZero() {
			return verdict.Invalid, []verdict.Reason{why}, nil
		}
		notes = append(notes, said...)
	}
	return verdict.Pass, notes, nil
}

// perArm is how often each arm was launched.
func perArm(rounds int) verdict.Reason {
	return verdict.New(code.LaunchesPerArm, verdict.Int("n", rounds))
}

// coherence checks the answers of one workload as it asks for.
func (l *Lab) coherence(w *plans.Workload, vs []*variant.Variant, byArm map[string][]*ledger.Launch) (why verdict.Reason, notes []verdict.Reason, err error) {
	switch w.Coherence {
	case "off":
		return why, []verdict.Reason{verdict.New(code.Unlooked).On(w.Name)}, nil
	case "absolute":
		for _, v := range vs {
			for _, launch := range byArm[v.Key] {
				if i := slices.IndexFunc(launch.Incoherent, func(r verdict.Reason) bool { return ofWorkload(r, w) }); i >= 0 {
					return verdict.New(code.AnswersGarbage, verdict.Text("launch", launch.ID)).On(v.Name).From(launch.Incoherent[i]), nil, nil
				}
			}
		}
		return why, nil, nil
	}
	parent, err := l.samplesOf(byArm[vs[0].Key], w)
	if err != nil {
		return why, nil, err
	}
	for _, v := range vs[1:] {
		candidate, err := l.samplesOf(byArm[v.Key], w)
		if err != nil {
			return why, nil, err
		}
		if (len(parent) == 0) != (len(candidate) == 0) {
			none, other := v.Name, vs[0].Name
			if len(parent) == 0 {
				none, other = other, none
			}
			return verdict.New(code.Unrecorded, verdict.Text("workload", w.Name), verdict.Text("other", other)).On(none), nil, nil
		}
		for _, c := range coherence.Relative(parent, candidate) {
			var found []verdict.Reason
			for _, f := range c.Why {
				found = append(found, record.FindingOf(f))
			}
			of, cell, other := verdict.Int("of", c.Of), verdict.Text("cell", c.Cell), verdict.Text("other", vs[0].Name)
			switch {
			case c.Of == 0:
				return verdict.New(code.Unpaired, verdict.Text("one", vs[0].Name), verdict.Text("other", v.Name)).On(c.Cell), nil, nil
			case c.Of < fewPrompts:
				mine, theirs := incoherent(byArm[v.Key], c.Cell), incoherent(byArm[vs[0].Key], c.Cell)
				if len(mine) > len(theirs) {
					return verdict.New(code.MoreGarbage, verdict.Int("answers", len(mine)), cell, verdict.Int("theirs", len(theirs)), other).On(v.Name).From(mine[0]), nil, nil
				}
			case c.Garbage > 0:
				return verdict.New(code.Worse, verdict.Int("answers", c.Garbage), of, cell, other).On(v.Name).From(found...), nil, nil
			case c.Doubtful > 0:
				notes = append(notes, verdict.New(code.MaybeWorse, verdict.Int("answers", c.Doubtful), of, cell, other).On(v.Name).From(found...))
			}
		}
	}
	return why, notes, nil
}

// fewPrompts is how many prompts it takes to compare how answers are worded:
// with fewer, what no text has is counted on both sides.
const fewPrompts = 6

// incoherent are the answers to a cell that do not read as text.
func incoherent(launches []*ledger.Launch, cell string) (list []verdict.Reason) {
	for _, launch := range launches {
		for _, r := range launch.Incoherent {
			if r.Subject == cell {
				list = append(list, r)
			}
		}
	}
	return list
}

// ofWorkload reports whether an incoherent answer, as launches record it, is one
// of a workload's, whose name is the beginning of the addresses of its cells.
func ofWorkload(answer verdict.Reason, w *plans.Workload) bool {
	name, _, _ := strings.Cut(answer.Subject, ".")
	return name == w.Name
}

// samplesOf reads the samples that launches sent of a workload.
func (l *Lab) samplesOf(launches []*ledger.Launch, w *plans.Workload) (out []measure.Sample, err error) {
	cells := map[string]bool{}
	for _, c := range w.Cells() {
		cells[c.Address] = true
	}
	for _, launch := range launches {
		if launch.Samples == "" {
			continue
		}
		all, err := l.Store.ReadSamples(launch.Samples)
		if err != nil {
			return nil, fmt.Errorf("the answers of launch %s: %w", launch.ID, err)
		}
		for _, s := range all {
			if cells[s.Workload] {
				s.Events = nil
				out = append(out, s)
			}
		}
	}
	return out, nil
}
