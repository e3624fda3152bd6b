package measure

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// Agreement is how metrics that were stored compare with the same recording
// evaluated again.
type Agreement struct {
	// Metrics are compared, with so many Numbers: statistics and counts.
	Metrics int `json:"metrics"`
	Numbers int `json:"numbers"`
	// Differ are the numbers that came out otherwise.
	Differ []Difference `json:"differ,omitempty"`
	// Elsewhere are stored metrics that do not come from the recording
	// (engine.startup_s), New those that are derived now and were not stored:
	// the version that measured did not know them.
	Elsewhere []string `json:"elsewhere,omitempty"`
	New       []string `json:"new,omitempty"`
}

// Difference is one number that a recomputation did not reproduce.
type Difference struct {
	Address string `json:"address"`
	// What is a statistic, or a field of the summary such as "n" or "unit".
	What string `json:"what"`
	// Stored and Again are exact; "absent" where there is none.
	Stored string `json:"stored"`
	Again  string `json:"again"`
}

// Agree evaluates a recording and compares with what was stored. A tolerance of
// 0 wants every bit to be the same; else it is relative, for statistics alone.
func Agree(r Recording, stored map[string]Summary, tolerance float64) Agreement {
	var a Agreement
	again := Evaluate(r)
	for _, address := range slices.Sorted(maps.Keys(stored)) {
		if !r.gives(address) {
			a.Elsewhere = append(a.Elsewhere, address)
			continue
		}
		a.Metrics++
		now, there := again[address]
		if !there {
			a.Numbers++
			a.Differ = append(a.Differ, Difference{address, "metric", fmt.Sprintf("%d values", stored[address].N), "absent"})
			continue
		}
		a.compare(address, stored[address], now, tolerance)
	}
	for _, address := range slices.Sorted(maps.Keys(again)) {
		if _, there := stored[address]; !there {
			a.New = append(a.New, address)
		}
	}
	return a
}

// gives reports whether a metric of that address comes from the recording.
func (r Recording) gives(address string) bool {
	where, _ := SplitAddress(address)
	return where == string(PerGPU) || where == string(PerHost) || slices.ContainsFunc(r.Cells, func(c CellRun) bool { return c.Cell == where })
}

func (a *Agreement) compare(address string, stored, again Summary, tolerance float64) {
	differ := func(what, x, y string) {
		a.Numbers++
		if x != y {
			a.Differ = append(a.Differ, Difference{address, what, x, y})
		}
	}
	differ("unit", stored.Unit, again.Unit)
	differ("better", string(stored.Better), string(again.Better))
	differ("correction", stored.Correction, again.Correction)
	differ("n", strconv.Itoa(stored.N), strconv.Itoa(again.N))
	differ("requests", strconv.Itoa(stored.Requests), strconv.Itoa(again.Requests))
	names := slices.Concat(slices.Collect(maps.Keys(stored.Stats)), slices.Collect(maps.Keys(again.Stats)))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		x, hasX := stored.Stats[name]
		y, hasY := again.Stats[name]
		if name == Drift && !hasX {
			continue // recorded before there was such a thing
		}
		a.Numbers++
		if !hasX || !hasY || !same(x, y, tolerance) {
			a.Differ = append(a.Differ, Difference{address, name, exact(x, hasX), exact(y, hasY)})
		}
	}
}

// same compares bits, or within a relative tolerance.
func same(x, y, tolerance float64) bool {
	if math.Float64bits(x) == math.Float64bits(y) {
		return true
	}
	return tolerance > 0 && math.Abs(x-y) <= tolerance*max(math.Abs(x), math.Abs(y))
}

func exact(x float64, there bool) string {
	if !there {
		return "absent"
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// CellsOf are the cells of samples whose launch did not record what was sent, in
// the order of their first samples. Metrics that need a window do not exist for
// them.
func CellsOf(samples []Sample) []CellRun {
	var out []CellRun
	seen := map[string]bool{}
	for _, s := range samples {
		if !seen[s.Workload] {
			seen[s.Workload] = true
			out = append(out, CellRun{Cell: s.Workload})
		}
	}
	return out
}
