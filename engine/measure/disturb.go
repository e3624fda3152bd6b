package measure

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// The driver's reasons that keep clocks down, as bits of GPUThrottle (NVML's
// nvmlClocksEventReason*; engine/gpu has the same in words for people).
//
// Normal are: nothing to do (1), clocks that were set (2), the power limit (4),
// a sync boost group (16), the clocks of a display (256). The power limit is how
// a GPU at full load keeps to what it was configured for, on both sides of a
// comparison, so it is reported (power_capped_share) and makes nothing invalid.
// Everything else slows a GPU down by what is wrong with it or around it, and a
// reason that is not known here is not known to be harmless.
const (
	powerCap     = 4
	hardwareSlow = 8
	softwareHeat = 32
	hardwareHeat = 64
	powerBrake   = 128
	normal       = 1 | 2 | powerCap | 16 | 256
)

var slowing = []struct {
	bit  uint64
	word string
}{
	{softwareHeat, "software thermal slowdown"},
	{hardwareHeat, "hardware thermal slowdown"},
	{powerBrake, "power brake"},
	{hardwareSlow, "hardware slowdown"},
}

// reasonsAt is one reading of a series of reasons. What is no bit mask is every
// reason at once.
func reasonsAt(s Series, i int) uint64 {
	if v := s.Value[i]; v >= 0 && v < 1<<53 && v == math.Trunc(v) {
		return uint64(v)
	}
	return math.MaxUint64
}

// throttled reports whether a reading says that the GPU was slowed down. A
// hardware slowdown without its cause counts when two readings in a row have it:
// drivers report one for a moment at a change of power state.
func throttled(s Series, i int) bool {
	bad := reasonsAt(s, i) &^ normal
	if bad != hardwareSlow {
		return bad != 0
	}
	before := i > 0 && reasonsAt(s, i-1)&hardwareSlow != 0
	after := i+1 < len(s.Value) && reasonsAt(s, i+1)&hardwareSlow != 0
	return before || after
}

func powerCapped(s Series, i int) bool { return reasonsAt(s, i)&powerCap != 0 }

// slowdowns are the words for what slows a GPU down.
func slowdowns(reasons uint64) (words []string) {
	rest := reasons &^ normal
	for _, r := range slowing {
		if rest&r.bit != 0 {
			words = append(words, r.word)
		}
		rest &^= r.bit
	}
	if rest != 0 {
		words = append(words, fmt.Sprintf("reason 0x%x, which is not known here", rest))
	}
	return words
}

// Disturbances are causes for which what a launch measured does not count: a GPU
// that was slowed down, or that another process used, while requests of a cell
// were measured. What could not be watched is not among them.
func Disturbances(r Recording) []string {
	var out []string
	all := newWatched(r.Series)
	for _, name := range []string{GPUThrottle, GPUForeign} {
		if all.by[name] == nil && slices.ContainsFunc(r.Series, func(s Series) bool { return s.Name == name }) {
			out = append(out, fmt.Sprintf("the readings of %s are damaged or there twice, so nobody knows whether the GPU was disturbed", name))
		}
	}
	for _, c := range r.Cells {
		if !c.window().exists() {
			continue
		}
		for _, s := range all.by[GPUThrottle] {
			out = append(out, slowed(c, s)...)
		}
		for _, s := range all.by[GPUForeign] {
			out = append(out, shared(c, s)...)
		}
	}
	return out
}

func slowed(c CellRun, s Series) []string {
	var words []string
	took := s.standing(c.window(), func(i int) bool {
		if !throttled(s, i) {
			return false
		}
		words = append(words, slowdowns(reasonsAt(s, i))...)
		return true
	})
	if took == 0 {
		return nil
	}
	slices.Sort(words)
	return []string{fmt.Sprintf("%s: GPU %s was slowed down for %s of the measured time (%s): let it cool down, or look at its power supply, before measuring again",
		c.Cell, s.Source, percent(took, c.window()), strings.Join(slices.Compact(words), ", "))}
}

func shared(c CellRun, s Series) []string {
	most := 0.0
	took := s.standing(c.window(), func(i int) bool {
		most = max(most, s.Value[i])
		return s.Value[i] > 0
	})
	if took == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s: processes that are not the engine's were on GPU %s for %s of the measured time (up to %.0f at once): end them, or choose another GPU",
		c.Cell, s.Source, percent(took, c.window()), most)}
}

func percent(took time.Duration, w window) string {
	return fmt.Sprintf("%.1f%%", 100*took.Seconds()/w.seconds())
}

// Calibration is what the measuring client got when it measured a server whose
// times are known, at the rate that was planned: how far its numbers are off
// because of itself.
type Calibration struct {
	// Streams at once, each with Rate events a second.
	Streams int     `json:"streams"`
	Rate    float64 `json:"rate"`
	// Requests is how many streams were watched, Events how many of their events.
	Requests int `json:"requests"`
	Events   int `json:"events"`
	// TTFT and ITL are the client's errors against the server's own clock, ms:
	// medians and 99th percentiles of absolute differences.
	TTFTp50 float64 `json:"ttft_error_p50_ms"`
	TTFTp99 float64 `json:"ttft_error_p99_ms"`
	ITLp50  float64 `json:"itl_error_p50_ms"`
	ITLp99  float64 `json:"itl_error_p99_ms"`
	// Delivered is the share of the planned events a second that arrived.
	Delivered float64 `json:"delivered"`
	// CPU is the client's processor time for each event, µs.
	CPU float64 `json:"cpu_us_per_event"`
}
