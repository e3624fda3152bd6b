package load

import (
	"slices"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

// mostSlots bounds the launches that stand side by side on one host.
const mostSlots = 64

var executorDoc = &lang.BlockDoc{
	Type: "executor", Times: plans.AtMost1,
	Labels: []lang.Label{{Name: "kind", Doc: "How launches get there: `local` is side by side on this host."}},
	Doc:    "Where the launches of a benchmark stand. Without it they go on one after the other. With it, rounds (one launch of every arm) stand side by side, each on a place of its own: GPUs, and CPUs of the same NUMA node. Arms are compared within their rounds, so that places may differ. docs/executors.md has what that costs and what it does not see.",
	Attrs: []plans.Attr{
		{Name: "devices", Type: plans.Strings, Doc: "GPUs to share out, by index or UUID as nvidia-smi shows them. They have to be of one model. Without it only CPUs are shared out, for engines that use no GPU."},
		{Name: "per_launch", Type: plans.Int, Default: 1.0, Unit: "GPUs", Min: 1, MinSet: true, Max: mostSlots, Doc: "How many of them one launch has, neighbours by index: what `tensor_parallel_size` and its like ask for."},
		{Name: "slots", Type: plans.Int, Unit: "launches", Min: 1, MinSet: true, Max: mostSlots, Doc: "How many launches go on at once. Without it, one on each place. Neighbours share memory bandwidth, PCIe and power: fewer slots than devices leave some idle, in turn."},
		{Name: "bind", Type: plans.Bool, Default: true, Doc: "Give each place CPUs of its own, near its GPUs where that is known. They go to the engine; mxflow's own client uses all."},
	},
	Example: `executor "local" {
  devices = ["0", "1", "2", "3"]
}`,
}

func (l *loader) decodeExecutor(blocks hcl.Blocks) {
	b := l.Single(blocks)
	if b == nil {
		return
	}
	before := len(l.Diags)
	f := l.Fields(b, executorDoc)
	e := &plans.Executor{
		Kind: b.Labels[0], Devices: f.Texts("devices"), PerLaunch: f.Whole("per_launch"), Slots: f.Whole("slots"), Bind: f.Truth("bind"), Range: lang.RangeOf(b.DefRange),
	}
	if e.Kind != plans.LocalExecutor {
		l.Fail(b.LabelRanges[0], "unknown-reference", "Unknown executor", "There is no executor %q. Write executor %q, for launches side by side on this host.", e.Kind, plans.LocalExecutor)
	}
	if len(l.Diags) > before {
		return
	}
	seen := map[string]bool{}
	for _, d := range e.Devices {
		if d == "all" || d == "none" {
			l.Fail(f.At("devices"), "executor", "Device by name", "%q is no device. Name each by its index or UUID, such as [\"0\", \"1\"]: they are shared out among launches.", d)
		}
		if seen[d] {
			l.Fail(f.At("devices"), "duplicate-name", "Duplicate device", "%q is in the list already. Remove one.", d)
		}
		seen[d] = true
	}
	_, listed := f.Value("devices")
	switch {
	case listed && len(e.Devices) == 0:
		l.Fail(f.At("devices"), "executor", "No devices", "The list is empty. Name GPUs, such as [\"0\", \"1\"], or leave it out to share out CPUs alone.")
	case !listed && e.Slots == 0:
		l.Fail(b.DefRange, "executor", "Nothing to share out", "Name devices = [\"0\", \"1\"], or with CPUs alone how many launches go on at once: slots = 2.")
	case listed && len(e.Devices)%e.PerLaunch != 0:
		l.Fail(f.At("per_launch"), "executor", "Devices left over", "%d devices do not divide into launches of %d. Name %d.", len(e.Devices), e.PerLaunch, len(e.Devices)/e.PerLaunch*e.PerLaunch)
	case !listed && e.PerLaunch != 1:
		l.Fail(f.At("per_launch"), "executor", "GPUs of no devices", "per_launch counts GPUs, and devices names none. Add devices, or remove it.")
	case listed && e.Slots > e.Places():
		l.Fail(f.At("slots"), "executor", "More slots than places", "The devices make places for %d at once, and slots asks for %d. Lower slots, or name more devices.", e.Places(), e.Slots)
	}
	if e.Slots == 0 && len(l.Diags) == before {
		e.Slots = e.Places()
	}
	l.plan.Executor = e
}

// checkExecutor looks whether the engine under test can stand on several places.
func (c *planCheck) checkExecutor() {
	x, e := c.plan.Executor, c.plan.UnderTest()
	if x == nil || e == nil {
		return
	}
	name := c.plan.Baseline.Engine
	if e.Launch != nil && slices.Contains([]string{"endpoint", "compose", "exec"}, e.Launch.Kind) {
		c.Fail(lang.HCL(x.Range), "executor", "Engine that has one place", "Engine %s is launched by %s, of which there is one. Remove the executor, or launch the engine as a process or by docker.", name, e.Launch.Kind)
	}
	if len(x.Devices) > 0 && len(e.Parts["gpu"]) > 0 && e.Parts["gpu"][0].Attrs["devices"] != nil {
		c.Fail(lang.HCL(x.Range), "executor", "Engine that has one place", "Both the executor and the gpu block of engine %s say which GPUs it uses. Remove devices there.", name)
	}
	if _, own := e.Env["CUDA_VISIBLE_DEVICES"]; own && len(x.Devices) > 0 {
		c.Fail(lang.HCL(x.Range), "executor", "Engine that has one place", "Both the executor and CUDA_VISIBLE_DEVICES of engine %s say which GPUs it uses. Remove that from env.", name)
	}
}
