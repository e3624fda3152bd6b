package variant

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/plans"
)

// modelFor is the model as passed to the command. If it is a path of this machine, ~ is
// replaced by the home folder, as there is no shell to do it, and the file must exist
// before the start. In a container a path is the container's.
func modelFor(spec *engine.Spec, command []string) string {
	model := spec.Model
	// A path, not a name such as "openai/gpt-oss-20b".
	isPath := strings.HasSuffix(model, ".gguf") || slices.ContainsFunc([]string{"/", "./", "../", "~/"},
		func(prefix string) bool { return strings.HasPrefix(model, prefix) })
	if spec.How() != engine.HowProcess || !kinds.NeedsModel(command) || !isPath {
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

// plannedCommand is what starts an engine by its plan, before flags: the command of its
// launcher, or of its kind. It is empty if that is left to an image, a compose file or
// somebody else.
func plannedCommand(e *plans.Engine) []string {
	kind := EngineKind(e)
	switch {
	case e.Process != nil:
		return e.Process.Command
	case e.Launch == nil:
		return kind.Command
	}
	var own struct {
		Command []string `json:"command"`
	}
	if err := e.Launch.Decode(&own); err == nil && own.Command != nil {
		return own.Command
	}
	switch e.Launch.Kind {
	case "docker":
		return kind.ImageCommand
	case "exec":
		return kind.Command
	}
	return nil
}

// ModelOf is the model that the engine loads: the one in its command, or else in the
// plan.
func ModelOf(spec engine.Spec, e *plans.Engine) string {
	for _, flag := range []string{"--model", "--model-path", "--force-model", "--hf-repo"} {
		if value := FlagOf(spec.Command, flag); value != "" {
			return value
		}
	}
	for i, arg := range spec.Command {
		if i == 0 || i+1 == len(spec.Command) {
			continue
		}
		next := spec.Command[i+1]
		program := filepath.Base(spec.Command[i-1])
		switch {
		case strings.HasPrefix(next, "-"):
		case arg == "serve", arg == "-m" && !strings.HasPrefix(program, "python"):
			return next
		}
	}
	if e == nil {
		return ""
	}
	return e.Model
}

// FlagOf is the value of a flag in a command, empty if it is not given.
func FlagOf(command []string, flag string) string {
	for i, arg := range command {
		if value, ok := strings.CutPrefix(arg, flag+"="); ok {
			return value
		}
		if arg == flag && i+1 < len(command) {
			return command[i+1]
		}
	}
	return ""
}
