// Package imported reads the result files of other benchmark tools. What comes
// out keeps each tool's own names, units and definitions: their numbers are
// beside mxflow's and never among them, since tools that use one word for two
// things have misled whoever compared them. It is a leaf: bytes in, values out.
//
// A file that is damaged, or that holds something else than its format says, is
// refused as a whole: half of a result is no result.
package imported

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
)

// MaxSize is the largest file that is read, in bytes.
const MaxSize = 256 << 20

// File is a result file.
type File struct {
	// Tool wrote it, in Version where it says so.
	Tool    string `json:"tool"`
	Version string `json:"version,omitempty"`
	// Model and Date as the file has them; empty where it does not say.
	Model string `json:"model,omitempty"`
	Date  string `json:"date,omitempty"`
	// Cells are what was measured, in the order of the file.
	Cells []Cell `json:"cells"`
	// Notes are what a reader of the numbers must know and might not see.
	Notes []string `json:"notes,omitempty"`
}

// Cell is one load that was measured.
type Cell struct {
	// Name is the element of rules' addresses: "pp2048_tg32_d4096_c4". It is
	// unique within the file.
	Name string `json:"name"`
	// What are the parameters by which the tool tells it from others.
	What    map[string]string `json:"what,omitempty"`
	Metrics []Metric          `json:"metrics"`
}

// Metric is one quantity of a cell, as its tool defines it.
type Metric struct {
	// Name is the tool's own, without the statistic.
	Name       string         `json:"name"`
	Unit       string         `json:"unit,omitempty"`
	Better     measure.Better `json:"better,omitempty"`
	Definition string         `json:"definition"`
	// Stats are the statistics that the file gives, by name: mean, median, std,
	// p99, …; "value" is a number of which there is one.
	Stats map[string]float64 `json:"stats"`
	// N is the number of values behind them, 0 where the file does not say, and
	// Values are these, where it has them.
	N      int       `json:"n,omitempty"`
	Values []float64 `json:"values,omitempty"`
}

// Error says what is wrong with a file, and where.
type Error struct {
	File string
	// Line is 0 where no single line is to blame; Path then says where in the
	// document, as "benchmarks[2].tg_throughput".
	Line int
	Path string
	// Says what is wrong and what to do.
	Says string
}

func (e *Error) Error() string {
	at := e.File
	if e.Line > 0 {
		at += fmt.Sprintf(":%d", e.Line)
	}
	if e.Path != "" {
		at += ": " + e.Path
	}
	return Printable(at + ": " + e.Says)
}

// Lookup finds a metric of a cell.
func (f *File) Lookup(cell, metric string) (Metric, bool) {
	for _, c := range f.Cells {
		if c.Name != cell {
			continue
		}
		for _, m := range c.Metrics {
			if m.Name == metric {
				return m, true
			}
		}
	}
	return Metric{}, false
}

// StatNames are the statistics of a metric, in the order in which people read
// them.
func (m Metric) StatNames() []string {
	var names []string
	for name := range m.Stats {
		names = append(names, name)
	}
	order := []string{"value", "mean", "median", "p50", "std", "min", "max"}
	rank := func(name string) int {
		if i := slices.Index(order, name); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		if d := len(a) - len(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return names
}

// finish makes names unique and refuses what no rule could read.
func (f *File) finish(file string) error {
	if len(f.Cells) == 0 {
		return &Error{File: file, Says: "it holds no result"}
	}
	taken := map[string]bool{}
	for i := range f.Cells {
		c := &f.Cells[i]
		c.Name = word(c.Name)
		name := c.Name
		for n := 2; taken[name]; n++ {
			name = fmt.Sprintf("%s_%d", c.Name, n)
		}
		if name != c.Name {
			f.note("%s is measured several times: the later ones are called %s and so on; they differ in %s", c.Name, name, differing(f.Cells[:i+1], c.Name))
		}
		c.Name = name
		taken[name] = true
		if len(c.Metrics) == 0 {
			return &Error{File: file, Path: c.Name, Says: "it holds no number"}
		}
		c.nameMetrics()
		for _, m := range c.Metrics {
			if err := m.plausible(file, c.Name+"."+m.Name); err != nil {
				return err
			}
			for stat, v := range m.Stats {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					return &Error{File: file, Path: c.Name + "." + m.Name + "." + stat, Says: "it is not a finite number"}
				}
			}
		}
	}
	return nil
}

func (f *File) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(f.Notes, text) {
		f.Notes = append(f.Notes, text)
	}
}

// differing names the parameters in which cells of one name differ.
func differing(cells []Cell, name string) string {
	var names []string
	last := cells[len(cells)-1]
	for _, c := range cells[:len(cells)-1] {
		if c.Name != name {
			continue
		}
		for key, value := range last.What {
			if c.What[key] != value && !slices.Contains(names, key) {
				names = append(names, key)
			}
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		return "nothing that the file says"
	}
	return strings.Join(names, ", ")
}
