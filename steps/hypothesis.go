package steps

import (
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// claimed says how a feature's claim came out; nil where it makes none.
func (l *Lab) claimed(s *runtime.Scope, f *plans.Feature, all *gates.Evidence, rests *ledger.Decision) *ledger.Hypothesis {
	h := f.Hypothesis
	if h == nil {
		return nil
	}
	out := &ledger.Hypothesis{Metric: h.Metric, Expect: h.Expect, Because: h.Because, Measured: gates.Measured(h.Probe, all)}
	settings := l.settings(nil)
	settings.Alternatives = len(f.Alternatives)
	outcome, rule, _ := gates.Claimed(h.Probe, all, settings)
	out.Outcome, out.Test = outcome, &rule
	out.PostHoc = l.postHoc(f, rests)
	return out
}

// claimKey is what a feature's claim is held against its outcome by; empty where it
// makes none.
func claimKey(f *plans.Feature) string {
	if f.Hypothesis == nil {
		return ""
	}
	return runtime.Digest("hypothesis", f.Hypothesis.Digest(), ruleKey(f.Hypothesis.Probe))
}

// postHoc reports whether a claim was made after its measurement: no run that
// began before the first of the launches had it in its plan. The ledger proves
// the order, whatever the plan says today.
func (l *Lab) postHoc(f *plans.Feature, rests *ledger.Decision) bool {
	if l.Store == nil || rests.Session == "" {
		return false
	}
	for _, r := range l.Store.Records() {
		switch {
		case r.RunStart != nil && r.RunStart.Hypotheses[f.Name] == f.Hypothesis.Digest():
			return false
		case r.Launch != nil && r.Launch.Session == rests.Session:
			return true
		}
	}
	return false
}

// Hypotheses are the digests of a plan's claims, by feature, as a run records
// them before it measures anything.
func Hypotheses(p *plans.Plan) map[string]string {
	out := map[string]string{}
	for _, ph := range p.Phases {
		for _, f := range ph.Features {
			if f.Hypothesis != nil {
				out[f.Name] = f.Hypothesis.Digest()
			}
		}
	}
	return out
}
