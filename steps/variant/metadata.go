package variant

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/plans"
)

var metadataPart = plans.Part{
	Times: plans.AtMost1,
	Schema: plans.Schema{
		Doc: "Extra metadata of every launch. GPUs, driver, image, command, environment, packages, model files " +
			"and host are recorded without it. Entries that numbers depend on form the launch's fingerprint: arms " +
			"are compared only if it is the same.",
		Attrs:   plans.Attrs(Metadata{}),
		Example: plans.Example(examples, `metadata {`),
		Check: plans.Checked(func(_ *plans.Block, c Metadata) (wrong []plans.AttrError) {
			for name, path := range sorted.All(c.Repos) {
				if strings.TrimSpace(path) == "" {
					wrong = append(wrong,
						plans.AttrError{
							Attr: "repos", Code: "empty-value", Summary: "Empty path",
							Detail: fmt.Sprintf("repos has %s without a path. Write the folder of its git tree, as "+
								"the engine sees it.", name),
						})
				}
			}
			for name, command := range sorted.All(c.Commands) {
				if strings.TrimSpace(command) == "" {
					wrong = append(wrong,
						plans.AttrError{
							Attr: "commands", Code: "empty-value", Summary: "Empty command",
							Detail: fmt.Sprintf("commands has %s without a command. Write the command for sh.", name),
						})
				}
			}
			return wrong
		}),
	},
}

type Metadata struct {
	Repos    map[string]string `hcl:"repos,optional" doc:"Git trees by name, with the engine's path of each. Recorded are commit, branch, and a digest of the uncommitted changes. They are part of the fingerprint."`
	Packages *bool             `hcl:"packages,optional" doc:"Whether to list the engine's Python packages. Without it: if the engine kind or its command is a Python program."`
	Config   string            `hcl:"model_config,optional" doc:"The model's config.json, relative to the plan's folder. It is for comparing speeds with the limits of the GPUs. Without it: the one beside the model's weights, if found on this machine or where the engine runs."`
	Commands map[string]string `hcl:"commands,optional" doc:"Commands by name, run once per launch with 'sh -c'. They run where the engine runs, while nothing is measured. Their output is recorded, up to 64 KiB each; it is not part of the fingerprint. Each has a time limit of one minute."`
}

// maxConfig bounds a config.json, in bytes.
const maxConfig = 1 << 20

// modelConfig reads the config.json that an engine's metadata block names; nil if it
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
		return fmt.Errorf("model_config of engine.%s.%s names %s, %s; use the config.json beside the model's weights",
			e.Kind, e.Name, path, why)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, "", wrong("which is unreadable: " + err.Error())
	case !info.Mode().IsRegular() || info.Size() > maxConfig:
		return nil, "", wrong("which is not a file of at most 1 MiB")
	}
	if text, err = os.ReadFile(path); err != nil {
		return nil, "", wrong("which is unreadable: " + err.Error())
	}
	if !json.Valid(text) {
		return nil, "", wrong("which is not JSON")
	}
	return text, path, nil
}
