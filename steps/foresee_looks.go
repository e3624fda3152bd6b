package steps

import (
	"math"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
)

// noiseOf is the launch noise of its arms' engine that was known before a session, of
// what rules read of a feature.
func (l *Lab) noiseOf(f *plans.Feature, a arms, session, work string) map[string]gates.Noise {
	if l.Store == nil {
		return nil
	}
	before := NoiseBefore(l.Store.Records(), session, work, a.candidate.Key, a.parent.Key)
	return Noise(before, noiseKeys(l.rulesReading(f)))
}

// nextLook is the number of launches of each arm at which a rule may be settled
// next: the first time later where the noise of launches is not known yet.
func (l *Lab) nextLook(m *member, session, work string) int {
	noise := l.noiseOf(m.feature, m.arms, session, work)
	recorded := true
	for _, address := range noiseKeys(l.rulesReading(m.feature)) {
		recorded = recorded && noise[address].DF >= gates.LeastFreedom
	}
	d := l.Plan.Decision
	design, err := stats.Offer(d.FalsePass, d.FalseFail, min(d.Min, m.most), m.most, recorded)
	if err != nil {
		return m.most
	}
	for _, n := range design.Looks {
		if n > m.rounds && n >= m.least {
			return n
		}
	}
	return m.most
}

// interacts reports whether the baseline is measured beside a stack of two or
// more features, so that the whole can be compared with its parts.
func (l *Lab) interacts(s *runtime.Scope, f *plans.Feature) bool {
	if !l.Plan.Decision.Interactions || f.BuildsOn.Kind != plans.OnAccepted {
		return false
	}
	parts := 0
	for _, need := range l.Graph.Node(runtime.QualifyID(f.Name)).Needs {
		if d := s.Outcome(need.On); d != nil && d.Kind == string(runtime.KindFeature) && d.Accepted {
			parts++
		}
	}
	return parts > 1
}

// resolvable says what the launches of a member can show, given how much launches
// differed before, and warns of thresholds that are closer to no change at all.
func (l *Lab) resolvable(m *member, session, work string) (notes []verdict.Reason) {
	d := l.Plan.Decision
	design, err := stats.Offer(d.FalsePass, d.FalseFail, min(d.Min, m.most), m.most, true)
	if err != nil || m.most < 3 {
		return nil
	}
	noise := l.noiseOf(m.feature, m.arms, session, work)
	said := map[string]bool{}
	for _, r := range l.rulesReading(m.feature) {
		if r == nil || r.Program == nil {
			continue
		}
		for _, leaf := range r.Program.Leaves {
			c := leaf.Claim
			if c == nil || c.Form != verdict.Ratio || c.Input.Feature != readAs(m.feature) {
				continue
			}
			address := gates.NoiseKey(c.Input)
			n := noise[address]
			if n.DF < gates.LeastFreedom {
				continue
			}
			least := max(m.least, design.Looks[0])
			sd := n.SD * stats.NoiseBound(n.DF)
			resolves := func(launches int) float64 {
				return math.Expm1(sd * stats.Resolvable(launches, design.Pass, 0.9, false))
			}
			if !said[address] {
				said[address] = true
				notes = append(notes, resolution(n.SD, sd, least, m.most, resolves).On(address))
			}
			if margin := math.Abs(math.Log1p(c.Threshold)); margin > 0 && resolves(m.most) > math.Expm1(margin) && !said[leaf.Text] {
				said[leaf.Text] = true // a criterion and a rule of the gate often ask the same
				notes = append(notes, verdict.New(code.Unresolved,
					verdict.Num("margin", math.Expm1(margin), "share"), verdict.Int("launches", m.most), verdict.Num("resolves", resolves(m.most), "share")).On(leaf.Text))
			}
		}
	}
	return notes
}

// resolution is what launches can show where they differ by a standard deviation, or
// by its upper bound. Equal ones do not show everything: the test takes them to
// differ by rounding at least.
func resolution(sd, bound float64, least, most int, resolves func(launches int) float64) verdict.Reason {
	if sd == 0 {
		return verdict.New(code.ResolvesRounding)
	}
	share := func(name string, x float64) verdict.Arg { return verdict.Num(name, x, "share") }
	return verdict.New(code.Resolves, verdict.Int("few", least), share("with_few", resolves(least)), verdict.Int("many", most), share("with_many", resolves(most)),
		share("differ", math.Expm1(sd)), share("differ_bound", math.Expm1(bound)))
}
