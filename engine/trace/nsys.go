package trace

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/internal/group"
)

// reports are the tables of nsys stats that show everything read from one.
var reports = []string{"cuda_gpu_trace", "cuda_api_trace", "nvtx_pushpop_trace"}

// clockReport queries the wall clock at which a session started, which no table has. It
// comes with nsys.
const clockReport = "_sql:sql=SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME"

// openReport reads a report, or its export to SQLite, as its tables: nsys alone knows the
// format.
func openReport(ctx context.Context, path string, file *File, o Options) (*Analysis, error) {
	tool, err := exec.LookPath("nsys")
	if err != nil {
		return nil, fmt.Errorf("nsys, which alone knows the format, is not in PATH: on a machine that has it, run "+
			"nsys stats --format csv --output - --report %s %s > kernels.csv", strings.Join(reports, ","),
			filepath.Base(path))
	}
	dir, err := os.MkdirTemp("", "mxflow-nsys-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	tables, err := os.Create(filepath.Join(dir, "tables.csv"))
	if err != nil {
		return nil, err
	}
	defer tables.Close()
	stats := func(reports ...string) error {
		args := []string{"stats", "--format", "csv", "--output", "-"}
		if strings.HasSuffix(path, ".nsys-rep") {
			args = append(args, "--force-export=true", "--sqlite", filepath.Join(dir, "export.sqlite"))
		}
		for _, r := range reports {
			args = append(args, "--report", r)
		}
		var said bytes.Buffer
		c := group.Command(ctx, tool, append(args, path)...)
		c.Stdout, c.Stderr = tables, &said
		if err := c.Run(); err != nil {
			return fmt.Errorf("nsys stats: %w\n%.2000s", err, strings.TrimSpace(said.String()))
		}
		_, err := tables.WriteString("\n")
		return err
	}
	if !o.From.IsZero() || !o.To.IsZero() {
		// First, as the clock says which rows count. Without it no row does.
		_ = stats(clockReport)
	}
	if err := stats(reports...); err != nil {
		return nil, err
	}
	if _, err := tables.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	a, err := readStream(tables, file, o)
	if err != nil {
		return nil, fmt.Errorf("as tables of nsys stats: %w", err)
	}
	return a, nil
}

// csvTables are the tables that are read, by the columns that tell them apart. Several of
// the same things must not add up: only the first counts.
var csvTables = []struct {
	of      string
	columns []string
	add     func(c *csvFile)
}{
	{"kernels", []string{"kernel", "instances", "total_ms"}, func(c *csvFile) {
		c.sums("kernel", "instances", "total_ms")
	}},
	{"kernels", []string{"Name", "Instances", "Total Time"}, func(c *csvFile) {
		c.sums("Name", "Instances", "Total Time")
	}},
	{"copies", []string{"Operation", "Count", "Total Time"}, func(c *csvFile) {
		c.sums("Operation", "Count", "Total Time")
	}},
	{"kernels", []string{"Start", "Duration", "CorrId", "Device", "Strm", "Name"}, func(c *csvFile) {
		start := c.ns("Start")
		call, _ := strconv.ParseUint(c.at("CorrId"), 10, 32)
		c.check(c.activity(start, start+c.ns("Duration"), c.at("Device"), copyName(c.at("Name")), uint32(call)))
	}},
	{"calls", []string{"Start", "Duration", "Name", "Result", "CorrID", "PID", "TID"}, func(c *csvFile) {
		start, end, by := c.host()
		what, correlation := c.doing(start, end, by, "cuda_runtime", c.at("Name")), uint32(c.number("CorrID"))
		if c.callers[by.process] = true; what == launching {
			c.call(start, end, by, correlation)
		}
		if strings.Contains(c.at("Name"), "GraphLaunch") {
			c.graph(start, correlation)
		}
		if slices.Contains(c.head, "Thread Name") && c.at("Thread Name") != "" {
			by.name = c.at("Thread Name") + ", thread " + by.id
		}
	}},
	// Ranges that an engine marks with NVTX, whose names follow their domains'.
	{"marks", []string{"Start", "Duration", "Name", "PID", "TID", "RangeStack"}, func(c *csvFile) {
		start, end, by := c.host()
		text := strings.TrimPrefix(c.at("Name"), ":")
		c.mark(&by.marks, start, end, "", text)
		c.doing(start, end, by, "nvtx", text)
	}},
	{"clock", []string{"utcEpochNs"}, func(c *csvFile) { c.epoch, c.clocked = c.number("utcEpochNs"), true }},
}

// csvFile is a CSV being read: the latest table, its latest row, and what was wrong with
// that.
type csvFile struct {
	*capture
	add   func(c *csvFile)
	head  []string
	units map[string]string
	row   []string
	err   error
	heads map[string][]string // the first of each kind of rows
	// callers are the processes with calls.
	callers map[string]bool
}

// readCSV reads tables of kernels. Lines before a table are other output of profilers, and
// an empty one ends it.
func readCSV(r io.Reader, file *File, o Options) ([]Part, error) {
	c := &csvFile{capture: newCapture(o), heads: map[string][]string{}, callers: map[string]bool{}}
	rows := csv.NewReader(r)
	rows.FieldsPerRecord = -1
	for last := 0; ; {
		row, err := rows.Read()
		bad, line := (*csv.ParseError)(nil), 0
		switch {
		case errors.Is(err, io.EOF):
			if file.Kind == "" {
				return nil, ErrFormat
			}
			if len(c.callers) > 1 {
				c.calls = nil // their numbers are per process, and kernels do not say whose they are
			}
			return c.analysis(file)
		case errors.As(err, &bad):
			line = bad.StartLine
		case err != nil:
			return nil, damaged(err)
		default:
			line, _ = rows.FieldPos(0)
		}
		if line != last+1 {
			c.add = nil
		}
		last = line
		switch c.row, c.err = row, err; {
		case err == nil && c.header(row):
			if file.Kind = "nsys-csv"; slices.Contains(c.head, "total_ms") {
				file.Kind = "kernel-summary"
			}
			continue
		case c.add == nil:
			continue
		case err == nil && len(row) != len(c.head):
			c.err = fmt.Errorf("has %d fields, but the table has %d", len(row), len(c.head))
		case err == nil:
			c.add(c)
		}
		if c.err != nil {
			return nil, fmt.Errorf("line %d: %w: the file is truncated, or was edited", line, c.err)
		}
	}
}

// header reports whether fields are the head of a table, and makes it the current one.
func (c *csvFile) header(fields []string) bool {
	head, units := make([]string, len(fields)), map[string]string{}
	for i, f := range fields {
		name, unit, _ := strings.Cut(strings.TrimSpace(f), " (") // Total Time (ns)
		if name == "Pid" || name == "Tid" {                      // as nsys spelled them before 2024
			name = strings.ToUpper(name)
		}
		head[i], units[name] = name, strings.TrimSuffix(unit, ")")
	}
	units["total_ms"] = "ms"
	for _, t := range csvTables {
		if slices.ContainsFunc(t.columns, func(want string) bool { return !slices.Contains(head, want) }) {
			continue
		}
		if first := c.heads[t.of]; first != nil && !slices.Equal(first, head) {
			c.add = nil // another report of what was read
			return true
		}
		c.add, c.head, c.units, c.heads[t.of] = t.add, head, units, head
		if slices.Contains(head, "CorrId") {
			c.heads["copies"] = head // which are among them
		}
		return true
	}
	return false
}

func (c *csvFile) at(column string) string {
	return strings.TrimSpace(c.row[slices.Index(c.head, column)])
}

func (c *csvFile) check(err error) { c.err = cmp.Or(c.err, err) }

func (c *csvFile) number(column string) int64 {
	n, err := strconv.ParseInt(c.at(column), 10, 64)
	if err != nil {
		c.check(fmt.Errorf("%.60q is not a whole number (%s)", c.at(column), column))
	}
	return n
}

// scales are units of time in ns.
var scales = map[string]float64{"ns": 1, "us": 1e3, "µs": 1e3, "μs": 1e3, "ms": 1e6, "s": 1e9, "sec": 1e9}

func (c *csvFile) ns(column string) int64 {
	v, err := strconv.ParseFloat(c.at(column), 64)
	scale := scales[c.units[column]]
	switch {
	case scale == 0:
		c.check(fmt.Errorf("time in %q: unknown unit (expected ns, us, ms or s)", c.units[column]))
	case err != nil || !(v >= 0 && v*scale <= 1e18):
		c.check(fmt.Errorf("%.60q is not a time", c.at(column)))
		return 0
	}
	return int64(math.Round(v * scale))
}

func (c *csvFile) sums(name, count, total string) {
	n, ns := c.number(count), c.ns(total)
	switch {
	case n < 0 || n > 1<<53:
		c.check(fmt.Errorf("%.60q launches of a kernel", c.at(count)))
	case c.at(name) == "":
		c.check(errors.New("a kernel without a name"))
	case n == 0 && ns > 0:
		c.check(fmt.Errorf("%.60q has no launches but took time", c.at(name)))
	case n > 0: // or else it did not run
		c.sum(copyName(c.at(name)), int(n), ns)
	}
}

// copyName spells copies as PyTorch does: one name for one thing, across profilers.
func copyName(name string) string {
	operation, ok := strings.CutPrefix(name, "[CUDA mem")
	if !ok {
		return name
	}
	operation = "Mem" + strings.TrimSuffix(operation, "]")
	if !strings.Contains(operation, " ") {
		return operation + " (Device)"
	}
	return strings.NewReplacer("Host-to-Device", "HtoD", "Device-to-Host", "DtoH", "Device-to-Device", "DtoD").
		Replace(operation)
}

// host is when and where a row of a host thread ran.
func (c *csvFile) host() (start, end int64, by *thread) {
	c.number("PID")
	c.number("TID")
	start = c.ns("Start")
	return start, start + c.ns("Duration"), c.thread(c.at("PID"), c.at("TID"))
}
