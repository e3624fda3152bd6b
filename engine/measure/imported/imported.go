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
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mxflow/mxflow/engine/measure"
)

// MaxSize is the maximum file size, in bytes.
const MaxSize = 256 << 20

// File is a result file.
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
	// N is the number of values behind them, 0 if the file does not say, and Values are
	// these, if it has them.
	N      int       `json:"n,omitempty"`
	Values []float64 `json:"values,omitempty"`
}

// Error says what is wrong with a file, and where.
type Error struct {
	File string
	// Line is 0 if no single line is to blame; Path then is the position in the document,
	// as "benchmarks[2].tg_throughput".
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
	names := slices.Collect(maps.Keys(m.Stats))
	order := []string{"value", "mean", "median", "p50", "std", "min", "max"}
	rank := func(name string) int {
		if i := slices.Index(order, name); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(rank(a)-rank(b), len(a)-len(b), strings.Compare(a, b))
	})
	return names
}

// finish makes names unique and rejects what no rule could read.
func (f *File) finish(s *source) {
	if len(f.Cells) == 0 {
		s.wrong(0, "", "it has no results")
	}
	taken := map[string]bool{}
	for i := range f.Cells {
		c := &f.Cells[i]
		c.Name = word(c.Name)
		if name := unique(taken, c.Name); name != c.Name {
			f.note("%s is measured several times; later ones are named %s and so on; they differ in %s", c.Name, name, differing(f.Cells[:i+1], c.Name))
			c.Name = name
		}
		if len(c.Metrics) == 0 {
			s.wrong(0, c.Name, "it has no numbers")
		}
		c.nameMetrics()
		for _, m := range c.Metrics {
			m.plausible(s, c.Name+"."+m.Name)
		}
	}
}

// of sets what the whole file has from its results.
func (f *File) of(model, version, date string) {
	switch {
	case f.Model == "":
		f.Model, f.Version, f.Date = model, version, date
	case f.Model != model:
		f.note("the file has results of several models")
	}
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
		return "nothing in the file"
	}
	return strings.Join(names, ", ")
}

// reader reads one tool's format. It takes a document that knows identifies as the
// tool's.
type reader struct {
	tool  string
	knows func(first node) bool
	read  func(f *File, all []node)
}

// readers are the formats, in the order in which they are tried.
var readers = []reader{
	{"llama-benchy", isBenchy, readBenchy},
	{"llama-bench", isLlamaBench, readLlamaBench},
	{"AIPerf", isAIPerf, readAIPerf},
	{"SGLang bench_serving", isSGLang, readSGLang},
	{"vLLM bench serve", isVLLM, readVLLM},
}

// Tools names the supported tools, for messages and docs.
func Tools() []string {
	return []string{
		"llama-benchy (--save-result, JSON)", "llama-bench (-o json)", "AIPerf (profile_export_aiperf.json)",
		"SGLang bench_serving (--output-file, JSON lines)", "vLLM bench serve (--save-result, --save-detailed, --append-result)",
	}
}

// Read reads a result file, whose format is detected from its content. The error is an
// *Error.
func Read(file string, data []byte) (*File, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	switch {
	case len(data) > MaxSize:
		return nil, &Error{File: file, Says: fmt.Sprintf("it has %d bytes, more than the limit of %d", len(data), MaxSize)}
	case len(bytes.TrimSpace(data)) == 0:
		return nil, &Error{File: file, Says: "it is empty"}
	case !utf8.Valid(data):
		return nil, &Error{File: file, Line: badLine(data), Says: "it is not UTF-8 text"}
	}
	f, s := &File{}, &source{file: file}
	f.read(s, data)
	f.finish(s)
	if s.err != nil {
		return nil, s.err
	}
	return f, nil
}

func (f *File) read(s *source, data []byte) {
	if start := bytes.TrimSpace(data)[0]; start != '{' && start != '[' {
		// What a tool logs may stand before its result in one file. Lines keep their numbers.
		at := document.FindIndex(data)
		if at == nil {
			s.unknown()
			return
		}
		before := bytes.Count(data[:at[0]], []byte("\n"))
		f.note("lines before the result, not read: %d", before)
		data = append(bytes.Repeat([]byte("\n"), before), data[at[0]:]...)
	}
	all := s.parse(data)
	if s.err != nil {
		return
	}
	for _, r := range readers {
		if r.knows(all[0]) {
			f.Tool = r.tool
			r.read(f, all)
			return
		}
	}
	s.unknown()
}

// document matches the beginning of a JSON document on a line of its own.
var document = regexp.MustCompile(`(?m)^(\{\s*"|\[\s*\{\s*")`)

func (s *source) unknown() {
	s.wrong(0, "", "unknown format. mxflow reads: %s", strings.Join(Tools(), "; "))
}

func badLine(data []byte) int {
	for i, line := range bytes.Split(data, []byte("\n")) {
		if !utf8.Valid(line) {
			return i + 1
		}
	}
	return 0
}

// definition is a tool's meaning of a name.
type definition struct {
	unit   string
	better measure.Better
	means  string
}

// named is a metric under a format's name for it.
type named struct {
	name string
	definition
}

const unknownDefinition = "Defined by the tool; unknown to mxflow."

// metric makes a metric from a tool's definition of it; an unknown name keeps its literal
// meaning, and no direction.
func (d definition) metric(name string, stats map[string]float64) Metric {
	return Metric{Name: name, Unit: d.unit, Better: d.better, Definition: cmp.Or(d.means, unknownDefinition), Stats: stats}
}

// withValues adds the values behind a metric.
func (m Metric) withValues(values []float64) Metric {
	m.Values, m.N = slices.Clone(values), len(values)
	return m
}

const (
	higher  = measure.Higher
	lower   = measure.Lower
	neither = measure.Neither
)

// nameMetrics turns the names of a cell's metrics, which a file may choose freely, into
// unique address elements; and units into words without control characters.
func (c *Cell) nameMetrics() {
	taken := map[string]bool{}
	for i := range c.Metrics {
		m := &c.Metrics[i]
		m.Name, m.Unit = unique(taken, word(m.Name)), Printable(m.Unit)
		stats, given := map[string]float64{}, map[string]bool{}
		for _, stat := range m.StatNames() {
			stats[unique(given, word(stat))] = m.Stats[stat]
		}
		m.Stats = stats
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

// Printable removes terminal control from foreign text.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
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

// negative is the error for a number below 0 where none is possible.
const negative = "%v is negative, which times, speeds and counts cannot be: the file was edited or is damaged, or a correction subtracted too much"

// amountUnits are the units of times, speeds and counts. Shares and percentages unknown
// to mxflow may be differences, and so below 0.
var amountUnits = []string{"ms", "s", "us", "ns", "tok/s", "req/s", "tokens", "requests", "count", "tokens/sec/user"}

// amountStat matches the statistics of an amount that are amounts themselves; bounds of
// an interval, or a skewness, need not be.
var amountStat = regexp.MustCompile(`^(value|mean|median|min|max|p[0-9_]+)$`)

// plausible rejects impossible statistics: then the file was changed or damaged, or the
// format is misread, and none of its numbers is reliable.
func (m Metric) plausible(s *source, path string) {
	known := m.Definition != unknownDefinition || slices.Contains(amountUnits, m.Unit)
	for _, stat := range m.StatNames() {
		x := m.Stats[stat]
		switch {
		case math.IsNaN(x) || math.IsInf(x, 0):
			s.wrong(0, path+"."+stat, "it is not a finite number")
		case x < 0 && (stat == "std" || known && amountStat.MatchString(stat)):
			s.wrong(0, path+"."+stat, negative, x)
		}
	}
	// Results are written with limited digits: a mean of equal values may differ in the
	// last one.
	low, hasLow := m.Stats["min"]
	high, hasHigh := m.Stats["max"]
	slack := 1e-6 * max(low, high, -low, -high)
	for _, stat := range m.StatNames() {
		x := m.Stats[stat]
		switch {
		case !amountStat.MatchString(stat):
		case hasLow && x < low-slack:
			s.wrong(0, path+"."+stat, "it is %v, but its min is %v: the file was edited or is damaged", x, low)
		case hasHigh && x > high+slack:
			s.wrong(0, path+"."+stat, "it is %v, but its max is %v: the file was edited or is damaged", x, high)
		}
	}
}
