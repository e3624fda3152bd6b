package machine

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/internal/group"
)

// vendor is a maker of GPUs: how its own are listed, watched and selected. All values have
// the names and units of nvidia-smi's fields, so those who read them know no vendor.
type vendor struct {
	name string
	// tools are the commands that show its GPUs. The first in PATH is asked.
	tools []string
	// list lists the GPUs; the error wraps ErrNoGPU if there is none. processes are those
	// that compute on them.
	list      func(ctx context.Context) ([]GPU, error)
	processes func(ctx context.Context) ([]GPUProcess, error)
	// watch reads the GPUs of w once. An error says which one shows no values. sources then
	// deliver readings until sampling ends, each within a time of next.
	watch   func(ctx context.Context, w *gpuSamples) ([]GPU, error)
	sources []func(w *gpuSamples)
	next    time.Duration
	// software is the newest runtime for which the driver is known to be enough, and its
	// version; empty if unknown.
	software func() (name, version string)
	// variables make only these of its GPUs visible to a process, or none; unset are others
	// that would select among them once more.
	variables func(gpus []GPU) map[string]string
	unset     []string
	// visible are the GPUs of all that a process with these variables sees. by is empty if no
	// variable selects any; unsure names one that does not say which.
	visible func(all []GPU, parents map[string]string, lookup lookup) (list []GPU, by, unsure string)
	// container is the word for its GPUs in a docker block, if it is not "all".
	container string
}

// lookup is a process's environment variable, and whether it is set.
type lookup = func(name string) (value string, set bool)

// vendors are all that are known.
var vendors []*vendor

func init() { // their functions refer to the table
	vendors = []*vendor{
		{
			name: "NVIDIA", tools: []string{"nvidia-smi"}, list: nvidiaGPUs, processes: nvidiaProcesses,
			watch: watchNVIDIA, sources: []func(*gpuSamples){(*gpuSamples).followValues, (*gpuSamples).followProcesses},
			next:     300 * time.Millisecond,
			software: func() (string, string) { return "driver_cuda", driverCUDA() },
			variables: func(gpus []GPU) map[string]string {
				return map[string]string{"CUDA_VISIBLE_DEVICES": strings.Join(uuidsOf(gpus), ",")}
			},
			visible: visibleNVIDIA,
		},
		{
			name: "AMD", tools: amdTools, list: amdGPUs, processes: amdProcesses,
			watch: watchAMD, sources: []func(*gpuSamples){(*gpuSamples).poll}, next: 2 * pollEvery,
			software: func() (string, string) { return "driver_rocm", driverROCm() },
			// ROCr filters first, and HIP counts what is left from 0.
			variables: variablesAMD,
			unset:     []string{"CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"},
			visible:   visibleAMD,
			container: "amd",
		},
	}
}

// ErrNoGPU means that this machine has no vendor's tool, or that it sees no GPU.
var ErrNoGPU = errors.New("this machine has no GPU that can be listed")

// tool is the path of the command that shows its GPUs; empty if there is none.
func (v *vendor) tool() string { return firstInPath(v.tools) }

func firstInPath(names []string) string {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// of are the vendor's GPUs among all.
func (v *vendor) of(all []GPU) (list []GPU) {
	for _, g := range all {
		if g.Vendor == v.name || g.Vendor == "" && v == vendors[0] {
			list = append(list, g)
		}
	}
	return list
}

// shownBy is which tools show this machine's GPUs, for messages.
func shownBy() string {
	var names []string
	for _, v := range vendors {
		if path := v.tool(); path != "" {
			names = append(names, path[strings.LastIndexByte(path, '/')+1:])
		}
	}
	if len(names) == 0 {
		return vendors[0].tools[0]
	}
	return strings.Join(names, " and ")
}

// GPUs queries all GPUs of all vendors. Without one the list is empty and the error nil;
// the drivers are asked each time, so momentary values are current.
func GPUs(ctx context.Context) (all []GPU, err error) {
	for _, v := range vendors {
		list, err := v.list(ctx)
		if err != nil && !errors.Is(err, ErrNoGPU) {
			return nil, err
		}
		for _, g := range list {
			g.Vendor = v.name
			all = append(all, g)
		}
	}
	return all, nil
}

// gpuProcesses are all processes that compute on this machine's GPUs. Those in other PID
// namespaces are missing, or have other numbers there.
func gpuProcesses(ctx context.Context) (all []GPUProcess, err error) {
	for _, v := range vendors {
		list, err := v.processes(ctx)
		if err != nil && !errors.Is(err, ErrNoGPU) {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// vendorsOf divides GPUs by vendor. If there is one vendor's tool, all are its own.
func vendorsOf(ctx context.Context, uuids []string) (map[*vendor][]string, error) {
	there := slices.DeleteFunc(slices.Clone(vendors), func(v *vendor) bool { return v.tool() == "" })
	if len(there) < 2 {
		return map[*vendor][]string{append(there, vendors[0])[0]: uuids}, nil
	}
	all, err := GPUs(ctx)
	if err != nil {
		return nil, err
	}
	out := map[*vendor][]string{}
	for _, uuid := range uuids {
		i := slices.IndexFunc(vendors, func(v *vendor) bool { return slices.Contains(uuidsOf(v.of(all)), uuid) })
		if i < 0 {
			return nil, fmt.Errorf("%s show no GPU %s", shownBy(), uuid)
		}
		out[vendors[i]] = append(out[vendors[i]], uuid)
	}
	return out, nil
}

func uuidsOf(gpus []GPU) (out []string) {
	for _, g := range gpus {
		out = append(out, g.UUID)
	}
	return out
}

// VisibleVariables are the variables that make only these GPUs visible to a process, or
// none, and those that must not be set for it.
func VisibleVariables(gpus []GPU) (env map[string]string, unset []string) {
	env = map[string]string{}
	for _, v := range vendors {
		own := v.of(gpus)
		if len(own) == 0 && v.tool() == "" {
			continue
		}
		for name, value := range v.variables(own) {
			env[name] = value
		}
		if len(own) > 0 {
			unset = append(unset, v.unset...)
		}
	}
	unset = slices.DeleteFunc(unset, func(name string) bool { return env[name] != "" })
	for _, name := range unset {
		delete(env, name)
	}
	return env, unset
}

// SelectedGPUs are the GPUs that a process with these variables sees: those that variables
// select, and rest, those of vendors for which no variable is set. unsure names a variable
// that does not say which, so all of the vendor's count.
func SelectedGPUs(all []GPU, parents map[string]string, lookup lookup) (selected, rest []GPU, unsure string) {
	for _, v := range vendors {
		own := v.of(all)
		if len(own) == 0 {
			continue
		}
		list, by, doubt := v.visible(own, parents, lookup)
		if by == "" {
			rest = append(rest, own...)
			continue
		}
		selected = append(selected, list...)
		if doubt != "" {
			unsure = doubt
		}
	}
	return selected, rest, unsure
}

// ContainerGPUs are the GPUs from which a docker block's gpus choose: all of the vendor that
// has the word, else those of vendors without one.
func ContainerGPUs(gpus any, all []GPU) (list []GPU) {
	for _, v := range vendors {
		if v.container == "" && !IsContainerWord(gpus) || v.container != "" && gpus == v.container {
			list = append(list, v.of(all)...)
		}
	}
	return list
}

// IsContainerWord reports whether a docker block's gpus is the word for all GPUs of a
// vendor.
func IsContainerWord(gpus any) bool {
	return slices.ContainsFunc(vendors, func(v *vendor) bool { return v.container != "" && gpus == v.container })
}

// SelectingVariables are all variables that select GPUs for a process.
func SelectingVariables() (names []string) {
	for _, v := range vendors {
		for name := range v.variables(nil) {
			names = append(names, name)
		}
		names = append(names, v.unset...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// toolLimit is how long a tool may take: if a driver hangs, its tool does too.
const toolLimit = 20 * time.Second

// runTool runs a vendor's tool to its end, and returns what it printed and what it said of
// errors.
func runTool(ctx context.Context, path string, args ...string) (out, said string, err error) {
	ctx, cancel := context.WithTimeout(ctx, toolLimit)
	defer cancel()
	text, err := group.Command(ctx, path, args...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		said = string(exit.Stderr)
	}
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return string(text), said, err
}
