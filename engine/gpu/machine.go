package gpu

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Parents are the MIG devices of this machine, each with the UUID of its GPU.
func Parents(ctx context.Context) (map[string]string, error) {
	out, err := smi(ctx, "-L")
	if errors.Is(err, ErrNone) {
		return nil, nil
	}
	return parseParents(out), err
}

// Fingerprint is what measurements on this machine depend on, for measurement
// keys: gpu (names with UUIDs, in the order of the UUIDs) and driver. It is empty
// where there is no GPU. Where nvidia-smi is broken, gpu says so, so that numbers
// from before and after it are not taken for the same machine's. The question is
// asked once in the life of this process.
var Fingerprint = sync.OnceValue(func() map[string]string {
	list, err := List(context.Background())
	if err != nil {
		return map[string]string{"gpu": "unknown: nvidia-smi does not answer"}
	}
	return FingerprintOf(list)
})

// FingerprintOf is Fingerprint for these GPUs.
func FingerprintOf(list []GPU) map[string]string {
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

// DriverCUDA is the newest CUDA that the driver runs, empty where unknown.
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
