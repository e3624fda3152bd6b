// Package gpu knows what nvidia-smi reports about this machine's GPUs, which of them an
// engine uses, who is using them, and how one mxflow keeps others off them. It knows
// nothing about engines. A machine without a GPU, or without nvidia-smi, is a normal
// machine with an empty list.
package gpu

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mxflow/mxflow/engine/logscan"
)

// GPU is one GPU as nvidia-smi describes it.
type GPU struct {
	// Index is nvidia-smi's, which follows the PCI bus.
	Index int
	// UUID identifies the GPU permanently ("GPU-…"), Name is its product name.
	UUID, Name string
	// Driver is the version of the kernel driver.
	Driver string
	// Values are all fields with a value, by their names in nvidia-smi, in its notation
	// without units: MiB, MHz, W and °C. Unsupported ones are absent, so they are never
	// taken for zero.
	Values map[string]string
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

// String names the GPU for people.
func (g GPU) String() string { return fmt.Sprintf("GPU %d (%s, %s)", g.Index, g.Name, g.UUID) }

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

// parseGPUs parses a query's output, one GPU per line. A line without the required cells,
// index or UUID is an error: what cannot be identified cannot be locked.
func parseGPUs(out string, fields []field) ([]GPU, error) {
	var list []GPU
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		cells := strings.Split(line, ",")
		if len(cells) != len(fields) {
			return nil, fmt.Errorf("nvidia-smi printed %d values for %d fields: %q", len(cells), len(fields), logscan.Clean(line))
		}
		g := GPU{Values: map[string]string{}}
		for i, f := range fields {
			if v, ok := value(cells[i]); ok {
				g.Values[f.name] = v
			}
		}
		index, err := strconv.Atoi(g.Values["index"])
		if err != nil || g.Values["uuid"] == "" {
			return nil, fmt.Errorf("nvidia-smi printed a GPU without index or UUID: %q", logscan.Clean(line))
		}
		g.Index, g.UUID, g.Name, g.Driver = index, g.Values["uuid"], g.Values["name"], g.Values["driver_version"]
		for _, own := range []string{"index", "uuid", "name", "driver_version"} {
			delete(g.Values, own)
		}
		list = append(list, g)
	}
	return list, nil
}

// reasons are the bits of clocks_event_reasons.active, from NVML's header.
var reasons = []struct {
	bit  uint64
	word string
}{
	{1, "idle"},
	{2, "application clocks"},
	{4, "software power cap"},
	{8, "hardware slowdown"},
	{16, "sync boost"},
	{32, "software thermal slowdown"},
	{64, "hardware thermal slowdown"},
	{128, "power brake"},
	{256, "display clocks"},
}

// Throttled is what reduces the clocks now, in words. ok is false if the driver does not
// report it; none with ok means that nothing does.
func (g GPU) Throttled() (words []string, ok bool) {
	mask, ok := g.Throttle()
	if !ok {
		return nil, false
	}
	return reasonsIn(mask), true
}

// Throttle is the driver's bit mask of what reduces the clocks now; false if it does not
// report it.
func (g GPU) Throttle() (uint64, bool) {
	mask, err := strconv.ParseUint(strings.TrimPrefix(g.Values["clocks_event_reasons.active"], "0x"), 16, 64)
	return mask, err == nil
}

// reasonsIn are the bits of such a mask in words.
func reasonsIn(mask uint64) (words []string) {
	for _, r := range reasons {
		if mask&r.bit != 0 {
			words = append(words, r.word)
		}
		mask &^= r.bit
	}
	if mask != 0 {
		words = append(words, fmt.Sprintf("reason 0x%x", mask))
	}
	return words
}

// Parents are the MIG devices of this machine, each with the UUID of its GPU.
func Parents(ctx context.Context) (map[string]string, error) {
	out, err := smi(ctx, "-L")
	if errors.Is(err, ErrNone) {
		return nil, nil
	}
	return parseParents(out), err
}

// Fingerprint is the part of this machine that measurements depend on, for measurement
// keys: gpu (names with UUIDs, ordered by UUID) and driver. It is empty if there is no
// GPU. If nvidia-smi is broken, gpu says so, so numbers from before and after it are not
// taken for the same machine's. It is queried once per process.
var Fingerprint = sync.OnceValue(func() map[string]string {
	list, err := List(context.Background())
	if err != nil {
		return map[string]string{"gpu": "unknown: nvidia-smi does not answer"}
	}
	return fingerprintOf(list)
})

// fingerprintOf is Fingerprint for these GPUs.
func fingerprintOf(list []GPU) map[string]string {
	if len(list) == 0 {
		return nil
	}
	var names, drivers []string
	for _, g := range list {
		names = append(names, g.Name+" "+g.UUID)
		if g.Driver != "" && !slices.Contains(drivers, g.Driver) {
			drivers = append(drivers, g.Driver)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return strings.Compare(a[strings.LastIndex(a, " "):], b[strings.LastIndex(b, " "):])
	})
	slices.Sort(drivers)
	out := map[string]string{"gpu": strings.Join(names, ", ")}
	if len(drivers) > 0 {
		out["driver"] = strings.Join(drivers, ", ")
	}
	return out
}

var cudaVersion = regexp.MustCompile(`CUDA Version\s*:\s*([0-9.]+)`)

// DriverCUDA is the newest CUDA that the driver supports, empty if unknown.
func DriverCUDA(ctx context.Context) string {
	out, err := smi(ctx)
	if err != nil {
		return ""
	}
	if m := cudaVersion.FindStringSubmatch(out); m != nil {
		return m[1]
	}
	return ""
}
