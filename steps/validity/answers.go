package validity

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/load/coherence"
	"github.com/mxflow/mxflow/engine/load/work"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/record"
	"github.com/mxflow/mxflow/steps/variant"
)

// work reports how an arm's answers to a workload show that it did other work than its
// parent; no fact if they do not. For text declared to be nonsense that is only a note:
// how much of it a token covers says little.
func (j *Judge) work(w *plans.Workload, vs []*variant.Variant, byArm map[string][]*ledger.Launch) (why verdict.Reason, notes []verdict.Reason, err error) {
	did := func(v *variant.Variant) (arm work.Arm, err error) {
		arm.Samples, err = j.samplesOf(byArm[v.Key], w)
		arm.Counted = countedAgain(byArm[vs[0].Key], byArm[v.Key])
		return arm, err
	}
	parent, err := did(vs[0])
	if err != nil {
		return why, nil, err
	}
	for _, v := range vs[1:] {
		candidate, err := did(v)
		if err != nil {
			return why, nil, err
		}
		found, few := work.Compare(parent, candidate)
		for _, cell := range few {
			notes = append(notes, verdict.New(code.WorkUncompared, verdict.Text("one", v.Name), verdict.Text("other", vs[0].Name), verdict.Int("least", work.Fewest)).On(cell))
		}
		for _, f := range found {
			found := record.WorkOf(f, v.Name, vs[0].Name)
			if w.Coherence != "off" || f.Code == work.PromptText || f.Code == work.PromptCount {
				return found, nil, nil
			}
			notes = append(notes, found)
		}
	}
	return why, notes, nil
}

// countedAgain is the parent's token count of what an arm's launches were sent and
// answered.
func countedAgain(parent, arm []*ledger.Launch) (counted []work.Counted) {
	of := map[string]bool{}
	for _, l := range arm {
		of[l.ID] = true
	}
	for _, l := range parent {
		for _, look := range l.Looks {
			if of[look.Launch] {
				counted = append(counted, work.Counted{Cell: look.Cell, Prompt: work.Count(look.Prompt), Answer: work.Count(look.Answer)})
			}
		}
	}
	return counted
}

// agree compares the candidates' answers with their parent's to the same requests: cell
// by cell, as an engine may do the work only in some, and how answers start separately
// from how they continue, as it may do one part: why it is not an answer of the parent's
// model, or what is unknown.
func agree(vs []*variant.Variant, byArm map[string][]*ledger.Launch, ws []*plans.Workload) (why verdict.Reason, notes []verdict.Reason) {
	// If the plan declares that answers are not examined, that is reported separately.
	looked := slices.ContainsFunc(ws, func(w *plans.Workload) bool { return w.Coherence != "off" })
	arm := map[string]string{}
	for key, launches := range byArm {
		for _, l := range launches {
			arm[l.ID] = key
		}
	}
	const all, beginning, rest = "", "beginning", "rest"
	type part struct{ cell, of string }
	looks := map[part]map[string][]work.Look{{}: {}} // by arm
	for _, l := range byArm[vs[0].Key] {
		for _, look := range l.Looks {
			own := part{look.Cell, beginning}
			if look.At > 0 {
				own.of = rest
			}
			for _, in := range []part{own, {look.Cell, all}, {all, own.of}, {}} {
				if looks[in] == nil {
					looks[in] = map[string][]work.Look{}
				}
				key := arm[look.Launch]
				looks[in][key] = append(looks[in][key], work.Look{Was: look.Was, Is: look.Is, Took: look.Took})
			}
		}
	}
	order := slices.SortedFunc(maps.Keys(looks), func(a, b part) int {
		return cmp.Or(cmp.Compare(a.cell, b.cell), cmp.Compare(a.of, b.of))
	})
	for _, v := range vs[1:] {
		for _, in := range order {
			a, fast := work.Agree(looks[in][vs[0].Key], looks[in][v.Key]), work.Halve(looks[in][v.Key])
			cell, whole := in.cell, in == part{}
			args := []verdict.Arg{verdict.Text("other", vs[0].Name), verdict.Int("agreed", a.Other), verdict.Int("of", a.OtherOf), verdict.Int("own", a.Own), verdict.Int("own_of", a.OwnOf)}
			if cell != all {
				args = append(args, verdict.Text("cell", cell))
			}
			if in.of != all {
				args = append(args, verdict.Text("part", in.of))
			}
			switch {
			case a.Unlike():
				return verdict.New(code.OtherAnswers, args...).On(v.Name), nil
			case cell != all && in.of == all && fast.Split(work.Halve(looks[in][vs[0].Key])):
				return verdict.New(code.FastOthers, verdict.Text("cell", cell), verdict.Text("other", vs[0].Name),
					verdict.Int("fast", fast.Fast), verdict.Int("fast_of", fast.FastOf), verdict.Int("slow", fast.Slow), verdict.Int("slow_of", fast.SlowOf)).On(v.Name), nil
			case whole && a.OwnOf+a.OtherOf == 0 && looked:
				notes = append(notes, verdict.New(code.NotAsked, args[0]).On(v.Name))
			case whole && !a.Known() && looked:
				notes = append(notes, verdict.New(code.NotAsked, args...).On(v.Name))
			}
		}
	}
	return why, notes
}

// coherence checks the answers of one workload as it asks for.
func (j *Judge) coherence(w *plans.Workload, vs []*variant.Variant, byArm map[string][]*ledger.Launch) (verdict.Reason, []verdict.Reason, error) {
	return j.answered(w, vs, byArm, coherence.Relative)
}

// answered is coherence, with arms compared by held if the workload asks for that.
func (j *Judge) answered(w *plans.Workload, vs []*variant.Variant, byArm map[string][]*ledger.Launch, held func(parent, candidate []measure.Sample) []coherence.Coherence) (why verdict.Reason, notes []verdict.Reason, err error) {
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
	parent, err := j.samplesOf(byArm[vs[0].Key], w)
	if err != nil {
		return why, nil, err
	}
	for _, v := range vs[1:] {
		candidate, err := j.samplesOf(byArm[v.Key], w)
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
		for _, c := range held(parent, candidate) {
			var found []verdict.Reason
			for _, f := range c.Why {
				found = append(found, record.FindingOf(f))
			}
			of, cell, other := verdict.Int("of", c.Of), verdict.Text("cell", c.Cell), verdict.Text("other", vs[0].Name)
			switch {
			case c.Of == 0 || c.Parents == 0:
				return verdict.New(code.Unpaired, verdict.Text("one", vs[0].Name), verdict.Text("other", v.Name)).On(c.Cell), nil, nil
			// A few empty answers may be chance; that there are no others proves nothing.
			case c.Garbage > 0, c.Doubtful == c.Of && len(c.Why) > 0 && c.Why[0].Sign.Code == coherence.Empty:
				return verdict.New(code.Worse, verdict.Int("answers", max(c.Garbage, c.Doubtful)), of, cell, other).On(v.Name).From(found...), nil, nil
			case c.Doubtful > 0:
				notes = append(notes, verdict.New(code.MaybeWorse, verdict.Int("answers", c.Doubtful), of, cell, other).On(v.Name).From(found...))
			}
		}
	}
	return why, notes, nil
}

// ofWorkload reports whether an incoherent answer, as launches record it, is from a
// workload, whose name starts the addresses of its cells.
func ofWorkload(answer verdict.Reason, w *plans.Workload) bool {
	name, _, _ := strings.Cut(answer.Subject, ".")
	return name == w.Name
}

// samplesOf reads launches' samples of a workload.
func (j *Judge) samplesOf(launches []*ledger.Launch, w *plans.Workload) (out []measure.Sample, err error) {
	cells := map[string]bool{}
	for _, c := range w.Cells() {
		cells[c.Address] = true
	}
	for _, launch := range launches {
		if launch.Samples == "" {
			continue
		}
		all, err := j.Store.ReadSamples(launch)
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
