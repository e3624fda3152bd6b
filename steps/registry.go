package steps

import (
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/steps/launch"
	"github.com/mxflow/mxflow/steps/levels"
	"github.com/mxflow/mxflow/steps/record"
	"github.com/mxflow/mxflow/steps/session"
	"github.com/mxflow/mxflow/steps/variant"
	"github.com/mxflow/mxflow/steps/work"
)

// offered says what is wrong with the error rates and launches of a plan.
func offered(falsePass, falseFail float64, least, most int) error {
	_, err := stats.DesignFor(falsePass, falseFail, least, most, stats.TwoLaunches)
	return err
}

// Registry says what steps, levels and engine kinds accept in a plan.
func Registry() *plans.Registry {
	r := &plans.Registry{
		Levels: map[string]plans.Schema{}, Steps: map[string]plans.Schema{},
		Dataset:  record.DatasetRows,
		Decision: offered,
		Unified:  launch.Unified,
	}
	r.Levels[plans.BenchmarkLevel] = session.BenchmarkSchema
	r.Levels[plans.RegressionLevel] = session.RegressionSchema
	for name, k := range levels.Kinds {
		r.Levels[name] = k.Schema
	}
	for name, k := range work.Kinds {
		r.Steps[name] = k.Schema
	}
	r.Steps[plans.CompareStep] = session.CompareSchema
	r.Steps[plans.MatrixStep] = session.MatrixSchema
	variant.Register(r)
	return r
}
