package validity

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/answers"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/levels/agreement"
	"github.com/mxflow/mxflow/steps/record"
	"github.com/mxflow/mxflow/steps/variant"
)

// SameWork judges whether arms did the same work for what they claim, once the parent was
// asked (nil if it is not): its tokenizer's count tells more than how much text a token
// covers. For text declared to be nonsense that is only a note. Engines of another make than the parent's are
// not compared.
func (j *Checker) SameWork(launches []*ledger.Launch, vs []*variant.Variant, ws []*plans.Workload,
	asked *agreement.Probes,
) (v verdict.Verdict, notes []verdict.Reason, err error) {
	byArm := byKey(launches)
	for _, w := range ws {
		did := func(v *variant.Variant) (arm answers.Arm, err error) {
			for _, c := range asked.RecountsOf(ids(byArm[v.Key])) {
				arm.Counted = append(arm.Counted,
					answers.Counted{Cell: c.Cell, Prompt: answers.Count(c.Prompt), Answer: answers.Count(c.Answer)})
			}
			arm.Samples, err = j.samplesOf(byArm[v.Key], w)
			return arm, err
		}
		parent, err := did(vs[0])
		if err != nil {
			return "", nil, err
		}
		for _, v := range vs[1:] {
			if v.Engine != vs[0].Engine {
				continue
			}
			candidate, err := did(v)
			if err != nil {
				return "", nil, err
			}
			found, few := answers.CompareWork(parent, candidate, w.SystemTokens > 0)
			for _, cell := range few {
				notes = append(notes, verdict.Say("work.uncompared",
					"{subject}: fewer than {least} answers per arm: the work of {one} and {other} per token was "+
						"not compared",
					verdict.Text("one", v.Name), verdict.Text("other", vs[0].Name),
					verdict.Int("least", answers.Fewest)).On(cell))
			}
			for _, f := range found {
				found := record.WorkOf(f, v.Name, vs[0].Name)
				if w.Coherence != "off" || f.Code == answers.PromptText || f.Code == answers.PromptCount {
					return verdict.Invalid, []verdict.Reason{found}, nil
				}
				notes = append(notes, found)
			}
		}
	}
	return verdict.Pass, notes, nil
}

func ids(launches []*ledger.Launch) (ids []string) {
	for _, l := range launches {
		ids = append(ids, l.ID)
	}
	return ids
}

// samplesAt is the one-sided bound, in standard errors, for taking the likeliest too often, and
// samplesLess how much more often than the parent matters.
const samplesAt, samplesLess = 2.81, 0.02

// AnswerAgreement judges whether a candidate's measured answers are shown to be its parent's
// model's, by what the parent was asked of both.
func AnswerAgreement(asked *agreement.Probes, parent, candidate *variant.Variant, launches []*ledger.Launch,
	declared plans.Answers,
) (verdict.Verdict, []verdict.Reason) {
	byArm := byKey(launches)
	c := agreement.Claim{Own: ids(byArm[parent.Key]), Other: ids(byArm[candidate.Key]), Least: declared.Least}
	r := c.Judge(asked)
	if len(r.Missing) > 0 || len(r.Parts) == 0 {
		return verdict.Inconclusive,
			[]verdict.Reason{verdict.New(code.NotAsked, verdict.Text("other", parent.Name),
				verdict.List("launches", r.Missing)).On(candidate.Name)}
	}
	least := verdict.Num("least", agreement.Margin, "share")
	if declared.Least != nil {
		least = verdict.Num("declared", *declared.Least, "share")
	}
	fact := func(c code.Fact, f agreement.PartResult, more ...verdict.Arg) verdict.Reason {
		args := append(more,
			verdict.Text("other", parent.Name), verdict.Int("agreed", f.Other.Yes), verdict.Int("of", f.Other.Of),
			verdict.Int("own", f.Own.Yes), verdict.Int("own_of", f.Own.Of),
			verdict.Text("cell", f.Cell), least)
		if f.Of != "" {
			args = append(args, verdict.Text("part", f.Of))
		}
		switch { // the one thing that would decide it
		case c != code.AgreementOpen:
		case f.Unsteady:
			args = append(args, verdict.Text("unsteady", "yes"))
		case f.Unreached > f.Other.Of/4:
			args = append(args, verdict.Int("unreached", f.Unreached))
		case f.RecitesMore:
			args = append(args, verdict.Text("recites", "yes"))
		case f.Other.Of >= f.Other.All:
			args = append(args, verdict.Text("all", "yes"))
		case declared.Least == nil:
			args = append(args, verdict.Text("remedy", `level "correctness" { min_agreement = 0.8 }`))
		}
		return verdict.New(c, args...).On(candidate.Name)
	}
	worst := r.Worst()
	if i := slices.IndexFunc(r.Parts, func(f agreement.PartResult) bool { return f.Unsteady }); i >= 0 && !r.Refuted() {
		worst = r.Parts[i]
	}
	switch {
	case r.LookedUp():
		return verdict.Inconclusive, []verdict.Reason{verdict.New(code.LookedUp,
			verdict.Text("other", parent.Name), verdict.Int("agreed", r.Decoys.Yes),
			verdict.Int("of", r.Decoys.Of)).On(candidate.Name)}
	case r.Refuted():
		return verdict.Invalid, []verdict.Reason{fact(code.OtherAnswers, worst)}
	case len(r.SelfDisagrees) > 0:
		return verdict.Inconclusive, []verdict.Reason{fact(code.SelfDisagrees, r.SelfDisagrees[0],
			verdict.Text("remedy", `level "correctness" { answers = "unchecked" }`))}
	case !r.Holds():
		return verdict.Inconclusive, []verdict.Reason{fact(code.AgreementOpen, worst)}
	}
	// What is likeliest is taken more often than it is likely by an engine that does not sample.
	for _, f := range r.Parts {
		if more, _ := f.Other.Excess(f.Own, samplesAt); f.Of == "" && slices.Contains(asked.Sampled, f.Cell) &&
			more > samplesLess {
			return verdict.Inconclusive, []verdict.Reason{fact(code.SamplesLess, f)}
		}
	}
	return verdict.Pass, []verdict.Reason{fact(code.Agrees, r.Least())}
}

// coherence checks that the answers to one workload are text, as it asks for.
func (j *Checker) coherence(w *plans.Workload, vs []*variant.Variant,
	byArm map[string][]*ledger.Launch,
) (why verdict.Reason, notes []verdict.Reason, err error) {
	switch w.Coherence {
	case "off":
		return why, []verdict.Reason{verdict.New(code.Unlooked).On(w.Name)}, nil
	case "absolute":
		for _, v := range vs {
			for _, launch := range byArm[v.Key] {
				if i := slices.IndexFunc(launch.Incoherent, func(r verdict.Reason) bool {
					name, _, _ := strings.Cut(r.Subject, ".") // the address of a cell
					return name == w.Name
				}); i >= 0 {
					return verdict.New(code.AnswersGarbage,
						verdict.Text("launch", launch.ID)).On(v.Name).From(launch.Incoherent[i]), nil, nil
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
			return verdict.Say("answers.unrecorded",
				"no answers of {subject} to {workload} are recorded to compare with those of {other}",
				verdict.Text("workload", w.Name), verdict.Text("other", other)).On(none), nil, nil
		}
		for _, c := range answers.Signs(parent, candidate) {
			var found []verdict.Reason
			for _, f := range c.Why {
				found = append(found, record.FindingOf(f))
			}
			of, cell, other := verdict.Int("of", c.Of), verdict.Text("cell", c.Cell), verdict.Text("other", vs[0].Name)
			switch {
			case c.Of == 0 || c.Parents == 0:
				return verdict.Say("answers.unpaired",
					"{subject} was not answered by both {one} and {other}: nothing to compare",
					verdict.Text("one", vs[0].Name), verdict.Text("other", v.Name)).On(c.Cell), nil, nil
			// A few empty answers may be chance; that there are no others proves nothing.
			case c.Garbage > 0, c.Doubtful == c.Of && len(c.Why) > 0 && c.Why[0].Sign.Code == answers.Empty:
				return verdict.New(code.AnswersWorse,
						verdict.Int("answers", max(c.Garbage, c.Doubtful)), of, cell, other).On(v.Name).From(found...),
					nil,
					nil
			case c.Doubtful > 0:
				notes = append(notes, verdict.Say("answers.maybe_worse",
					"answers of {subject} to {cell} may be worse than those of {other} ({answers} of {of}: too "+
						"few to tell)",
					verdict.Int("answers", c.Doubtful), of, cell, other).On(v.Name).From(found...))
			}
		}
	}
	return why, notes, nil
}

func (j *Checker) samplesOf(launches []*ledger.Launch, w *plans.Workload) (out []measure.Sample, err error) {
	cells := w.Cells()
	for _, launch := range launches {
		if launch.Samples == "" {
			continue
		}
		all, err := j.Launches.Store.ReadSamples(launch)
		if err != nil {
			return nil, fmt.Errorf("the answers of launch %s: %w", launch.ID, err)
		}
		for _, s := range all {
			i := slices.IndexFunc(cells, func(c plans.Cell) bool { return c.Holds(s.Workload) })
			if i >= 0 {
				s.Workload, s.Events = cells[i].Address, nil // arms send other probes
				out = append(out, s)
			}
		}
	}
	return out, nil
}
