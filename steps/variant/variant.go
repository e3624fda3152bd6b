package variant

import (
	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/decide"
)

// Variant is an arm with what is started. Its knobs do not change: decisions have them too.
type Variant struct {
	decide.Arm
	Spec engine.Spec
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

	// evidence is its EvidenceKey, empty if only its launches are known.
	evidence string
}

// AsRow is a variant as a row of a comparison: two that start the same remain two rows.
func (v *Variant) AsRow() *Variant {
	row := *v
	row.Row, row.Key = true, runtime.Digest("compared", v.Name, v.Key)
	return &row
}
