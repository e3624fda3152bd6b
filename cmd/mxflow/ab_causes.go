package main

import (
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// beforeMeasuring sees whether one of the commands did not pass what comes before
// measuring, be it A or B: then nothing was compared, and a fail would read as if B
// were shown to be slower.
func (r *abResult) beforeMeasuring(decided map[string]*ledger.Decision) {
	for _, side := range [][2]string{{"A", runtime.BaselineID}, {"B", runtime.QualifyID("B")}} {
		if d := decided[side[1]]; d != nil && d.Verdict == verdict.Fail {
			r.Unfit, r.Verdict, r.Exit = side[0], verdict.Invalid, verdict.Invalid.ExitCode()
			return
		}
	}
}

// causes are why it came out so, from the first node that did not pass; and what
// the levels of both said.
func (r *abResult) causes(decided map[string]*ledger.Decision) {
	for _, node := range []string{runtime.BaselineID, runtime.QualifyID("B"), runtime.BenchmarkID("B")} {
		d := decided[node]
		if d == nil {
			continue
		}
		for _, l := range d.Levels {
			if node != runtime.BaselineID {
				r.levels = append(r.levels, l)
			}
			if l.Verdict == verdict.Pass && l.Name == "benchmark" {
				r.Notes = append(r.Notes, r.reasons(l.Reasons)...)
			}
		}
		if d.Verdict == verdict.Pass {
			continue
		}
		who := map[string]string{runtime.BaselineID: "A", runtime.QualifyID("B"): "B"}[node]
		for _, l := range d.Levels {
			if l.Verdict != verdict.Pass {
				for _, reason := range r.reasons(l.Reasons) {
					if who != "" {
						reason = verdict.New(code.ArmSays).On(who).From(reason)
					}
					r.Reasons = append(r.Reasons, reason)
				}
				break
			}
		}
		if len(d.Levels) == 0 {
			r.Reasons = append(r.Reasons, r.reasons(d.Reasons)...)
		}
		r.LogTail = d.LogTail
		return
	}
	if r.test != nil && r.Stopped != "" {
		return // the numbers say it, and the test how
	}
	if d := decided[runtime.FeatureID("B")]; d != nil && d.Verdict != verdict.Pass {
		for _, rule := range d.Rules {
			r.Reasons = append(r.Reasons, r.reasons(rule.Reasons)...)
		}
	}
}
