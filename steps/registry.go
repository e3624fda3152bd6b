package steps

import (
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/steps/levels"
	"github.com/mxflow/mxflow/steps/record"
	"github.com/mxflow/mxflow/steps/variant"
	"github.com/mxflow/mxflow/steps/work"
)

// benchmarkLevel is the level that the qualification launch does not serve.
const benchmarkLevel = plans.BenchmarkLevel

// stepKind is one kind of step block.
type stepKind struct {
	schema plans.Schema
	make   func(*Lab, *plans.Block) runtime.Step
}

// stepKinds are the kinds of step that measure; those that prepare are in work.
var stepKinds = map[string]stepKind{"compare": compareKind}

// offered says what is wrong with the error rates and launches of a plan.
func offered(falsePass, falseFail float64, least, most int) error {
	_, err := stats.Offer(falsePass, falseFail, least, most, true)
	return err
}

// Registry says what steps, levels and engine kinds accept in a plan.
func Registry() *plans.Registry {
	r := &plans.Registry{
		Levels: map[string]plans.Schema{}, Steps: map[string]plans.Schema{},
		Dataset:  record.DatasetRows,
		Decision: offered,
	}
	r.Levels[benchmarkLevel] = benchmarkKind.Schema
	for name, k := range levels.Kinds {
		r.Levels[name] = k.Schema
	}
	for name, k := range work.Kinds {
		r.Steps[name] = k.Schema
	}
	for name, k := range stepKinds {
		r.Steps[name] = k.schema
	}
	variant.Register(r)
	return r
}
