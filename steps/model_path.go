package steps

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/plans"
)

// modelFor is the model as the command gets it. Where that is a path of this
// machine, ~ is replaced by the home folder, as no shell is there to do it, and
// the file is looked for before the start. In a container a path is the
// container's.
func modelFor(spec *engine.Spec, command []string) string {
	model := spec.Model
	if spec.How() != "process" || !engine.NeedsModel(command) || !isPath(model) {
		return model
	}
	if rest, ok := strings.CutPrefix(model, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			model = filepath.Join(home, rest)
		}
	}
	spec.ModelPath = model
	return model
}

// isPath tells a path from the name of a model, such as "openai/gpt-oss-20b".
func isPath(model string) bool {
	for _, prefix := range []string{"/", "./", "../", "~/"} {
		if strings.HasPrefix(model, prefix) {
			return true
		}
	}
	return strings.HasSuffix(model, ".gguf")
}

// checkModel refuses an engine without the model that its command is given.
func checkModel(e *plans.Engine) []plans.AttrError {
	k, ok := profiledKind(e)
	if !ok {
		return nil
	}
	command := k.Command
	switch {
	case e.Process != nil:
		command = e.Process.Command
	case e.Launch != nil && (e.Launch.Kind == "docker" || e.Launch.Kind == "compose"):
		command = k.ImageCommand
		if own, ok := e.Launch.Attrs["command"]; ok && own != nil {
			return nil
		}
	case e.Launch != nil && e.Launch.Kind != "exec":
		return nil
	}
	if e.Model != "" || !engine.NeedsModel(command) {
		return nil
	}
	return []plans.AttrError{{
		Summary: "Missing model", Detail: "An engine of kind \"" + e.Kind + "\" is started with the name or path of its model. Add: model = \"openai/gpt-oss-20b\", or whatever it is to serve.",
	}}
}
