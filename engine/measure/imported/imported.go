// Package imported reads the result files of other benchmark tools. The values
// keep each tool's own names, units and definitions: they stay separate from
// mxflow's, because tools that use the same word for different things mislead
// comparisons. It is a leaf: bytes in, values out.
//
// A file that is damaged, or does not match its format, is refused as a whole:
// half a result is no result.
package imported

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/internal/foreign"
)

// MaxSize is the maximum file size, in bytes.
const MaxSize = 256 << 20

type File struct {
	// Tool wrote it, in Version if it says so.
	Tool    string `json:"tool"`
	Version string `json:"version,omitempty"`
	// Model and Date are as in the file; empty if it does not say.
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
	// What are the parameters by which the tool distinguishes it.
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
	// Stats are the statistics in the file, by name: mean, median, std, p99, …; "value"
	// is a single number.
	Stats map[string]float64 `json:"stats"`
	// N is the number of values behind them, 0 if the file does not say, and Values lists
	// them, if it has them.
	N      int       `json:"n,omitempty"`
	Values []float64 `json:"values,omitempty"`
}

func (f *File) Lookup(cell, metric string) (Metric, bool) {
	for _, c := range f.Cells {
		for _, m := range c.Metrics {
			if c.Name == cell && m.Name == metric {
				return m, true
			}
		}
	}
	return Metric{}, false
}

// StatNames are the statistics of a metric, in the order in which people read
// them.
func (m Metric) StatNames() []string {
	order := []string{"max", "min", "std", "p50", "median", "mean", "value"}
	return slices.SortedFunc(maps.Keys(m.Stats), func(a, b string) int {
		return cmp.Or(slices.Index(order, b)-slices.Index(order, a), len(a)-len(b), strings.Compare(a, b))
	})
}

// Tools names the supported tools, for messages and docs.
func Tools() (names []string) {
	for _, t := range tools {
		names = append(names, t.name+" ("+t.file+")")
	}
	return names
}

// Read reads a result file, whose format is detected from its content. The error says
// what is wrong where, and what to do.
func Read(file string, data []byte) (*File, error) {
	s := &source{file: file}
	var all []node
	switch {
	case len(data) > MaxSize:
		s.wrong("", "it has %d bytes, more than the limit of %d", len(data), MaxSize)
	case len(bytes.TrimSpace(data)) == 0:
		s.wrong("", "it is empty")
	case !utf8.Valid(data):
		s.wrong("", "it is not UTF-8 text")
	default:
		all = s.parse(data)
	}
	if s.err != nil {
		return nil, s.err
	}
	i := slices.IndexFunc(tools, func(t tool) bool { return t.knows(all[0]) })
	if i < 0 {
		s.wrong("", "unknown format. mxflow reads: %s", strings.Join(Tools(), "; "))
		return nil, s.err
	}
	f := &File{Tool: tools[i].name}
	for _, n := range all {
		if !tools[i].knows(n) {
			n.wrong("it is not a result of %s like the first in the file", f.Tool)
		}
		tools[i].read(f, n)
	}
	f.finish(s)
	if s.err != nil {
		return nil, s.err
	}
	return f, nil
}

// finish makes the names in a file, which may be anything, unique elements of addresses.
func (f *File) finish(s *source) {
	if len(f.Cells) == 0 {
		s.wrong("", "it has no results")
	}
	cells := map[string]bool{}
	for i := range f.Cells {
		c := &f.Cells[i]
		name := word(c.Name)
		if c.Name = unique(cells, name); name != c.Name {
			f.note("%s is measured several times; later ones are named %s and so on", name, c.Name)
		}
		if len(c.Metrics) == 0 {
			s.wrong(": "+c.Name, "it has no numbers")
		}
		metrics := map[string]bool{}
		for j := range c.Metrics {
			m, stats, taken := &c.Metrics[j], map[string]float64{}, map[string]bool{}
			for _, stat := range m.StatNames() {
				stats[unique(taken, word(stat))] = m.Stats[stat]
			}
			m.Name, m.Unit, m.Stats = unique(metrics, word(m.Name)), foreign.Line(m.Unit), stats
		}
	}
}

func (f *File) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(f.Notes, text) {
		f.Notes = append(f.Notes, text)
	}
}

// unique returns a name that is not taken yet, numbered if it would be, and marks it
// taken.
func unique(taken map[string]bool, name string) string {
	free := name
	for n := 2; taken[free]; n++ {
		free = fmt.Sprintf("%s_%d", name, n)
	}
	taken[free] = true
	return free
}

// word turns a text into an address element: letters, digits and _, starting with a
// letter.
func word(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
			return r
		}
		return '_'
	}, text)
	if text == "" || text[0] >= '0' && text[0] <= '9' {
		text = "c" + text
	}
	return text
}
