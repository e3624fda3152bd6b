package variant

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/mxflow/mxflow/plans"
)

var metadataPart = plans.Part{
	Times: plans.AtMost1,
	Schema: plans.Schema{
		Doc: "What else is recorded of every launch, beside its GPUs, driver, image, command, environment, packages, model files and host. What numbers depend on becomes the launch's fingerprint: arms are compared only where it is the same.",
		Attrs: []plans.Attr{
			{Name: "repos", Type: plans.Map, Doc: "Git trees by name, as the engine sees their paths: commit, branch, and a digest of what differs from it. They are part of the fingerprint."},
			{Name: "packages", Type: plans.Bool, Doc: "Whether to list the Python packages that the engine has. Without it: where the kind of engine, or its command, is a Python program."},
			{Name: "model_config", Type: plans.String, Doc: "The model's config.json, relative to the plan's folder, by which speeds are held against what the GPUs allow. Without it: the one beside the model's weights, where they are found on this machine or where the engine lives."},
			{Name: "commands", Type: plans.Map, Doc: "Commands by name, run once a launch where the engine lives with `sh -c`, while nothing is measured. What they print is recorded, up to 64 KiB each; it is no part of the fingerprint. One may take a minute."},
		},
		Example: `metadata {
  repos    = { vllm = "/workspace/vllm" }
  commands = { clocks = "nvidia-smi -q -d CLOCK" }
}`,
		Check: plans.Checked(func(_ *plans.Block, c Metadata) (wrong []plans.AttrError) {
			for name, path := range c.Repos {
				if strings.TrimSpace(path) == "" {
					wrong = append(wrong, plans.AttrError{Attr: "repos", Code: "empty-value", Summary: "Empty path", Detail: fmt.Sprintf("repos names %s without a path. Write the folder of its git tree, as the engine sees it.", name)})
				}
			}
			for name, command := range c.Commands {
				if strings.TrimSpace(command) == "" {
					wrong = append(wrong, plans.AttrError{Attr: "commands", Code: "empty-value", Summary: "Empty command", Detail: fmt.Sprintf("commands names %s without a command. Write what sh is to run.", name)})
				}
			}
			return wrong
		}),
	},
}

type Metadata struct {
	Repos    map[string]string `json:"repos"`
	Packages *bool             `json:"packages"`
	Config   string            `json:"model_config"`
	Commands map[string]string `json:"commands"`
}

// maxConfig bounds a config.json, in bytes.
const maxConfig = 1 << 20

// modelConfig reads the config.json that an engine's metadata block names; nil where it
// names none.
func (l *Resolver) modelConfig(e *plans.Engine) (text []byte, path string, err error) {
	if len(e.Parts["metadata"]) == 0 {
		return nil, "", nil
	}
	var c Metadata
	if err := e.Parts["metadata"][0].Decode(&c); err != nil || c.Config == "" {
		return nil, "", err
	}
	path = l.Plan.Abs(c.Config)
	wrong := func(why string) error {
		return fmt.Errorf("model_config of engine.%s.%s names %s, %s; name the model's config.json as it lies beside its weights", e.Kind, e.Name, path, why)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, "", wrong("which cannot be read: " + err.Error())
	case !info.Mode().IsRegular() || info.Size() > maxConfig:
		return nil, "", wrong("which is no file of at most 1 MiB")
	}
	if text, err = os.ReadFile(path); err != nil {
		return nil, "", wrong("which cannot be read: " + err.Error())
	}
	if !json.Valid(text) {
		return nil, "", wrong("which is no JSON")
	}
	return text, path, nil
}
