package decide

import (
	"maps"
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Next is what would decide an inconclusive decision, if known: a quiet machine, missing
// evidence, or launches.
func Next(d *ledger.Decision) (next []verdict.Reason) {
	if d.Verdict != verdict.Inconclusive {
		return nil
	}
	if d.Disturbed() {
		return []verdict.Reason{verdict.Say("next.quiet",
			"this machine disturbed the measurement{causes? ({causes})}. Apply again when nothing else runs on it").
			From(disturbances(d.Why())...)}
	}
	for _, l := range d.Levels {
		if l.Verdict == verdict.Inconclusive {
			next = append(next, verdict.New(code.NextEvidence).On(l.WithoutCauses().Subject).From(l.Reasons...))
		}
	}
	for _, r := range d.Rules {
		if r.Verdict == verdict.Inconclusive && (r.Decides || runtime.Kind(d.Kind) == runtime.KindGate) {
			next = append(next, nextOf(r)...)
		}
	}
	return next
}

// nextOf is what would decide a rule: each open comparison has its own answer.
func nextOf(r verdict.Rule) (next []verdict.Reason) {
	for _, in := range r.Inputs {
		if !in.Missing.IsZero() {
			next = append(next, verdict.New(code.NextEvidence).On(in.Path).From(in.Missing))
		}
	}
	for _, c := range r.Comparisons {
		t := c.Test
		if c.Verdict != verdict.Inconclusive || t == nil || !t.Note.IsZero() {
			continue
		}
		n := len(next)
		for _, b := range t.Remarks {
			switch b.Kind {
			case code.Settles.Kind:
				b = b.As(code.Of("next.launches",
					"{subject}: launches differ by {spread:2}{is?, too much to tell {is~wanted} from {wanted~is}}. "+
						"About {launches|launch|launches}{against? per arm} would probably decide it{more? ({more} "+
						"more)}{most?, and {step?step {step}}{step!the plan} makes at most {most}: allow more in "+
						"{step?its launches}{step!the benchmark level or the decision block}}. Launches that differ "+
						"less decide sooner: locked clocks, no other load, "+
						"longer or more requests"))
			case code.SettlesNever.Kind:
				b = b.As(code.Of("next.spread",
					"{subject}: launches differ by {spread:2}{is?, too much to tell {is~wanted} from {wanted~is}}. "+
						"Even {launches|launch|launches}{against? per arm} would probably not decide it. Make "+
						"launches differ less: locked clocks, no other load, longer or more requests"))
			default:
				continue
			}
			if t.Estimate != nil { // by the two numbers that the rule's line has, not by a third
				b.Values = maps.Clone(b.Values)
				for _, of := range []verdict.Arg{
					verdict.Num("is", *t.Estimate, t.OwnUnit()), verdict.Num("wanted", t.Threshold, t.OwnUnit()),
				} {
					b.Values[of.Name] = of.Value
				}
			}
			next = append(next, b.On(r.Name))
		}
		if launches := len(t.Values); len(next) == n && launches > 0 && launches < max(2, t.First) || len(next) == n &&
			launches == 2 && t.First == 2 && !t.ByRecordedNoise() {
			args := []verdict.Arg{verdict.Int("launches", launches)}
			if t.Against != "" {
				args = append(args, verdict.Text("against", t.Against))
			}
			if t.First > 0 {
				args = append(args, verdict.Int("least", t.Sure()))
			}
			next = append(next, verdict.Say("next.starts",
				"{subject}: {launches|launch|launches}{against? per arm} shows no launch-to-launch variance: "+
					"allow {least?at least {least} }{least!more }launches in the benchmark level",
				args...).On(r.Name))
		}
	}
	return next
}

// disturbances returns how the machine disturbed the measurement.
func disturbances(reasons []verdict.Reason) (how []verdict.Reason) {
	add := func(found []verdict.Reason) {
		for _, f := range found {
			if !slices.ContainsFunc(how, f.Equal) { // each rule that waits for a benchmark repeats its causes
				how = append(how, f)
			}
		}
	}
	for _, r := range reasons {
		if r.Kind == code.MachineDisturbed.Kind {
			add(r.Causes)
		} else {
			add(disturbances(r.Causes))
		}
	}
	return how
}
