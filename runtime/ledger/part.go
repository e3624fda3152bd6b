package ledger

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
)

// Part is what a reason of a decision is of.
type Part struct {
	// Of is "level", "criterion", "rule", "confirmation", "feature" or "step"; empty
	// where the reason is of the decision as a whole.
	Of string `json:"of,omitempty"`
	// Name is the level's, the rule's, the feature's; of a step its kind and name, of
	// a confirmation the engine.
	Name string `json:"name,omitempty"`
	// Verdict is the part's own; absent where it was not run or not tried.
	Verdict verdict.Verdict `json:"verdict,omitempty"`
	// Brief is the reason without why a level did not pass, which the level says
	// itself; absent where that is all of it.
	Brief string `json:"brief,omitempty"`
}

// What a part is of, beside the roles of rules.
const (
	OfLevel        = "level"
	OfConfirmation = "confirmation"
	OfFeature      = "feature"
	OfStep         = "step"
)

// Sentence is a reason as one part gives it.
type Sentence struct {
	Text string
	Part Part
}

// Parts are what the reasons of d are of, one for each in their order; nil where all
// are of d as a whole. That is known from what d was joined from, each of which says
// one sentence, and not from words in them: people name rules, and may call one
// "x: pass: y". more are sentences of what d does not hold itself, levels those that
// its rules may name as a cause beside its own.
func (d *Decision) Parts(levels []Level, more ...Sentence) []Part {
	levels = append(slices.Clone(d.Levels), levels...)
	said := append(d.sentences(levels), more...)
	parts, found := make([]Part, len(d.Reasons)), false
	for i, reason := range d.Reasons {
		at := slices.IndexFunc(said, func(s Sentence) bool { return s.Text == reason })
		if at >= 0 {
			parts[i], found = said[at].Part, true
			said = slices.Delete(said, at, at+1)
		} else if short := shortened(reason, levels); d.Kind == KindBenchmark && short != reason {
			parts[i].Brief, found = short, true
		}
	}
	if !found {
		return nil
	}
	return parts
}

func (d *Decision) sentences(levels []Level) (out []Sentence) {
	for _, c := range d.Confirmations {
		out = append(out, Sentence{c.Reason, Part{Of: OfConfirmation, Name: c.Engine, Verdict: c.Verdict}})
	}
	for _, l := range d.Levels {
		part := Part{Of: OfLevel, Name: l.Name, Verdict: l.Verdict}
		out = append(out, Sentence{l.Line(), part}, Sentence{l.Says(), part})
	}
	for _, r := range d.Rules {
		part := Part{Of: r.Role, Name: r.Name, Verdict: r.Verdict}
		if brief := briefly(r, levels).Says(); brief != r.Says() {
			part.Brief = brief
		}
		out = append(out, Sentence{r.Says(), part})
	}
	return out
}

// briefly is a rule that does not say why the levels did not pass that keep it from
// being decided.
func briefly(r Rule, levels []Level) Rule {
	r.Reasons = slices.Clone(r.Reasons)
	for i, reason := range r.Reasons {
		if !slices.ContainsFunc(r.Inputs, func(in Input) bool { return in.Missing != "" && reason == in.Absence() }) {
			continue
		}
		r.Reasons[i] = shortened(reason, levels)
	}
	return r
}

// shortened is a reason whose cause is what a level says, without why.
func shortened(reason string, levels []Level) string {
	for _, l := range levels {
		if before, ok := strings.CutSuffix(reason, ": "+l.Says()); ok && l.Verdict != verdict.Pass {
			return before + ": " + l.is()
		}
	}
	return reason
}

// Says is what a level says where it did not pass: "level kernels is fail: why".
func (l Level) Says() string { return l.is() + verdict.Because(l.Reasons) }

func (l Level) is() string { return fmt.Sprintf("level %s is %s", l.Name, l.Verdict) }

// Line is what the decision about a feature says of a level; why is said by the
// rules that cannot be decided without it.
func (l Level) Line() string { return fmt.Sprintf("level %s: %s", l.Name, l.Verdict) }

// NotConfirmed is what a confirmation says where the other engine came out so.
func NotConfirmed(engine string, v verdict.Verdict, because []string) string {
	return fmt.Sprintf("not confirmed on engine.%s, where it is %s%s", engine, v, verdict.Because(because))
}

// Against are the reasons of a decision that speak against it, and the same in
// brief: all but those of what passed.
func (d *Decision) Against() (reasons, brief []string) {
	parts := d.Parts(nil)
	for i, r := range d.Reasons {
		short := r
		if parts != nil {
			if parts[i].Verdict == verdict.Pass {
				continue
			}
			if parts[i].Brief != "" {
				short = parts[i].Brief
			}
		}
		reasons, brief = append(reasons, r), append(brief, short)
	}
	return reasons, brief
}
