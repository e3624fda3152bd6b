package variant

import (
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/plans"
)

var gpuPart = plans.Part{
	Times: plans.AtMost1,
	Schema: plans.Schema{
		Doc: "Which GPUs of this machine the engine uses. Without the block, those in `CUDA_VISIBLE_DEVICES` or the container's `gpus`, otherwise all; an embedded engine and an endpoint use none. They are locked against every other mxflow until this apply ends. Before a launch, mxflow waits until no other process holds memory on them; after it, until the engine's memory is released.",
		Attrs: []plans.Attr{
			{Name: "devices", Type: plans.Strings, Doc: "Index or UUID of each GPU, as nvidia-smi shows them, or `[\"all\"]`. An empty list means that it uses none. A missing one is an error."},
			{Name: "wait", Type: plans.Duration, Default: "10m", Doc: "How long to wait for another mxflow or a foreign process before giving up the launch."},
			{Name: "settle", Type: plans.Duration, Default: "30s", Doc: "How long the memory can take to be released after the engine has stopped."},
			{Name: "ignore", Type: plans.Strings, Doc: "Globs of programs that are allowed on the GPU, matched against path and name. Those of the desktop and the driver always are."},
			{Name: "idle_mb", Type: plans.Int, Default: 1024.0, Unit: "MiB", MinSet: true, Doc: "Memory in use on a GPU that is allowed although no process accounts for it: the desktop's, or the driver's own."},
			{Name: "max_temperature", Type: plans.Number, Unit: "°C", Min: 1, MinSet: true, Max: 150, Doc: "Before each launch, wait until the GPU is no hotter than this, for at most `wait`, so every launch starts alike."},
			{Name: "max_power", Type: plans.Number, Unit: "W", Min: 1, MinSet: true, Max: 100_000, Doc: "Before each launch, wait until the GPU draws no more than this."},
			{Name: "min_clock", Type: plans.Number, Unit: "MHz", Min: 1, MinSet: true, Max: 100_000, Doc: "Before each launch, wait until the SM clock is no lower than this. An idle GPU lowers it, so this is useful only with locked clocks."},
			{Name: "max_clock", Type: plans.Number, Unit: "MHz", Min: 1, MinSet: true, Max: 100_000, Doc: "Before each launch, wait until that clock is no higher than this."},
		},
		Example: `gpu {
  devices = ["0"]
  wait    = "30m"
}`,
		Check: checkGPU,
	},
}

func checkGPU(b *plans.Block) (wrong []plans.AttrError) {
	c, err := GPUOf(b)
	if err != nil {
		return []plans.AttrError{{Code: "invalid-value", Summary: "Invalid gpu block", Detail: err.Error()}}
	}
	for _, glob := range c.Ignore {
		if glob == "" || glob == "*" {
			wrong = append(wrong, plans.AttrError{Attr: "ignore", Code: "evidence-proves-nothing", Summary: "Glob matches everything", Detail: "It would wait for no process. Name the programs that are allowed, such as \"Xorg\"."})
		}
	}
	return wrong
}

type GPU struct {
	Devices *[]string `json:"devices"`
	Wait    plans.Dur `json:"wait"`
	Settle  plans.Dur `json:"settle"`
	Ignore  []string  `json:"ignore"`
	IdleMB  float64   `json:"idle_mb"`
	// The required state of the GPU before a launch; 0 requires nothing.
	MaxTemperature float64 `json:"max_temperature"`
	MaxPower       float64 `json:"max_power"`
	MinClock       float64 `json:"min_clock"`
	MaxClock       float64 `json:"max_clock"`
}

// GPUOf reads a gpu block; nil gives the defaults.
func GPUOf(b *plans.Block) (c GPU, err error) {
	c = GPU{Wait: plans.Dur(10 * time.Minute), Settle: plans.Dur(30 * time.Second), IdleMB: 1024}
	if b != nil {
		err = b.Decode(&c)
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
	c, err := GPUOf(e.Parts["gpu"][0])
	if err != nil || c.Devices == nil || slices.Contains(*c.Devices, "all") {
		return err
	}
	if _, own := spec.Env["CUDA_VISIBLE_DEVICES"]; own || slices.Contains(spec.Unset, "CUDA_VISIBLE_DEVICES") {
		return nil
	}
	names := slices.DeleteFunc(slices.Clone(*c.Devices), func(s string) bool { return s == "none" })
	shown := map[string]string{"CUDA_VISIBLE_DEVICES": strings.Join(names, ","), "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
	maps.Copy(shown, spec.Env)
	spec.Env = shown
	return nil
}
