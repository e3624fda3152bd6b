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

// table is a kind of table in a CSV, identified by its columns.
type table struct {
	kind string
	// of is what its rows are. Several tables of the same kernels must not add up.
	of string
	// required columns; the unit of one follows it: Total Time (ns).
	columns []string
	row     func(c *csvFile, at map[string]string) error
}

var tables = []table{
	{"kernel-summary", "kernels", []string{"kernel", "instances", "total_ms"}, func(c *csvFile, at map[string]string) error {
		return c.sum(at["kernel"], at["instances"], at["total_ms"], "ms")
	}},
	{"nsys-csv", "kernels", []string{"Total Time", "Instances", "Name"}, func(c *csvFile, at map[string]string) error {
		return c.sum(at["Name"], at["Instances"], at["Total Time"], c.units["Total Time"])
	}},
	{"nsys-csv", "copies", []string{"Total Time", "Count", "Operation"}, func(c *csvFile, at map[string]string) error {
		return c.sum(at["Operation"], at["Count"], at["Total Time"], c.units["Total Time"])
	}},
	{"nsys-csv", "kernels", []string{"Start", "Duration", "CorrId", "Device", "Strm", "Name"}, (*csvFile).traced},
	{"nsys-csv", "calls", []string{"Start", "Duration", "Name", "Result", "CorrID", "PID", "TID"}, (*csvFile).called},
	{"nsys-csv", "marks", []string{"Start", "Duration", "Name", "PID", "TID", "RangeStack"}, (*csvFile).marked},
	{"nsys-csv", "clock", []string{"utcEpochNs"}, func(c *csvFile, at map[string]string) error {
		epoch, err := strconv.ParseInt(at["utcEpochNs"], 10, 64)
		c.b.Clock(epoch)
		return err
	}},
}

type csvFile struct {
	b     *profile.Builder
	kind  string
	table *table
	head  []string
	units map[string]string
	// heads are the first of each kind of rows: a second report of the same is skipped.
	heads map[string][]string
	ids   map[string]int64
	// pid is that of the process with calls, several whether there are others: call
	// numbers are per process, and kernels do not say whose they are.
	pid     int64
	several bool
	naming  profile.Naming
}

// readCSV reads tables of kernels, line by line. Lines before a table are other output of
// profilers.
func readCSV(r *bufio.Reader, file *profile.File, o profile.Options) ([]profile.Part, error) {
	c := &csvFile{
		b: profile.NewBuilder(o), heads: map[string][]string{}, ids: map[string]int64{},
		naming: profile.Naming{Threads: map[profile.ThreadID]string{}},
	}
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
	if c.kind == "" {
		return nil, ErrFormat
	}
	if c.several {
		c.b.ForgetLaunches()
	}
	return c.b.Build(file, c.naming)
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
		if f == "Pid" || f == "Tid" { // as nsys spelled them before 2024
			f = strings.ToUpper(f)
		}
		names[i] = f
	}
	for i := range tables {
		t := &tables[i]
		if slices.ContainsFunc(t.columns, func(want string) bool { return !slices.Contains(names, want) }) {
			continue
		}
		first, known := c.heads[t.of]
		if known && !slices.Equal(first, names) {
			c.table = nil
			return true
		}
		c.table, c.head, c.units, c.kind = t, names, units, t.kind
		c.heads[t.of] = names
		if slices.Contains(t.columns, "CorrId") {
			c.heads["copies"] = names // which are among them
		}
		return true
	}
	return false
}

// sum handles a row of a table of sums.
func (c *csvFile) sum(name, count, total, unit string) error {
	n, err := number(count)
	if err != nil || n < 0 || n > 1<<53 || n != math.Trunc(n) {
		return fmt.Errorf("%.60q launches of a kernel: not a whole number up to 2^53", count)
	}
	t, err := duration(total, unit)
	if err != nil {
		return err
	}
	if strings.TrimSpace(name) == "" {
		return errors.New("a kernel without a name")
	}
	if n == 0 { // as if not listed: it did not run
		if t > 0 {
			return fmt.Errorf("%.60q has no launches but took time", name)
		}
		return nil
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

// called handles one call of the GPU's runtime.
func (c *csvFile) called(at map[string]string) error {
	start, end, thread, err := c.host(at)
	if err != nil {
		return err
	}
	correlation, err := strconv.ParseUint(at["CorrID"], 10, 32)
	if err != nil {
		return fmt.Errorf("%.60q is not the number of a call", at["CorrID"])
	}
	class := c.b.Class("cuda_runtime", []byte(at["Name"]))
	if class == profile.Launching {
		c.b.Launch(start, end, thread, uint32(correlation))
	}
	if strings.Contains(at["Name"], "GraphLaunch") {
		c.b.GraphLaunch(start, uint32(correlation))
	}
	c.b.Host(start, end, thread, class)
	pid, _ := strconv.ParseInt(at["PID"], 10, 64)
	c.several = c.several || c.pid != 0 && c.pid != pid
	c.pid = pid
	if name := at["Thread Name"]; name != "" && len(name) < 256 && len(c.naming.Threads) < 1<<16 {
		c.naming.Threads[thread] = fmt.Sprintf("%s, thread %s", name, at["TID"])
	}
	return nil
}

// marked handles a range that an engine marked with NVTX, whose name follows its domain's.
func (c *csvFile) marked(at map[string]string) error {
	start, end, thread, err := c.host(at)
	if err != nil {
		return err
	}
	text := strings.TrimPrefix(at["Name"], ":")
	c.b.HostMark(start, end, thread, text)
	c.b.Host(start, end, thread, c.b.Class("nvtx", []byte(text)))
	return nil
}

// host is when and where a row of a host thread ran.
func (c *csvFile) host(at map[string]string) (start, end int64, thread profile.ThreadID, err error) {
	from, err := duration(at["Start"], c.units["Start"])
	if err != nil {
		return 0, 0, 0, err
	}
	long, err := duration(at["Duration"], c.units["Duration"])
	if err != nil {
		return 0, 0, 0, err
	}
	pid, err := strconv.ParseInt(at["PID"], 10, 64)
	if err != nil {
		return 0, 0, 0, fmt.Errorf("%.60q is not a process", at["PID"])
	}
	tid, err := strconv.ParseInt(at["TID"], 10, 64)
	if err != nil {
		return 0, 0, 0, fmt.Errorf("%.60q is not a thread", at["TID"])
	}
	return int64(from), int64(from + long), c.b.Thread(pid, tid), nil
}

// duration is a time in ns.
func duration(s, unit string) (float64, error) {
	v, err := number(s)
	scale, known := map[string]float64{
		"ns": 1, "us": 1e3, "µs": 1e3, "μs": 1e3, "ms": 1e6, "s": 1e9, "sec": 1e9,
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
