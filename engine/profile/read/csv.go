package read

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/engine/profile"
)

const maxLine = 1 << 20

// ErrNoDurations is the error for a Nsight Compute CSV without kernel durations.
var ErrNoDurations = errors.New("no kernel durations: record with --metrics gpu__time_duration.sum or --section SpeedOfLight")

// table is a kind of table in a CSV, identified by its columns.
type table struct {
	kind string
	// required columns; the unit of one follows it: Total Time (ns).
	columns []string
	row     func(c *csvFile, at map[string]string) error
}

var tables = []table{
	{"kernel-summary", []string{"kernel", "instances", "total_ms"}, func(c *csvFile, at map[string]string) error {
		return c.sum(at["kernel"], at["instances"], at["total_ms"], "ms")
	}},
	{"nsys-csv", []string{"Total Time", "Instances", "Name"}, func(c *csvFile, at map[string]string) error {
		return c.sum(at["Name"], at["Instances"], at["Total Time"], c.units["Total Time"])
	}},
	{"nsys-csv", []string{"Total Time", "Count", "Operation"}, func(c *csvFile, at map[string]string) error {
		return c.sum(at["Operation"], at["Count"], at["Total Time"], c.units["Total Time"])
	}},
	{"nsys-csv", []string{"Start", "Duration", "CorrId", "Device", "Strm", "Name"}, (*csvFile).traced},
	{NsightCompute, []string{"ID", "Kernel Name", "Metric Name", "Metric Unit", "Metric Value"}, (*csvFile).metric},
}

type csvFile struct {
	b     *profile.Builder
	kind  string
	table *table
	head  []string
	units map[string]string
	// last is the ID of the kernel whose duration was last read, for Nsight Compute.
	last    string
	kernels int
	timed   int
	ids     map[string]int64
}

// readCSV reads tables of kernels, line by line. Lines before a table are other output of
// profilers.
func readCSV(r *bufio.Reader, file *profile.File, o profile.Options) ([]profile.Part, error) {
	c := &csvFile{b: profile.NewBuilder(o), ids: map[string]int64{}}
	for line := 1; ; line++ {
		raw, err := readLine(r)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, damaged(err))
		}
		if line == 1 {
			raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
		}
		err = c.line(string(raw))
		file.Kind = c.kind
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
	switch {
	case c.kind == "":
		return nil, ErrFormat
	case c.kind == NsightCompute && c.timed == 0 && c.kernels > 0:
		return nil, ErrNoDurations
	case c.kind == NsightCompute && c.timed < c.kernels:
		return nil, fmt.Errorf("%d of %d kernels have no duration: %w", c.kernels-c.timed, c.kernels, ErrNoDurations)
	}
	return c.b.Build(file, profile.Naming{})
}

func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return nil, fmt.Errorf("longer than %d KiB", maxLine>>10)
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) > 0:
			return line, nil
		default:
			return line, err
		}
	}
}

func (c *csvFile) line(line string) error {
	line = strings.TrimRight(line, "\r\n")
	if strings.TrimSpace(line) == "" {
		c.table = nil
		return nil
	}
	if strings.HasPrefix(line, "==") {
		return nil // ==PROF== and the like, of Nsight Compute
	}
	fields, whole := split(line)
	if c.header(fields) {
		return nil
	}
	if c.table == nil {
		return nil
	}
	if !whole || len(fields) != len(c.head) {
		return fmt.Errorf("has %d fields, but the table has %d: the file is truncated, or was edited", len(fields), len(c.head))
	}
	at := map[string]string{}
	for i, name := range c.head {
		at[name] = fields[i]
	}
	return c.table.row(c, at)
}

// header reports whether fields are the head of a table, and makes it the current one.
func (c *csvFile) header(fields []string) bool {
	names, units := make([]string, len(fields)), map[string]string{}
	for i, f := range fields {
		f = strings.TrimSpace(f)
		if name, unit, ok := strings.Cut(f, " ("); ok {
			f = name
			units[name] = strings.TrimSuffix(unit, ")")
		}
		names[i] = f
	}
	for i := range tables {
		t := &tables[i]
		if !slices.ContainsFunc(t.columns, func(want string) bool { return !slices.Contains(names, want) }) {
			c.table, c.head, c.units, c.kind = t, names, units, t.kind
			return true
		}
	}
	return false
}

// sum handles a row of a table of sums.
func (c *csvFile) sum(name, count, total, unit string) error {
	n, err := number(count)
	if err != nil || n < 0 || n != math.Trunc(n) {
		return fmt.Errorf("%.60q launches of a kernel: not a whole number", count)
	}
	t, err := duration(total, unit)
	if err != nil {
		return err
	}
	if strings.TrimSpace(name) == "" {
		return errors.New("a kernel without a name")
	}
	c.b.Sum(c.b.Name([]byte(copyName(name))), int(n), t/1e3)
	return nil
}

// copyName spells copies as PyTorch does: one name for one thing, across profilers.
func copyName(name string) string {
	operation, ok := strings.CutPrefix(name, "[CUDA ")
	if !ok {
		return name
	}
	operation = strings.TrimSuffix(operation, "]")
	word, rest, _ := strings.Cut(operation, " ")
	word = strings.ToUpper(word[:1]) + word[1:]
	if rest == "" {
		return word + " (Device)"
	}
	return word + " " + strings.NewReplacer("Host-to-Device", "HtoD", "Device-to-Host", "DtoH", "Device-to-Device", "DtoD").Replace(rest)
}

// traced handles one kernel of a list of them.
func (c *csvFile) traced(at map[string]string) error {
	start, err := duration(at["Start"], c.units["Start"])
	if err != nil {
		return err
	}
	long, err := duration(at["Duration"], c.units["Duration"])
	if err != nil {
		return err
	}
	correlation, _ := strconv.ParseUint(at["CorrId"], 10, 32)
	stream, _ := strconv.ParseInt(at["Strm"], 10, 64)
	lane, err := c.b.Lane(0, c.id(at["Device"]), stream)
	if err != nil {
		return err
	}
	return c.b.Activity(int64(start), int64(start+long), lane, c.b.Name([]byte(copyName(at["Name"]))), uint32(correlation))
}

func (c *csvFile) id(device string) int64 {
	n, ok := c.ids[device]
	if !ok {
		n = int64(len(c.ids))
		c.ids[device] = n
	}
	return n
}

// metric handles one number of one kernel, in Nsight Compute's long form.
func (c *csvFile) metric(at map[string]string) error {
	if at["ID"] != c.last || c.kernels == 0 {
		c.last = at["ID"]
		c.kernels++
	}
	if m := at["Metric Name"]; m != "gpu__time_duration.sum" && m != "Duration" {
		return nil
	}
	t, err := duration(at["Metric Value"], at["Metric Unit"])
	if err != nil {
		return err
	}
	if c.timed == c.kernels {
		return nil // both the metric and the section
	}
	c.timed++
	c.b.Sum(c.b.Name([]byte(at["Kernel Name"])), 1, t/1e3)
	return nil
}

// duration is a time in ns.
func duration(s, unit string) (float64, error) {
	v, err := number(s)
	scale, known := map[string]float64{
		"ns": 1, "nsecond": 1, "us": 1e3, "usecond": 1e3, "µs": 1e3, "μs": 1e3, "ms": 1e6, "msecond": 1e6, "s": 1e9, "second": 1e9, "sec": 1e9,
	}[unit]
	switch {
	case !known:
		return 0, fmt.Errorf("time in %q: unknown unit (expected ns, us, ms or s)", unit)
	case err != nil || math.IsNaN(v) || v < 0 || v*scale > 1e18:
		return 0, fmt.Errorf("%.60q is not a time", s)
	}
	return v * scale, nil
}

// number parses a number that may have thousands separators.
func number(s string) (float64, error) {
	return strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(s), ",", ""), 64)
}

// split splits a line of CSV; whole is false if a quote is not closed.
func split(line string) (fields []string, whole bool) {
	for {
		if !strings.HasPrefix(line, `"`) {
			f, rest, more := strings.Cut(line, ",")
			fields = append(fields, f)
			if !more {
				return fields, true
			}
			line = rest
			continue
		}
		var f strings.Builder
		line = line[1:]
		for {
			part, rest, closed := strings.Cut(line, `"`)
			f.WriteString(part)
			if !closed {
				return append(fields, f.String()), false
			}
			line = rest
			if !strings.HasPrefix(line, `"`) {
				break
			}
			f.WriteByte('"')
			line = line[1:]
		}
		fields = append(fields, f.String())
		if line == "" {
			return fields, true
		}
		line = strings.TrimPrefix(line, ",")
	}
}
