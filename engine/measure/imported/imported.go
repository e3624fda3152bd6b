// Package imported reads the result files of other benchmark tools. What comes
// out keeps each tool's own names, units and definitions: their numbers are
// beside mxflow's and never among them, since tools that use one word for two
// things have misled whoever compared them. It is a leaf: bytes in, values out.
//
// A file that is damaged, or that holds something else than its format says, is
// refused as a whole: half of a result is no result.
package imported

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

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

// reader reads one tool's format. It takes a document that knows shows to be
// the tool's.
type reader struct {
	tool  string
	knows func(first node) bool
	read  func(f *File, all []node) error
}

// readers are the formats in JSON, in the order in which they are tried.
var readers = []reader{
	{"llama-benchy", isBenchy, readBenchy},
	{"llama-bench", isLlamaBench, readLlamaBench},
	{"AIPerf", isAIPerf, readAIPerf},
	{"SGLang bench_serving", isSGLang, readSGLang},
	{"vLLM bench serve", isVLLM, readVLLM},
}

// Tools names what can be read, for messages and docs.
func Tools() []string {
	return []string{
		"llama-benchy (--save-result, JSON)", "llama-bench (-o json, jsonl, csv, md, sql)", "AIPerf (profile_export_aiperf.json, profile_export.jsonl, aggregates)",
		"SGLang bench_serving (--output-file, JSON lines)", "vLLM bench serve (--save-result, --save-detailed, --append-result)", "MLPerf LoadGen (mlperf_log_summary.txt)",
	}
}

var loadgenTitle = regexp.MustCompile(`(?m)^MLPerf Results Summary\s*$`)

// Read reads a result file, whose format is told by its content. The error is
// an *Error.
func Read(file string, data []byte) (*File, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	trimmed := bytes.TrimSpace(data)
	switch {
	case len(data) > MaxSize:
		return nil, &Error{File: file, Says: fmt.Sprintf("it has %d bytes, and at most %d are read", len(data), MaxSize)}
	case len(trimmed) == 0:
		return nil, &Error{File: file, Says: "it is empty"}
	case !utf8.Valid(data):
		return nil, &Error{File: file, Line: badLine(data), Says: "it is not text in UTF-8"}
	}
	f := &File{}
	var err error
	switch {
	case trimmed[0] == '{' || trimmed[0] == '[':
		err = f.readJSON(file, data)
	case loadgenTitle.Match(data):
		f.Tool = "MLPerf LoadGen"
		err = readLoadGen(f, file, string(data))
	case bytes.HasPrefix(trimmed, []byte("build_commit,")) || bytes.HasPrefix(trimmed, []byte(`"build_commit",`)):
		f.Tool = "llama-bench"
		err = readLlamaBenchCSV(f, file, data)
	case strings.Contains(string(trimmed[:min(len(trimmed), 4096)]), "INSERT INTO llama_bench") || bytes.HasPrefix(trimmed, []byte("CREATE TABLE IF NOT EXISTS llama_bench")):
		f.Tool = "llama-bench"
		err = readLlamaBenchSQL(f, file, string(data))
	case markdownHead(string(data)) >= 0:
		f.Tool = "llama-bench"
		err = readLlamaBenchMarkdown(f, file, string(data))
	default:
		err = unknown(file)
	}
	if err == nil {
		err = f.finish(file)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (f *File) readJSON(file string, data []byte) error {
	all, err := parse(file, data)
	if err != nil {
		return err
	}
	for _, r := range readers {
		if r.knows(all[0]) {
			f.Tool = r.tool
			return r.read(f, all)
		}
	}
	return unknown(file)
}

func unknown(file string) error {
	return &Error{File: file, Says: "no benchmark tool is known that writes this. What can be read: " + strings.Join(Tools(), "; ")}
}

func badLine(data []byte) int {
	for i, line := range bytes.Split(data, []byte("\n")) {
		if !utf8.Valid(line) {
			return i + 1
		}
	}
	return 0
}

// definition is what a tool means by a name.
type definition struct {
	unit   string
	better measure.Better
	means  string
}

const unknownDefinition = "As the tool defines it; mxflow does not know how."

// metric makes a metric of a tool's definition of it; a name that is not known is
// kept with what its name says, and no direction.
func (d definition) metric(name string, stats map[string]float64) Metric {
	means := d.means
	if means == "" {
		means = unknownDefinition
	}
	return Metric{Name: name, Unit: d.unit, Better: d.better, Definition: means, Stats: stats}
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

// named makes a metric's names elements of an address, which a file may name as
// it likes, and its unit a word that does not steer a terminal.
func (m *Metric) named() {
	m.Name, m.Unit = word(m.Name), Printable(m.Unit)
	stats := map[string]float64{}
	for _, stat := range m.StatNames() {
		name := word(stat)
		for n := 2; ; n++ {
			if _, taken := stats[name]; !taken {
				break
			}
			name = fmt.Sprintf("%s_%d", word(stat), n)
		}
		stats[name] = m.Stats[stat]
	}
	m.Stats = stats
}

// nameMetrics makes the names of a cell's metrics elements of addresses, and
// unique.
func (c *Cell) nameMetrics() {
	taken := map[string]bool{}
	for i := range c.Metrics {
		m := &c.Metrics[i]
		m.named()
		name := m.Name
		for n := 2; taken[name]; n++ {
			name = fmt.Sprintf("%s_%d", m.Name, n)
		}
		m.Name = name
		taken[name] = true
	}
}

// Printable keeps what a foreign file says from steering a terminal.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
}

// word makes an element of an address of a text: letters, digits and _, and a
// letter first.
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

// negative is what is said of a number below 0 where there can be none.
const negative = "%v is negative, which no time, speed or count can be: the file was changed, is damaged, or a correction took off more than there was"

// amount is a number that is not negative; ok is false where it is absent or
// null.
func (n node) amount() (x float64, ok bool, err error) {
	x, ok, err = n.number()
	if err == nil && x < 0 {
		return 0, false, n.wrong(negative, x)
	}
	return x, ok, err
}

// amountUnits are the units of times, speeds and counts. Shares and percentages
// of what mxflow does not know may be differences, and so below 0.
var amountUnits = []string{"ms", "s", "us", "ns", "tok/s", "req/s", "tokens", "requests", "count", "tokens/sec/user"}

// amountStat are the statistics of an amount that are amounts themselves; bounds
// of an interval, or a skewness, need not be.
var amountStat = regexp.MustCompile(`^(value|mean|median|min|max|p[0-9_]+)$`)

// plausible refuses statistics that no measurement has: the file was then changed
// or damaged, or the format is read wrongly, and no number of it can be relied on.
func (m Metric) plausible(file, path string) error {
	known := m.Definition != unknownDefinition
	for _, stat := range m.StatNames() {
		x := m.Stats[stat]
		amount := amountStat.MatchString(stat) && (known || slices.Contains(amountUnits, m.Unit))
		if x < 0 && (amount || stat == "std") {
			return &Error{File: file, Path: path + "." + stat, Says: fmt.Sprintf(negative, x)}
		}
	}
	// Results are written with limited digits: a mean of equal values may be
	// beside them by a last one.
	low, hasLow := m.Stats["min"]
	high, hasHigh := m.Stats["max"]
	slack := 1e-6 * max(low, high, -low, -high)
	for _, stat := range m.StatNames() {
		x := m.Stats[stat]
		switch {
		case !amountStat.MatchString(stat):
		case hasLow && x < low-slack:
			return &Error{File: file, Path: path + "." + stat, Says: fmt.Sprintf("it is %v, and the min beside it is %v: the file was changed, or is damaged", x, low)}
		case hasHigh && x > high+slack:
			return &Error{File: file, Path: path + "." + stat, Says: fmt.Sprintf("it is %v, and the max beside it is %v: the file was changed, or is damaged", x, high)}
		}
	}
	return nil
}
