package variant

import (
	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
)

// Variant is an engine with a value for every knob.
type Variant struct {
	// Name is what people call it: "baseline", "accepted", the feature's name.
	Name string
	// Engine is the engine block, "kind.name".
	Engine string
	// Knobs is the value of every knob, nil where the engine is started as it is
	// written; Set are those that may have another one than in the baseline.
	Knobs, Set map[string]string
	// Over is another revision, laid over engine and knobs: nil of what the plan itself is.
	Over *plans.KnobValue
	Spec engine.Spec
	// Command is what an engine of kind command prints; nil for a server.
	Command *Command
	// ModelConfig is the config.json that the plan names for the model, and
	// ModelConfigAt where it lies; nil where it names none. Nothing that is measured
	// depends on it.
	ModelConfig   []byte
	ModelConfigAt string
	// Uses are settings of which the engine has to show that it used them.
	Uses []kinds.Use
	// Profiler is how profiles of it are taken; no start but those has to do with it.
	Profiler Profiler
	// Row says that it is a row of a comparison.
	Row bool
	// Key is its part of the measurement key.
	Key string
}

// AsRow is a variant as a row of a comparison: two that start the same are still two.
func (v *Variant) AsRow() *Variant {
	row := *v
	row.Row, row.Key = true, runtime.Digest("compared", v.Name, v.Key)
	return &row
}
