package steps

import (
	"context"
	"maps"
	"slices"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// decideChoice decides each alternative of a feature that chooses by the feature's
// criteria, and admits the best of those that pass. That one pass is enough makes
// it an or: each alternative has its part of the chance of a false pass, and for a
// fail all have to fail, which needs no correction.
type decideChoice struct {
	lab     *Lab
	feature *plans.Feature
}

func (d *decideChoice) Keys(s *runtime.Scope) (runtime.Keys, error) {
	measured := []any{"choice"}
	decided := []any{"choice", choosingVersion, d.feature.Choose.Prefer}
	for _, f := range d.feature.Alternatives {
		keys, err := (&decideFeature{lab: d.lab, feature: f}).Keys(s)
		if err != nil {
			return keys, err
		}
		measured = append(measured, f.Name, keys.Measure)
		decided = append(decided, f.Name, keys.Decide)
	}
	return runtime.Keys{Measure: runtime.Digest(measured), Decide: runtime.Digest(decided), Claim: claimKey(d.feature)}, nil
}

// choosingVersion changes when the same alternatives would be chosen among in
// another way.
const choosingVersion = 1

// alternative is one candidate as it was decided.
type alternative struct {
	feature  *plans.Feature
	decision *ledger.Decision
	// gain is by how much it is better than its parent in the preferred metric, nil
	// where that was not measured.
	gain *float64
}

func (d *decideChoice) Run(ctx context.Context, s *runtime.Scope) (*ledger.Decision, error) {
	f := d.feature
	var all []*alternative
	for _, a := range f.Alternatives {
		decision, err := (&decideFeature{lab: d.lab, feature: a}).Run(ctx, s)
		if err != nil {
			return nil, err
		}
		c := &alternative{feature: a, decision: decision}
		if c.gain, err = d.gain(s, a); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	best := better(all)
	out := *best.decision
	out.Verdict = verdictOf(all)
	out.Accepted = out.Verdict == verdict.Pass && best.decision.Accepted
	out.Reasons = append([]verdict.Reason{d.reason(all, best, out.Verdict)}, out.Reasons...)
	out.Launches = nil
	for _, c := range all {
		for _, id := range c.decision.Launches {
			if !slices.Contains(out.Launches, id) {
				out.Launches = append(out.Launches, id)
			}
		}
		out.Alternatives = append(out.Alternatives, ledger.Alternative{
			Name: c.feature.Name, Set: maps.Clone(c.feature.Set), Verdict: c.decision.Verdict,
			Chosen:  c == best && out.Verdict == verdict.Pass,
			Reasons: c.decision.Reasons, Rules: c.decision.Rules,
		})
		for _, e := range c.decision.Evidence {
			// Under its own name too, so that every alternative can be decided again.
			e.Feature = c.feature.Name
			out.Evidence = append(out.Evidence, e)
		}
	}
	var err error
	out.Hypothesis, err = d.claimed(s, best.feature, &out)
	return &out, err
}

// gain is by how much an alternative is better than its parent in the preferred
// metric.
func (d *decideChoice) gain(s *runtime.Scope, f *plans.Feature) (*float64, error) {
	ev, _, err := d.lab.evidenceOf(s, f)
	if err != nil {
		return nil, err
	}
	all := &gates.Evidence{Features: map[string]*gates.Feature{d.feature.Name: ev}}
	return preferred(d.feature.Choose, all, d.lab.settings(f)), nil
}

// preferred is the gain in the metric by which a choice picks its winner, by the
// evidence on one alternative; nil where that was not measured.
func preferred(c *plans.Choose, ev *gates.Evidence, s gates.Settings) *float64 {
	if c == nil || c.Probe == nil {
		return nil
	}
	rule := gates.Decide([]*plans.Rule{c.Probe}, ev, s)[0]
	if len(rule.Inputs) != 1 {
		return nil
	}
	return rule.Inputs[0].Value
}

// claimed holds the feature's claim against what stands for it.
func (d *decideChoice) claimed(s *runtime.Scope, best *plans.Feature, rests *ledger.Decision) (*ledger.Hypothesis, error) {
	if d.feature.Hypothesis == nil {
		return nil, nil
	}
	ev, _, err := d.lab.evidenceOf(s, best)
	if err != nil {
		return nil, err
	}
	all := &gates.Evidence{Features: map[string]*gates.Feature{d.feature.Name: ev}}
	return d.lab.claimed(s, d.feature, all, rests), nil
}

// verdictOf is the verdict of a choice: pass where one passes, fail where all that
// count fail. An alternative that is invalid drops out; where all are, nothing was
// shown. One whose engine or harness broke may still be the best.
func verdictOf(all []*alternative) verdict.Verdict {
	of := map[verdict.Verdict]int{}
	for _, c := range all {
		of[c.decision.Verdict]++
	}
	switch n := len(all) - of[verdict.Invalid]; {
	case of[verdict.Pass] > 0:
		return verdict.Pass
	case n == 0:
		return verdict.Invalid
	case of[verdict.Fail]+of[verdict.Inconclusive] < n:
		return verdict.Error
	case of[verdict.Fail] == n:
		return verdict.Fail
	}
	return verdict.Inconclusive
}

// better is the winner: of those that pass, the one with the largest gain in the
// preferred metric. Where none passes it is the one to show and to build on, in
// the order inconclusive, fail, broken. The plan's order breaks ties.
func better(all []*alternative) *alternative {
	rank := func(c *alternative) int {
		for i, v := range []verdict.Verdict{verdict.Pass, verdict.Inconclusive, verdict.Fail, verdict.Invalid} {
			if c.decision.Verdict == v {
				return i
			}
		}
		return 4
	}
	best := all[0]
	for _, c := range all[1:] {
		switch {
		case rank(c) != rank(best):
			if rank(c) < rank(best) {
				best = c
			}
		case c.gain != nil && (best.gain == nil || *c.gain > *best.gain):
			best = c
		}
	}
	return best
}

// reason is the choice as a fact. Its gains are of all launches, and a criterion on the
// same metric reads those up to the look that decided it.
func (d *decideChoice) reason(all []*alternative, best *alternative, v verdict.Verdict) verdict.Reason {
	choose := d.feature.Choose
	var others []verdict.Reason
	rivals := 0
	for _, c := range all {
		if c == best {
			continue
		}
		if c.decision.Verdict == verdict.Pass {
			rivals++
		}
		others = append(others, d.came(c))
	}
	metric := verdict.Text("metric", choose.Prefer)
	if v != verdict.Pass {
		return verdict.New(code.NoneWins, verdict.Text("knob", choose.Knob), metric).On(best.feature.Name).From(append([]verdict.Reason{d.came(best)}, others...)...)
	}
	args := append(gainOf(best), metric)
	if rivals > 0 && best.gain == nil {
		args = append(args, verdict.Text("first", "yes"))
	}
	return verdict.New(code.Wins, args...).On(d.value(best)).From(others...)
}

// came is how one alternative came out.
func (d *decideChoice) came(c *alternative) verdict.Reason {
	return verdict.New(code.Alternative, gainOf(c)...).On(d.value(c)).Is(c.decision.Verdict)
}

func (d *decideChoice) value(c *alternative) string { return c.feature.Set[d.feature.Choose.Knob] }

func gainOf(c *alternative) []verdict.Arg {
	if c.gain == nil {
		return nil
	}
	return []verdict.Arg{verdict.Num("gain", *c.gain, "ratio")}
}
