package read

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/profile"
)

// Tables of Nsight Systems. Empty ones are absent.
const (
	kernelTable  = "CUPTI_ACTIVITY_KIND_KERNEL"
	copyTable    = "CUPTI_ACTIVITY_KIND_MEMCPY"
	fillTable    = "CUPTI_ACTIVITY_KIND_MEMSET"
	graphTable   = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
	runtimeTable = "CUPTI_ACTIVITY_KIND_RUNTIME"
	stringTable  = "StringIds"
)

// readNsys reads a report exported by nsys.
func readNsys(f *os.File, size int64, file *profile.File, o profile.Options) ([]profile.Part, error) {
	d, err := openDatabase(f, size)
	if err != nil {
		return nil, err
	}
	if d.tables[stringTable] == nil && d.tables["TARGET_INFO_SESSION_START_TIME"] == nil {
		names := slices.Sorted(maps.Keys(d.tables))
		return nil, fmt.Errorf("no Nsight Systems tables (%s, %s): it has %.200s. Create it with nsys export --type sqlite", stringTable, kernelTable, strings.Join(names, ", "))
	}
	n := &nsys{
		database: d, b: profile.NewBuilder(o), strings: map[int64]string{}, names: map[int64]profile.Name{}, classes: map[int64]call{}, processes: map[int64]int64{},
		naming: profile.Naming{Processes: map[int64]string{}, Threads: map[profile.ThreadID]string{}},
	}
	for _, t := range []struct {
		name    string
		columns []string
		row     func([]cell) error
	}{
		{"TARGET_INFO_SESSION_START_TIME", []string{"utcEpochNs"}, func(c []cell) error { n.b.Clock(c[0].n); return nil }},
		{stringTable, []string{"id", "value"}, n.text},
		{"PROCESSES", []string{"globalPid", "pid", "name"}, n.process},
		{"ThreadNames", []string{"globalTid", "nameId"}, n.thread},
		{kernelTable, []string{"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "demangledName", "shortName"}, n.kernel},
		{copyTable, []string{"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "copyKind"}, n.copied},
		{fillTable, []string{"start", "end", "deviceId", "streamId", "correlationId", "globalPid"}, n.filled},
		{graphTable, []string{"start", "end", "deviceId", "streamId", "correlationId", "globalPid"}, n.graph},
		{runtimeTable, []string{"start", "end", "correlationId", "globalTid", "nameId"}, n.call},
		{"NVTX_EVENTS", []string{"start", "end", "text", "textId", "globalTid"}, n.mark},
	} {
		table := d.tables[t.name]
		if table == nil {
			continue
		}
		if err := d.rows(table, t.columns, t.row); err != nil {
			return nil, fmt.Errorf("table %s: %w", t.name, err)
		}
	}
	return n.b.Build(file, n.naming)
}

type nsys struct {
	*database
	b      *profile.Builder
	naming profile.Naming
	// strings are those of StringIds, up to maxStrings bytes.
	strings map[int64]string
	held    int
	names   map[int64]profile.Name
	classes map[int64]call
	// processes numbers those with calls: call numbers are per process.
	processes map[int64]int64
	lane      lastLane
}

// call is the kind of a runtime function.
type call struct {
	class profile.Class
	graph bool
}

// lastLane saves most lookups: kernels follow each other on a stream.
type lastLane struct {
	device, stream, process int64
	lane                    profile.Lane
	known                   bool
}

const maxStrings = 64 << 20

func (n *nsys) text(c []cell) error {
	if n.held += len(c[1].text); n.held <= maxStrings {
		n.strings[c[0].n] = string(c[1].text)
	}
	return nil
}

// pid and tid are in one number.
func pid(global int64) int64 { return global >> 24 & 0xffffff }
func tid(global int64) int64 { return global & 0xffffff }

func (n *nsys) process(c []cell) error {
	name := string(c[2].text)
	if !c[2].given || len(c[2].text) == 0 {
		name = n.strings[c[2].n]
	}
	if name = filepath.Base(name); name != "." && len(name) < 256 {
		n.naming.Processes[pid(c[0].n)] = name
	}
	return nil
}

func (n *nsys) thread(c []cell) error {
	if name := n.strings[c[1].n]; name != "" && len(name) < 256 && len(n.naming.Threads) < 1<<16 {
		n.naming.Threads[n.b.Thread(pid(c[0].n), tid(c[0].n))] = fmt.Sprintf("%s, thread %d", name, tid(c[0].n))
	}
	return nil
}

// correlation is the number of a process's call; each process counts from 1.
func (n *nsys) correlation(process, number int64) uint32 {
	at, ok := n.processes[process]
	if !ok {
		at = int64(len(n.processes))
		n.processes[process] = at
	}
	const bits = 28
	if number <= 0 || number >= 1<<bits || at >= 1<<(32-bits) {
		return 0
	}
	return uint32(at<<bits | number)
}

func (n *nsys) activity(c []cell, name profile.Name) error {
	process := pid(c[5].n)
	l := &n.lane
	if !l.known || l.device != c[2].n || l.stream != c[3].n || l.process != process {
		lane, err := n.b.Lane(process, c[2].n, c[3].n)
		if err != nil {
			return err
		}
		*l = lastLane{c[2].n, c[3].n, process, lane, true}
	}
	if !c[0].given || !c[1].given {
		return errors.New("a row without start and end")
	}
	return n.b.Activity(c[0].n, c[1].n, l.lane, name, n.correlation(process, c[4].n))
}

func (n *nsys) kernel(c []cell) error {
	id := c[6].n
	if !c[6].given {
		id = c[7].n
	}
	name, ok := n.names[id]
	if !ok {
		if text, held := n.strings[id]; held {
			name = n.b.Name([]byte(text))
			if len(n.names) < 1<<20 {
				n.names[id] = name
			}
		} else {
			name = n.b.Unnamed()
		}
	}
	return n.activity(c, name)
}

func (n *nsys) copied(c []cell) error {
	kind := map[int64]string{1: "HtoD", 2: "DtoH", 8: "DtoD", 10: "PtoP"}[c[6].n]
	return n.activity(c, n.b.Name([]byte("Memcpy "+kind)))
}

func (n *nsys) filled(c []cell) error { return n.activity(c, n.b.Name([]byte("Memset (Device)"))) }

// graph handles a CUDA graph as one piece, which nsys records by default.
func (n *nsys) graph(c []cell) error { return n.activity(c, n.b.Name([]byte("CUDA graph"))) }

func (n *nsys) call(c []cell) error {
	f, ok := n.classes[c[4].n]
	if !ok {
		name := n.strings[c[4].n]
		f = call{n.b.Class("cuda_runtime", []byte(name)), strings.Contains(name, "GraphLaunch")}
		n.classes[c[4].n] = f
	}
	process := pid(c[3].n)
	thread := n.b.Thread(process, tid(c[3].n))
	if f.class == profile.Launching {
		n.b.Launch(c[0].n, c[1].n, thread, n.correlation(process, c[2].n))
	}
	if f.graph {
		n.b.GraphLaunch(c[0].n, n.correlation(process, c[2].n))
	}
	n.b.Host(c[0].n, c[1].n, thread, f.class)
	return nil
}

func (n *nsys) mark(c []cell) error {
	if !c[1].given {
		return nil // a point in time
	}
	text := string(c[2].text)
	if text == "" {
		text = n.strings[c[3].n]
	}
	thread := n.b.Thread(pid(c[4].n), tid(c[4].n))
	n.b.HostMark(c[0].n, c[1].n, thread, text)
	n.b.Host(c[0].n, c[1].n, thread, n.b.Class("nvtx", []byte(text)))
	return nil
}

// openReport reads a report through nsys itself, the only program that knows the format.
func openReport(ctx context.Context, path string, o profile.Options) (*profile.Analysis, error) {
	tool, err := exec.LookPath("nsys")
	if err != nil {
		return nil, fmt.Errorf("%s is an Nsight Systems report, but nsys is not in PATH: on a machine that has it, run nsys export --type sqlite %s", path, filepath.Base(path))
	}
	dir, err := os.MkdirTemp("", "mxflow-nsys-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	exported := filepath.Join(dir, "export.sqlite")
	out, err := exec.CommandContext(ctx, tool, "export", "--type", "sqlite", "--force-overwrite", "true", "--output", exported, path).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: nsys export: %w\n%.2000s", path, err, strings.TrimSpace(string(out)))
	}
	a, err := open(ctx, exported, o)
	if err != nil {
		if inner := errors.Unwrap(err); inner != nil {
			err = inner // without the name of the export
		}
		return nil, fmt.Errorf("%s, as exported by nsys: %w", path, err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	a.Files[0].Name, a.Files[0].Bytes = filepath.Base(path), info.Size()
	if a.Files[0].Digest, err = digest(f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return a, nil
}
