package steps

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/load/coherence"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// valid judges whether complete launches count: each by itself, then the arms
// against each other. An arm whose answers do not read as text has proved
// nothing by being fast, nor one that generated less.
func (l *Lab) valid(launches []*ledger.Launch, vs []*variant, ws []*plans.Workload, rounds int) (verdict.Verdict, []string, error) {
	notes := []string{perArm(rounds)}
	byArm := map[string][]*ledger.Launch{}
	for _, launch := range launches {
		byArm[launch.VariantKey] = append(byArm[launch.VariantKey], launch)
		if len(launch.Invalid) > 0 {
			return verdict.Invalid, reason("launch %s: %s", launch.ID, strings.Join(launch.Invalid, "; ")), nil
		}
	}
	notes = append(notes, notesOf(launches)...)
	for _, v := range vs[1:] {
		if why := countedApart(byArm[vs[0].key], byArm[v.key], vs[0].name, v.name); why != "" {
			return verdict.Invalid, []string{why}, nil
		}
		if why := unequal(byArm[vs[0].key], byArm[v.key], vs[0].name, v.name); why != "" {
			return verdict.Invalid, []string{why}, nil
		}
	}
	for _, w := range ws {
		why, said, err := l.coherence(w, vs, byArm)
		if err != nil {
			return "", nil, err
		}
		if why != "" {
			return verdict.Invalid, []string{why}, nil
		}
		notes = append(notes, said...)
	}
	return verdict.Pass, notes, nil
}

// perArm words how often each arm was launched.
func perArm(rounds int) string { return verdict.Launches(rounds) + " an arm" }

// coherence checks the answers of one workload as it asks for.
func (l *Lab) coherence(w *plans.Workload, vs []*variant, byArm map[string][]*ledger.Launch) (why string, notes []string, err error) {
	switch w.Coherence {
	case "off":
		return "", []string{"answers of " + w.Name + " were not looked at, as the plan declares"}, nil
	case "absolute":
		for _, v := range vs {
			for _, launch := range byArm[v.key] {
				if i := slices.IndexFunc(launch.Incoherent, func(s string) bool { return ofWorkload(s, w) }); i >= 0 {
					return fmt.Sprintf("answers of %s do not read as text: %s, in launch %s", v.name, launch.Incoherent[i], launch.ID), nil, nil
				}
			}
		}
		return "", nil, nil
	}
	parent, err := l.samplesOf(byArm[vs[0].key], w)
	if err != nil {
		return "", nil, err
	}
	for _, v := range vs[1:] {
		candidate, err := l.samplesOf(byArm[v.key], w)
		if err != nil {
			return "", nil, err
		}
		if (len(parent) == 0) != (len(candidate) == 0) {
			none, other := v.name, vs[0].name
			if len(parent) == 0 {
				none, other = other, none
			}
			return fmt.Sprintf("none of the answers of %s to %s is on record, so they cannot be compared with those of %s", none, w.Name, other), nil, nil
		}
		for _, c := range coherence.Relative(parent, candidate) {
			var found []string
			for _, f := range c.Why {
				found = append(found, f.String())
			}
			switch said := strings.Join(found, "; "); {
			case c.Of == 0:
				return fmt.Sprintf("no prompt of %s was answered by both %s and %s, so their answers cannot be compared", c.Cell, vs[0].name, v.name), nil, nil
			case c.Of < fewPrompts:
				mine, theirs := incoherent(byArm[v.key], c.Cell), incoherent(byArm[vs[0].key], c.Cell)
				if len(mine) > len(theirs) {
					return fmt.Sprintf("%d answers of %s to %s do not read as text, against %d of %s: %s", len(mine), v.name, c.Cell, len(theirs), vs[0].name, mine[0]), nil, nil
				}
			case c.Garbage > 0:
				return fmt.Sprintf("answers of %s to %s are worse than those of %s to the same prompts, %d of %d: %s", v.name, c.Cell, vs[0].name, c.Garbage, c.Of, said), nil, nil
			case c.Doubtful > 0:
				notes = append(notes, fmt.Sprintf("answers of %s to %s may be worse than those of %s (%d of %d, which so few cannot show): %s", v.name, c.Cell, vs[0].name, c.Doubtful, c.Of, said))
			}
		}
	}
	return "", notes, nil
}

// fewPrompts is how many prompts it takes to compare how answers are worded:
// with fewer, what no text has is counted on both sides.
const fewPrompts = 6

// incoherent are the answers to a cell that do not read as text.
func incoherent(launches []*ledger.Launch, cell string) (list []string) {
	for _, launch := range launches {
		for _, text := range launch.Incoherent {
			if strings.HasPrefix(text, cell+" ") {
				list = append(list, text)
			}
		}
	}
	return list
}

// ofWorkload reports whether an incoherent answer, as launches record it, is one
// of a workload's.
func ofWorkload(text string, w *plans.Workload) bool {
	cell, _, _ := strings.Cut(text, " ")
	name, _, _ := strings.Cut(cell, ".")
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
