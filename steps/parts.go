package steps

import (
	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/plans"
)

// launchPart is one way to launch an engine: the block that asks for it, and
// how the block becomes part of a Spec.
type launchPart struct {
	schema plans.Schema
	// put fills in spec from d.engine.Launch and returns the command before
	// flags: the block's own, or the kind's.
	put func(l *Resolver, d *draft, spec *engine.Spec) ([]string, error)
}

// launchParts, engineParts and valueParts: a new block is one file and one line
// here.
var (
	launchParts = map[string]launchPart{
		"compose":  composePart,
		"docker":   dockerPart,
		"endpoint": endpointPart,
		"exec":     execPart,
	}
	engineParts = map[string]plans.Part{
		"gpu": gpuPart, "metadata": metadataPart,
		"observe": observePart, "profile": profilePart,
		"output": outputPart, "metric": metricPart, "run": runPart,
		"source": sourcePart, "caches": cachesPart, "tree": treePart,
	}
	valueParts = map[string]plans.Part{"source": sourceValuePart}
)

// parts are all blocks that may stand in an engine.
func parts() map[string]plans.Part {
	all := map[string]plans.Part{}
	for word, p := range engineParts {
		all[word] = p
	}
	for word, p := range launchParts {
		all[word] = plans.Part{Schema: p.schema, Times: plans.AtMost1, Launcher: true}
	}
	return all
}
