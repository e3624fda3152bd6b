package runtime

import (
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
)

// Part is a step or a feature of a phase, as the reasons of the phase name it.
type Part struct {
	name                string
	came, alone, notRun code.Code
}

// StepPart and FeaturePart name what a phase is joined from.
func StepPart(b *plans.Block) Part {
	return Part{b.Kind + " " + b.Name, code.Step, code.StepAlone, code.StepNotRun}
}

func FeaturePart(f *plans.Feature) Part {
	return Part{f.Name, code.Feature, code.FeatureAlone, code.FeatureNotRun}
}

// Came says how it came out.
func (p Part) Came(v verdict.Verdict) verdict.Reason { return verdict.New(p.came).On(p.name).Is(v) }

// Alone says how it came out where nothing else of the phase was looked at.
func (p Part) Alone(v verdict.Verdict) verdict.Reason { return verdict.New(p.alone).On(p.name).Is(v) }

// NotRun says why it never came out.
func (p Part) NotRun(why verdict.Reason) verdict.Reason {
	return verdict.New(p.notRun).On(p.name).From(why)
}
