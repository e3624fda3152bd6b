package variant

import (
	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/runtime"
)

// Variant is an engine with a value for every knob.
type Variant struct {
	// Name is its display name: "baseline", "accepted", or the feature's name.
	Name string
	// Engine is the engine block, "kind.name".
	Engine string
	// Knobs is the value of every knob, nil if the engine is started as written; Set are
	// those that may differ from the baseline's. Neither changes: decisions have them too.
	Knobs, Set map[string]string
	Spec       engine.Spec
	// Command is what an engine of kind command prints; nil for a server.
	Command *Command
	// ModelConfig is the config.json that the plan names for the model, and ModelConfigAt
	// its path; nil if it names none. No measurement depends on it.
	ModelConfig   []byte
	ModelConfigAt string
	// Uses are settings that the engine must show it used.
	Uses []kinds.Use
	// Profiler is how profiles of it are taken; it affects no other starts.
	Profiler Profiler
	// Row is set for a row of a comparison.
	Row bool
	// Key is its part of the measurement key.
	Key string
}

// AsRow is a variant as a row of a comparison: two that start the same remain two rows.
func (v *Variant) AsRow() *Variant {
	row := *v
	row.Row, row.Key = true, runtime.Digest("compared", v.Name, v.Key)
	return &row
}
