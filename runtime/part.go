package runtime

import (
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
)

// Part is a step or a feature of a phase, as named in the phase's reasons.
type Part struct {
	name                string
	came, alone, notRun code.Fact
}

// StepPart and FeaturePart name the parts of a phase.
func StepPart(b *plans.Block) Part {
	return Part{
		b.Kind + " " + b.Name, code.Step, code.Of("step.alone", "step {subject} {verdict:did}"),
		code.StepNotRun,
	}
}

func FeaturePart(f *plans.Feature) Part {
	return Part{f.Name, code.Feature, code.Of("feature.alone", "feature {subject} {verdict:did}"), code.FeatureNotRun}
}

func (p Part) Outcome(v verdict.Verdict) verdict.Reason { return verdict.New(p.came).On(p.name).Is(v) }

// AloneOutcome is the part's outcome if nothing else of the phase was examined.
func (p Part) AloneOutcome(v verdict.Verdict) verdict.Reason {
	return verdict.New(p.alone).On(p.name).Is(v)
}

// NotRun is why it never ran.
func (p Part) NotRun(why verdict.Reason) verdict.Reason {
	return verdict.New(p.notRun).On(p.name).From(why)
}
