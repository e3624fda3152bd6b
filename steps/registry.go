package steps

import (
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
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

// levelKind is one kind of level that runs in the qualification launch.
type levelKind struct {
	schema plans.Schema
	make   func(*plans.Block) (level, error)
}

// stepKinds are the kinds of step that measure; those that prepare are in work.
var stepKinds = map[string]stepKind{"compare": compareKind}

// levelKinds: a new kind is one file and one line here. The benchmark is none of
// them, since it has launches of its own.
var levelKinds = map[string]levelKind{
	"smoke": smokeKind, "kernels": kernelsKind,
}

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
	r.Levels[benchmarkLevel] = benchmarkKind.schema
	for name, k := range levelKinds {
		r.Levels[name] = k.schema
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
