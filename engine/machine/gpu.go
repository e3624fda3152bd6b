package machine

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mxflow/mxflow/internal/foreign"
)

type GPU struct {
	// Index is nvidia-smi's, which follows the PCI bus, or that of another vendor's tool.
	Index int `yaml:"index"`
	// UUID identifies the GPU permanently ("GPU-…"), Name is its product name.
	UUID   string `yaml:"uuid"`
	Vendor string `yaml:"vendor,omitempty"`
	Name   string `yaml:"name"`
	Driver string `yaml:"driver,omitempty"`
	// Values are all fields with a value, by their names in nvidia-smi, in its notation
	// without units: MiB, MHz, W and °C. Unsupported ones are absent, so they are never
	// taken for zero.
	Values map[string]string `yaml:"values,omitempty"`
	// order is where AMD's runtime counts it, from 0; -1 if unknown.
	order int
}

// Number is a value as a number; false if it is absent or not a number.
func (g GPU) Number(field string) (float64, bool) {
	n, err := strconv.ParseFloat(g.Values[field], 64)
	return n, err == nil && n-n == 0 // neither infinite nor NaN
}

// Unified reports whether the GPU has no memory of its own but shares the host's, as GB10
// does: nvidia-smi then reports no total.
func (g GPU) Unified() bool {
	_, ok := g.Number("memory.total")
	return !ok
}

func (g GPU) String() string { return fmt.Sprintf("GPU %d (%s, %s)", g.Index, g.Name, g.UUID) }

// field is one field to query from nvidia-smi. Drivers know it under one of several
// names, the newest first.
type field struct {
	name  string
	words []string
}

// fields are queried all at once. The first four are required.
var fields = fieldsOf(`index uuid|gpu_uuid name|gpu_name driver_version pci.bus_id compute_cap vbios_version pstate
	temperature.gpu memory.total memory.used utilization.gpu power.draw power.limit power.default_limit
	clocks.current.sm|clocks.sm clocks.current.memory|clocks.mem clocks.max.sm clocks.max.memory
	clocks.applications.graphics clocks.applications.memory clocks.default_applications.graphics
	clocks_event_reasons.active|clocks_throttle_reasons.active persistence_mode compute_mode ecc.mode.current mig.mode.current`)

func fieldsOf(names string) (list []field) {
	for _, name := range strings.Fields(names) {
		words := strings.Split(name, "|")
		list = append(list, field{words[0], words})
	}
	return list
}

func nvidiaGPUs(ctx context.Context) ([]GPU, error) {
	out, asked, err := query(ctx, fields, 4)
	if err != nil {
		return nil, err
	}
	return parseGPUs(out, asked)
}

func parseGPUs(out string, asked []field) (list []GPU, err error) {
	for line := range strings.Lines(out) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		g, err := parseGPU(line, asked)
		if err != nil {
			return nil, err
		}
		list = append(list, g)
	}
	return list, nil
}

// findSMI is the path of nvidia-smi; the error wraps ErrNoGPU.
func findSMI() (string, error) {
	path, err := exec.LookPath("nvidia-smi")
	if err != nil {
		return "", fmt.Errorf("%w: nvidia-smi is not in PATH", ErrNoGPU)
	}
	return path, nil
}

// smi runs nvidia-smi. The error wraps ErrNoGPU if there is nothing to query.
func smi(ctx context.Context, args ...string) (string, error) {
	path, err := findSMI()
	if err != nil {
		return "", err
	}
	out, said, err := runTool(ctx, path, args...)
	out += said // it reports errors in both
	switch {
	case err == nil && strings.HasPrefix(strings.TrimSpace(out), "No devices were found"):
		return "", fmt.Errorf("%w: nvidia-smi found no device", ErrNoGPU)
	case err == nil:
		return out, nil
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return "", fmt.Errorf("nvidia-smi did not answer: %w", err)
	}
	for _, none := range []string{
		"No devices were found", "couldn't communicate with the NVIDIA driver",
		"couldn't find libnvidia-ml", "NVML library",
	} {
		if strings.Contains(out, none) {
			return "", fmt.Errorf("%w: nvidia-smi says %q", ErrNoGPU, foreign.Clean(strings.TrimSpace(out)))
		}
	}
	return "", &smiError{out, err}
}

// smiError is nvidia-smi's refusal, in its own words.
type smiError struct {
	said string
	err  error
}

func (e *smiError) Error() string {
	return fmt.Sprintf("nvidia-smi failed (%v): %s", e.err, foreign.Clean(strings.TrimSpace(e.said)))
}

func (e *smiError) Unwrap() error { return e.err }

var unknownField = regexp.MustCompile(`Field "([^"]+)" is not a valid field`)

// query queries fields of GPUs, the first needed ones of which are required, and returns
// which it got. args name the GPUs, none means all.
//
// One field unknown to the driver makes nvidia-smi reject the whole query. Then it is
// repeated with the field's older name, and finally without it; if it names none, with the
// needed fields, which every driver knows.
func query(ctx context.Context, ask []field, needed int, args ...string) (out string, asked []field, err error) {
	for ask = slices.Clone(ask); ; {
		out, err := smi(ctx, append([]string{question(ask), "--format=csv,noheader,nounits"}, args...)...)
		if err == nil {
			return out, ask, nil
		}
		refused, ok := errors.AsType[*smiError](err)
		if !ok {
			return "", nil, err
		}
		m := unknownField.FindStringSubmatch(refused.said)
		i := -1
		if m != nil {
			i = slices.IndexFunc(ask, func(f field) bool { return f.words[0] == m[1] })
		}
		switch {
		case m == nil && len(ask) > needed:
			ask = ask[:needed]
		case i >= 0 && len(ask[i].words) > 1:
			ask[i].words = ask[i].words[1:]
		case i >= 0:
			ask = slices.Delete(ask, i, i+1)
		default:
			return "", nil, err
		}
	}
}

// question is the argument that queries fields.
func question(ask []field) string {
	words := make([]string, len(ask))
	for i, f := range ask {
		words[i] = f.words[0]
	}
	return "--query-gpu=" + strings.Join(words, ",")
}

// absent are nvidia-smi's notations for a missing value.
var absent = map[string]bool{
	"": true, "N/A": true, "[N/A]": true, "[Not Supported]": true, "[Unknown Error]": true, "[Not Found]": true,
	"[Insufficient Permissions]": true, "[GPU requires reset]": true, "[GPU is lost]": true,
	"Requested functionality has been deprecated": true, "[Requested functionality has been deprecated]": true,
}

// value is a cell of nvidia-smi's CSV; false if it marks a missing value.
func value(cell string) (string, bool) {
	cell = strings.TrimSpace(cell)
	return cell, !absent[cell] && !strings.HasPrefix(cell, "[Unknown")
}

// parseGPU parses a line of a query's output. A line that is not exactly as requested is an
// error, and so is one without its index or UUID: a number in the wrong place is worse than
// none, and what cannot be identified cannot be locked.
func parseGPU(line string, asked []field) (GPU, error) {
	line = strings.TrimSpace(line)
	cells := strings.Split(line, ",")
	if len(cells) != len(asked) {
		return GPU{},
			fmt.Errorf("nvidia-smi printed %d values for %d fields: %q", len(cells), len(asked), foreign.Clean(line))
	}
	g := GPU{Values: map[string]string{}}
	for i, f := range asked {
		v, ok := value(cells[i])
		if ok && !plausible(f.name, v) || !ok && (f.name == "index" || f.name == "uuid") {
			return GPU{}, fmt.Errorf("nvidia-smi printed %q as %s: %q", foreign.Clean(v), f.name, foreign.Clean(line))
		}
		switch {
		case !ok:
		case f.name == "index":
			g.Index, _ = strconv.Atoi(v)
		case f.name == "uuid":
			g.UUID = v
		case f.name == "name":
			g.Name = v
		case f.name == "driver_version":
			g.Driver = v
		default:
			g.Values[f.name] = v
		}
	}
	return g, nil
}

// plausible reports whether a field can have this value.
func plausible(name, v string) bool {
	most := 1e9
	switch name {
	case "clocks_event_reasons.active":
		_, ok := throttleMask(v)
		return ok
	case "utilization.gpu":
		most = 100
	case "index", "power.draw", "power.draw.instant", "memory.used", "clocks.current.sm", "clocks.current.memory",
		"temperature.gpu":
	default:
		return true
	}
	n, err := strconv.ParseFloat(v, 64)
	return err == nil && n >= 0 && n <= most
}

// reasons are the bits of clocks_event_reasons.active, from NVML's header, the lowest first.
var reasons = []string{
	"idle", "application clocks", "software power cap", "hardware slowdown", "sync boost", "software thermal slowdown",
	"hardware thermal slowdown", "power brake", "display clocks",
}

// Throttle is the driver's bit mask of what reduces the clocks now; false if it does not
// report it.
func (g GPU) Throttle() (uint64, bool) { return throttleMask(g.Values["clocks_event_reasons.active"]) }

func throttleMask(v string) (uint64, bool) {
	mask, err := strconv.ParseUint(strings.TrimPrefix(v, "0x"), 16, 64)
	return mask, err == nil
}

// Throttled is what reduces the clocks now, in words. ok is false if the driver does not
// report it; none with ok means that nothing does.
func (g GPU) Throttled() (words []string, ok bool) {
	mask, ok := g.Throttle()
	for bit, word := range reasons {
		if mask&(1<<bit) != 0 {
			words = append(words, word)
		}
		mask &^= 1 << bit
	}
	if mask != 0 {
		words = append(words, fmt.Sprintf("reason 0x%x", mask))
	}
	return words, ok
}

// MIGParents are the MIG devices of this machine, each with the UUID of its GPU.
func MIGParents(ctx context.Context) (map[string]string, error) {
	out, err := smi(ctx, "-L")
	if errors.Is(err, ErrNoGPU) {
		return nil, nil
	}
	return parseParents(out), err
}

// parseParents parses `nvidia-smi -L`: a GPU, and below it its MIG devices.
func parseParents(out string) map[string]string {
	parents := map[string]string{}
	gpu := ""
	for line := range strings.Lines(out) {
		_, rest, ok := strings.Cut(line, "(UUID: ")
		if !ok {
			continue
		}
		uuid, _, _ := strings.Cut(rest, ")")
		if strings.HasPrefix(uuid, "MIG-") {
			parents[uuid] = gpu
		} else {
			gpu = uuid
		}
	}
	return parents
}

// gpuFingerprint is the GPUs' part of Environment: gpu (names with UUIDs, ordered by UUID)
// and driver; empty if there is no GPU. If a tool is broken, gpu says so, so numbers
// from before and after it are not taken for the same machine's. It is queried once per
// process.
var gpuFingerprint = sync.OnceValue(func() map[string]string {
	list, err := GPUs(context.Background())
	if err != nil {
		return map[string]string{"gpu": "unknown: " + shownBy() + " does not answer"}
	}
	return fingerprintOf(list)
})

func fingerprintOf(list []GPU) map[string]string {
	var names, drivers []string
	for _, g := range slices.SortedFunc(slices.Values(list), func(a, b GPU) int {
		return strings.Compare(a.UUID, b.UUID)
	}) {
		names, drivers = append(names, g.Name+" "+g.UUID), append(drivers, g.Driver)
	}
	slices.Sort(drivers)
	return map[string]string{"gpu": strings.Join(names, ", "), "driver": strings.Join(slices.Compact(drivers), ", ")}
}

var cudaVersion = regexp.MustCompile(`CUDA Version\s*:\s*([0-9.]+)`)

// driverCUDA is the newest CUDA that the driver supports, empty if unknown.
var driverCUDA = sync.OnceValue(func() string {
	out, _ := smi(context.Background())
	if m := cudaVersion.FindStringSubmatch(out); m != nil {
		return m[1]
	}
	return ""
})

// ChooseGPUs picks GPUs by index ("0"), by UUID ("GPU-8f…", or an unambiguous prefix) or by
// MIG device ("MIG-…", which stands for its GPU, by parents). "all" is every GPU, "none"
// none. A name that matches no GPU is an error that lists the existing ones.
func ChooseGPUs(all []GPU, parents map[string]string, names []string) (out []GPU, err error) {
	chosen := map[string]bool{}
	for _, name := range names {
		switch name = strings.TrimSpace(name); name {
		case "none", "void":
			return nil, nil
		case "all":
			return all, nil
		}
		g, err := gpuNamed(all, parents, name)
		if err != nil {
			return nil, err
		}
		chosen[g.UUID] = true
	}
	for _, g := range all {
		if chosen[g.UUID] {
			out = append(out, g)
		}
	}
	return out, nil
}

func gpuNamed(all []GPU, parents map[string]string, name string) (GPU, error) {
	if len(all) == 0 {
		return GPU{}, fmt.Errorf("GPU %q is requested, but %s shows none on this machine", name, shownBy())
	}
	if uuid, ok := parents[name]; ok {
		name = uuid
	}
	index, err := strconv.Atoi(name)
	byIndex := err == nil
	var fits []GPU
	var there []string
	for _, g := range all {
		if byIndex && g.Index == index || !byIndex && len(name) > len("GPU-") && strings.HasPrefix(g.UUID, name) {
			fits = append(fits, g)
		}
		there = append(there, g.String())
	}
	switch len(fits) {
	case 1:
		return fits[0], nil
	case 0:
		return GPU{}, fmt.Errorf("there is no GPU %q; there are %s", name, strings.Join(there, ", "))
	}
	if byIndex { // of several vendors
		return GPU{},
			fmt.Errorf("%q is the index of several GPUs: use UUIDs; there are %s", name, strings.Join(there, ", "))
	}
	return GPU{}, fmt.Errorf("%q matches several UUIDs; there are %s", name, strings.Join(there, ", "))
}

// VisibleGPUs are the GPUs that a program sees with CUDA_VISIBLE_DEVICES set to list, as
// CUDA interprets it: the first name without a match hides those after it.
//
// CUDA counts by speed unless CUDA_DEVICE_ORDER is PCI_BUS_ID, and nvidia-smi by bus. If
// GPUs differ, an index is therefore ambiguous: then all of them are returned, and sure
// is false.
func VisibleGPUs(all []GPU, parents map[string]string, list, order string) (visible []GPU, sure bool) {
	alike := order == "PCI_BUS_ID" || !slices.ContainsFunc(all, func(g GPU) bool { return g.Name != all[0].Name })
	seen := map[string]bool{}
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if _, err := strconv.Atoi(name); err == nil && !alike {
			return all, false
		}
		g, err := gpuNamed(all, parents, name)
		if err != nil {
			break
		}
		if !seen[g.UUID] {
			visible = append(visible, g)
		}
		seen[g.UUID] = true
	}
	return visible, true
}

func visibleNVIDIA(all []GPU, parents map[string]string, lookup lookup) (list []GPU, by, unsure string) {
	const name = "CUDA_VISIBLE_DEVICES"
	text, set := lookup(name)
	if !set {
		return nil, "", ""
	}
	order, _ := lookup("CUDA_DEVICE_ORDER")
	list, sure := VisibleGPUs(all, parents, text, order)
	if !sure {
		unsure = name
	}
	return list, name, unsure
}
