package telemetry

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

// rapl adds up what the packages of this machine's processors have used, from the
// kernel's powercap (Intel's and AMD's alike). Parts of a package, such as its
// cores, are in the package's count already, and so are those that are listed a
// second time for another interface (intel-rapl-mmio).
type rapl struct {
	zones []*zone
	joule float64
}

// HostEnergy reports whether this machine's energy can be read.
func HostEnergy() bool { return len(newRAPL("/", newTape(time.Now())).zones) > 0 }

// zone is one package's counter.
type zone struct {
	path string
	// last and limit are in µJ; the counter begins again at 0 after limit.
	last, limit float64
}

func newRAPL(root string, t *tape) *rapl {
	r := &rapl{}
	paths, _ := filepath.Glob(root + "sys/class/powercap/intel-rapl:*")
	for _, path := range paths {
		name, err := os.ReadFile(filepath.Join(path, "name"))
		if err != nil || !strings.HasPrefix(string(name), "package") {
			continue
		}
		z := &zone{path: filepath.Join(path, "energy_uj")}
		if z.last, err = number(z.path); err != nil {
			if denied(err) {
				t.tell("rapl", "the host's energy was not recorded: only root may read %s", z.path)
			} else {
				t.tell("rapl", "the host's energy was not recorded: %v", err)
			}
			return &rapl{}
		}
		z.limit, _ = number(filepath.Join(path, "max_energy_range_uj"))
		r.zones = append(r.zones, z)
	}
	return r
}

// sample takes one value of all packages together, or none where one of them
// cannot be read.
func (r *rapl) sample(t *tape) {
	if len(r.zones) == 0 {
		return
	}
	now, spent := time.Now(), 0.0
	for _, z := range r.zones {
		n, err := number(z.path)
		if err != nil || (n < z.last && z.limit < z.last) {
			t.tell("rapl", "the host's energy was not recorded any more from %.1f s on: %s cannot be followed", now.Sub(t.zero).Seconds(), z.path)
			r.zones = nil
			return
		}
		if n < z.last {
			spent += z.limit - z.last + n
		} else {
			spent += n - z.last
		}
		z.last = n
	}
	r.joule += spent / 1e6
	t.add(measure.HostEnergy, "", "J", now, r.joule)
}
