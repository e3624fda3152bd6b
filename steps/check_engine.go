package steps

import (
	"fmt"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/plans"
)

// engineChecks look at a decoded engine for what none of its blocks can say
// alone. A new check is one line here.
var engineChecks = []func(*plans.Engine) []plans.AttrError{
	checkKind,
	checkContainer,
	checkModel,
	checkExecCommand,
}

// checkEngine is the check of every engine.
func checkEngine(e *plans.Engine) (errs []plans.AttrError) {
	for _, check := range engineChecks {
		errs = append(errs, check(e)...)
	}
	return errs
}

// checkContainer finds a container of which nobody says the image.
func checkContainer(e *plans.Engine) []plans.AttrError {
	kind, ok := kinds.Lookup(e.Kind)
	if !ok || e.Launch == nil || e.Launch.Kind != "docker" || kind.Image != "" || e.Launch.Attrs["image"] != nil {
		return nil
	}
	return []plans.AttrError{{
		Part: e.Launch, Code: "missing-attribute", Summary: "Missing image",
		Detail: fmt.Sprintf(`An engine of kind %q has no image of its own. Set image in the docker block, such as image = "vllm-dev:latest".`, e.Kind),
	}}
}
