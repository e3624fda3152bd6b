package variant

import (
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/machine"
	"github.com/mxflow/mxflow/plans"
)

var gpuPart = plans.Part{
	Times: plans.AtMost1,
	Schema: plans.Schema{
		Doc: "Which GPUs of this machine the engine uses. Without the block, those in `CUDA_VISIBLE_DEVICES` " +
			"(AMD: `ROCR_VISIBLE_DEVICES`, `HIP_VISIBLE_DEVICES`) or the container's `gpus`, otherwise all; an " +
			"embedded engine and an endpoint use none. They are locked against every other mxflow until this apply " +
			"ends. Before a launch, mxflow waits until no other process holds memory on them; after it, until the " +
			"engine's memory is released.",
		Attrs:   plans.Attrs(GPU{}),
		Example: plans.Example(examples, `gpu {`),
		Check:   checkGPU,
	},
}

func checkGPU(b *plans.Block) (wrong []plans.AttrError) {
	c, err := GPUOf([]*plans.Block{b})
	if err != nil {
		return []plans.AttrError{{Code: "invalid-value", Summary: "Invalid gpu block", Detail: err.Error()}}
	}
	for _, glob := range c.Ignore {
		if glob == "" || glob == "*" {
			wrong = append(wrong,
				plans.AttrError{
					Attr: "ignore", Code: "evidence-proves-nothing", Summary: "Glob matches everything",
					Detail: "It would wait for no process. Name the programs that are allowed, such as \"Xorg\".",
				})
		}
	}
	return wrong
}

type GPU struct {
	Devices *[]string `hcl:"devices,optional" doc:"Index or UUID of each GPU, or '[\"all\"]'. Both are as nvidia-smi or amd-smi shows them. An empty list means that it uses none. A missing one is an error."`
	Wait    plans.Dur `hcl:"wait,optional" default:"10m" doc:"How long a launch waits for other processes. They are another mxflow's or foreign; after it the launch is given up."`
	Settle  plans.Dur `hcl:"settle,optional" default:"30s" doc:"How long a stopped engine's memory may take to free."`
	Ignore  []string  `hcl:"ignore,optional" doc:"Globs of programs that are allowed on the GPU. They match path and name. Those of the desktop and the driver always are."`
	IdleMB  float64   `hcl:"idle_mb,optional" type:"integer" default:"1024" unit:"MiB" min:"0" doc:"Memory in use that no process need account for. It is the desktop's, or the driver's own."`
	// MaxTemperature is 0 if none is required.
	MaxTemperature float64 `hcl:"max_temperature,optional" unit:"°C" min:"1" max:"150" doc:"Launches wait until the GPU is no hotter. They wait for at most 'wait', so that every launch starts alike."`
}

// GPUOf reads an engine's gpu block; without one it gives the defaults.
func GPUOf(blocks []*plans.Block) (c GPU, err error) {
	c = GPU{Wait: plans.Dur(10 * time.Minute), Settle: plans.Dur(30 * time.Second), IdleMB: 1024}
	if len(blocks) > 0 {
		err = blocks[0].Decode(&c)
	}
	return c, err
}

// Variable is an environment variable as the engine's process sees it.
func Variable(spec engine.Spec, name string) (string, bool) {
	if value, ok := spec.Env[name]; ok {
		return value, true
	}
	if slices.Contains(spec.Unset, name) {
		return "", false
	}
	return os.LookupEnv(name)
}

// showGPUs makes only the GPUs that the gpu block names visible to a process. The plan's
// environment takes precedence.
func showGPUs(e *plans.Engine, spec *engine.Spec) error {
	if len(e.Parts["gpu"]) == 0 || spec.How() != engine.HowProcess {
		return nil
	}
	c, err := GPUOf(e.Parts["gpu"])
	if err != nil || c.Devices == nil || slices.Contains(*c.Devices, "all") {
		return err
	}
	if SelectsGPUs(*spec, c) {
		return nil
	}
	shown := map[string]string{cudaVisible: c.visible(), "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
	maps.Copy(shown, spec.Env)
	spec.Env = shown
	return nil
}

const cudaVisible = "CUDA_VISIBLE_DEVICES"

// visible is that variable's value for the block's devices. Those of other vendors are
// selected when they are known: at the launch.
func (c GPU) visible() string {
	return strings.Join(slices.DeleteFunc(slices.Clone(*c.Devices), func(s string) bool { return s == "none" }), ",")
}

// SelectsGPUs reports whether the plan's own environment says which GPUs a process sees,
// besides its gpu block.
func SelectsGPUs(spec engine.Spec, c GPU) bool {
	return slices.ContainsFunc(machine.SelectingVariables(), func(name string) bool {
		value, own := spec.Env[name]
		return own && !(name == cudaVisible && c.Devices != nil && value == c.visible()) ||
			slices.Contains(spec.Unset, name)
	})
}
