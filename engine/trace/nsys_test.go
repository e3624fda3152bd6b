package trace

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/internal/testing/must"
)

// What nsys stats prints of two steps of a server.
const (
	nsysClock = "utcEpochNs\n1795342178000000000\n\n"
	nsysGPU   = "Processing [a.sqlite] with [cuda_gpu_trace.py]... \n" +
		"Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes " +
		"(MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name\n" +
		"100000,40500,1,132,1,1,384,1,1,168,0.0,0.2,,,,,NVIDIA H100 (0),1,,7,\"void marlin_moe_wna16::Marlin<128, 1, " +
		"8>(int4 const*)\"\n" +
		"150000,10000,1,1,1,1,1,1,1,16,0.0,0.0,,,,,NVIDIA H100 (0),1,,7,void rms_norm_kernel<float>(float*)\n" +
		"155000,10000,3,,,,,,,,,,0.0,1.3,Device,Pinned,NVIDIA H100 (0),1,,8,[CUDA memcpy Device-to-Host]\n" +
		"200000,40500,2,132,1,1,384,1,1,168,0.0,0.2,,,,,NVIDIA H100 (0),1,,7,\"void marlin_moe_wna16::Marlin<128, 1, " +
		"8>(int4 const*)\"\n" +
		"250000,10000,2,1,1,1,1,1,1,16,0.0,0.0,,,,,NVIDIA H100 (0),1,,7,void rms_norm_kernel<float>(float*)\n" +
		"270000,10000,2,1,1,1,1,1,1,16,0.0,0.0,,,,,NVIDIA H100 (0),1,,7,void long_gemm<8>(int)\n\n"
	nsysCalls = "Processing [a.sqlite] with [cuda_api_trace.py]... \n" +
		"Start (ns),Duration (ns),Name,Result,CorrID,Pid,Tid,T-Pri,Thread Name\n" +
		"90000,5000,cudaGraphLaunch_v10000,0,1,930,931,20,Worker\n" +
		"96000,1000,cudaLaunchKernel_v7000,0,3,930,931,20,Worker\n" +
		"180000,10000,cudaGraphLaunch_v10000,0,2,930,931,20,Worker\n\n"
	nsysMarks = "Processing [a.sqlite] with [nvtx_pushpop_trace.py]... \n" +
		"Start (ns),End (ns),Duration (ns),DurChild (ns),DurNonChild " +
		"(ns),Name,PID,TID,Lvl,NumChild,RangeId,ParentId,RangeStack,NameTree\n" +
		"80000,110000,30000,0,30000,\":[Executor] _forward_step 4: 0 ctx reqs, 2 gen reqs\",930,931,0,0,1,,:1,:a\n" +
		"166000,169000,3000,0,3000,:tokenizer.encode,930,931,0,0,2,,:2,:b\n" +
		"170000,210000,40000,0,40000,\"[Executor] _forward_step 5: 0 ctx reqs, 2 gen reqs\",930,931,0,0,3,,:3,:c\n"
)

// TestNsys: marks of threads, a second stream, and launches of graphs.
func TestNsys(t *testing.T) {
	a, err := openOne(t, traceFile(t, "a.csv", nsysGPU+nsysCalls+nsysMarks), Options{})
	must.Do(t, err)
	p := &a.Parts[0]
	if len(a.Parts) != 1 || p.Phase != Decode || p.Requests != 2 || p.Steps != 2 || p.Tokens != 4 || p.Wall != 180 ||
		p.Busy != 116 || p.GPU != 121 {
		t.Errorf("parts are %+v", a.Parts)
	}
	got := times(p)
	for name, want := range map[string]float64{
		"moe": 81, "norm_activation": 20, "memory": 10, "dense_gemm": 10,
		"wait queued": 29, "wait launch": 20, "wait in_step": 10, "wait tokenizer": 3, "wait unrecorded": 2,
	} {
		if got[name] != want {
			t.Errorf("%s: %v µs, want %v", name, got[name], want)
		}
	}
	if f := a.Files[0]; f.Kind != "nsys-csv" || !slices.Equal(f.Processes, []string{"930"}) || f.Hidden != 0 ||
		len(f.Digest) != 64 {
		t.Errorf("the file is %+v", f)
	}
	if len(p.Threads) != 1 || p.Threads[0].Name != "Worker, thread 931" {
		t.Errorf("threads are %+v", p.Threads)
	}
}

// TestNsysHidden: launches of graphs without kernels, as nsys records unless told otherwise.
func TestNsysHidden(t *testing.T) {
	if _, err := openOne(t, traceFile(t, "a.csv", nsysCalls), Options{}); !errors.Is(err, ErrHidden) {
		t.Errorf("graphs alone: %v", err)
	}
	another := strings.Replace(nsysCalls, "\n\n", "\n300000,5000,cudaGraphLaunch_v10000,0,9,930,931,20,Worker\n\n", 1)
	if a, err := openOne(t, traceFile(t, "a.csv", nsysGPU+another), Options{}); err != nil || a.Files[0].Hidden != 1 {
		t.Errorf("one graph beside others: %+v, %v", a, err)
	}
}

// TestNsysProcesses: kernels do not say which process launched them, and calls of each are numbered from 1.
func TestNsysProcesses(t *testing.T) {
	both := strings.Replace(nsysCalls, "\n\n", "\n100,5000,cudaLaunchKernel_v7000,0,2,940,940,20,Worker\n\n", 1)
	a, err := openOne(t, traceFile(t, "a.csv", nsysGPU+both), Options{})
	must.Do(t, err)
	if got := times(&a.Parts[0]); got["moe"] != 81 || got["wait launch"] != 0 || got["wait unknown"] == 0 ||
		a.Files[0].Processes != nil {
		t.Errorf("%+v", a)
	}
}

// TestNsysWindow: bounds by the wall clock.
func TestNsysWindow(t *testing.T) {
	start := time.Unix(1795342178, 0)
	path := traceFile(t, "a.csv", nsysClock+nsysGPU+nsysCalls)
	for _, c := range []struct {
		from, to int64
		gpu      float64
	}{{0, 170_000, 60.5}, {170_000, 0, 60.5}, {170_000, 245_000, 40.5}, {900_000, 0, 0}} {
		var o Options
		if c.from > 0 {
			o.From = start.Add(time.Duration(c.from))
		}
		if c.to > 0 {
			o.To = start.Add(time.Duration(c.to))
		}
		a, err := openOne(t, path, o)
		if c.gpu == 0 {
			if !errors.Is(err, ErrNoKernels) {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		if err != nil || a.Parts[0].GPU != c.gpu {
			t.Errorf("%+v: %+v, %v", c, a, err)
		}
	}
	for _, text := range []string{nsysGPU, nsysSums} {
		if _, err := openOne(t, traceFile(t, "a.csv", text), Options{From: start}); !errors.Is(err, ErrNoClock) {
			t.Errorf("without a clock: %v", err)
		}
	}
}

func TestNsysBad(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"no call": {
			strings.Replace(nsysCalls, ",0,3,930", ",0,x,930", 1),
			`line 4: "x" is not a whole number (CorrID)`,
		},
		"no process": {strings.Replace(nsysCalls, ",930,931", ",,931", 1), `line 3: "" is not a whole number (PID)`},
		"no thread":  {strings.Replace(nsysMarks, ",930,931", ",930,", 1), `line 3: "" is not a whole number (TID)`},
		"no time": {
			strings.Replace(nsysMarks, "166000,169000,3000", "166000,169000,", 1),
			`line 4: "" is not a time`,
		},
		"no clock": {strings.Replace(nsysClock, "1795342178000000000", "", 1) + nsysGPU, ""},
		"no epoch": {strings.Replace(nsysClock, "1795342178000000000", "yesterday", 1) + nsysGPU, "yesterday"},
	} {
		a, err := openOne(t, traceFile(t, "a.csv", c.text), Options{From: time.Unix(1, 0)})
		if a != nil || err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %+v, %v, want %q", name, a, err, c.says)
		}
	}
}

// TestReport: a report is read through nsys stats, if that is installed.
func TestReport(t *testing.T) {
	path := traceFile(t, "a.nsys-rep", "of nsys alone")
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	if _, err := openOne(t, path, Options{}); err == nil ||
		!strings.Contains(err.Error(), "is not in PATH: on a machine that has it, run nsys stats --format csv") {
		t.Errorf("without nsys: %v", err)
	}
	if runtime.GOOS == "windows" {
		t.Skip("a script of a shell")
	}
	tables := traceFile(t, "tables.csv", nsysGPU+nsysCalls+nsysMarks)
	clock := traceFile(t, "clock.csv", nsysClock)
	both := "#!/bin/sh\ncase \"$*\" in *utcEpochNs*) /bin/cat " + clock +
		" ;; *cuda_gpu_trace*cuda_api_trace*) /bin/cat " + tables + " ;; esac\n"
	within := Options{From: time.Unix(1795342178, 0), To: time.Unix(1795342178, 170_000)}
	for _, c := range []struct {
		name, script, says string
		options            Options
		steps              int
	}{
		{"whole", both, "", Options{}, 2},
		{"a window", both, "", within, 1},
		{
			"without the clock", "#!/bin/sh\ncase \"$*\" in *utcEpochNs*) exit 1 ;; *) /bin/cat " +
				tables + " ;; esac\n",
			"phases cannot be told apart", within, 0,
		},
		{"refused", "#!/bin/sh\necho no licence >&2\nexit 3\n", "nsys stats: exit status 3\nno licence", Options{}, 0},
		{"other text", "#!/bin/sh\necho text\n", "as tables of nsys stats: not a profile", Options{}, 0},
	} {
		must.Do(t, os.WriteFile(filepath.Join(bin, "nsys"), []byte(c.script), 0o700))
		a, err := openOne(t, path, c.options)
		switch {
		case c.says != "":
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v", c.name, err)
			}
		case err != nil || a.Files[0].Name != "a.nsys-rep" || a.Files[0].Bytes != 13 || a.Parts[0].Steps != c.steps:
			t.Errorf("%s: %+v, %v", c.name, a, err)
		}
	}
}

const (
	nsysSums = "Generating SQLite file a.sqlite\nProcessing [a.sqlite] with [cuda_gpu_kern_sum.py]...\n\nTime " +
		"(%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev " +
		"(ns),Name\n90.0,81000,2,40500.0,40500.0,40500,40500,0.0,\"void marlin_moe_wna16::Marlin<128, 1, 8>(int4 " +
		"const*)\"\n10.0,9000,1,9000.0,9000.0,9000,9000,0.0,rms_norm_kernel\n\nProcessing [a.sqlite] with " +
		"[cuda_gpu_mem_time_sum.py]...\n\nTime (%),Total Time (ns),Count,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev " +
		"(ns),Operation\n100.0,1500,3,500.0,500.0,500,500,0.0,[CUDA memcpy Host-to-Device]\n"
	nsysTrace = "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem " +
		"(MB),Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name\n" +
		"1000,40500,1,132,1,1,384,1,1,168,0.0,0.2,,,,,NVIDIA H100 (0),1,,7,\"void marlin_moe_wna16::Marlin<128, 1, " +
		"8>(int4 const*)\"\n" +
		"50000,500,2,,,,,,,,,,0.0,1.3,Pinned,Device,NVIDIA H100 (0),1,,7,[CUDA memcpy Host-to-Device]\n"
	summary = "rank,time_pct,total_ms,instances,avg_us,kernel\n1,90,0.081,2,40.5,\"void " +
		"marlin_moe_wna16::Marlin<128, 1, 8>(\"\"int4\"\" const*)\"\n2,10,0.009,1,9,rms_norm_kernel\n"
)

func TestCSV(t *testing.T) {
	for name, c := range map[string]struct {
		text, kind string
		times      map[string]float64
		count      int
	}{
		"sums of nsys": {
			nsysSums, "nsys-csv",
			map[string]float64{"moe": 81, "norm_activation": 9, "memory": 1.5},
			6,
		},
		"kernels of nsys": {
			nsysTrace, "nsys-csv",
			map[string]float64{"moe": 40.5, "memory": 0.5, "wait unknown": 8.5},
			2,
		},
		"sums of grids": {nsysSums + "\n" + strings.NewReplacer("Name", "GridXYZ,Name", "\"void", "1 1 1,\"void",
			"rms", "1 1 1,rms").Replace(nsysSums), "nsys-csv", map[string]float64{"moe": 81, "memory": 3}, 9},
		"sums of kernels": {nsysTrace + "\n" + nsysSums, "nsys-csv", map[string]float64{"moe": 40.5, "memory": 0.5}, 2},
		"summary":         {summary, "kernel-summary", map[string]float64{"moe": 81, "norm_activation": 9}, 3},
		"of Windows": {
			"\xef\xbb\xbf" + strings.ReplaceAll(summary, "\n", "\r\n"), "kernel-summary",
			map[string]float64{"moe": 81},
			3,
		},
	} {
		a, err := openOne(t, traceFile(t, "a.csv", c.text), Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := times(&a.Parts[0])
		for category, want := range c.times {
			if math.Abs(got[category]-want) > 1e-9 {
				t.Errorf("%s: %s takes %v µs, want %v", name, category, got[category], want)
			}
		}
		if a.Files[0].Kind != c.kind || a.Parts[0].Count() != c.count {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

func TestCSVBad(t *testing.T) {
	for name, c := range map[string]struct {
		text, says string
		is         error
	}{
		"cut":              {summary[:len(summary)-20], "line 3: has 4 fields, but the table has 6", nil},
		"cut within quote": {summary[:strings.Index(summary, "Marlin")], "line 2: parse error", nil},
		"no number":        {strings.Replace(summary, "0.081", "abc", 1), `line 2: "abc" is not a time`, nil},
		"NaN":              {strings.Replace(summary, "0.081", "NaN", 1), `line 2: "NaN" is not a time`, nil},
		"negative":         {strings.Replace(summary, "0.081", "-3", 1), `line 2: "-3" is not a time`, nil},
		"half a launch":    {strings.Replace(summary, ",2,", ",2.5,", 1), "not a whole number", nil},
		"no launch":        {"kernel,instances,total_ms\ngemm,0,0\n", "", ErrNoKernels},
		"time of none":     {"kernel,instances,total_ms\ngemm,0,1.5\n", "has no launches but took time", nil},
		"past counting":    {"kernel,instances,total_ms\ngemm,1e19,1.5\n", "not a whole number", nil},
		"unit": {
			strings.Replace(nsysSums, "Total Time (ns)", "Total Time (fortnights)", 1),
			`time in "fortnights"`, nil,
		},
		"head alone":   {strings.SplitAfter(summary, "\n")[0], "", ErrNoKernels},
		"copies alone": {nsysSums[strings.Index(nsysSums, "Time (%),Total Time (ns),Count"):], "", ErrNoKernels},
		"other table":  {"a,b\n1,2\n", "", ErrFormat},
	} {
		a, err := openOne(t, traceFile(t, "a.csv", c.text), Options{})
		if a != nil || err == nil || !strings.Contains(err.Error(), c.says) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %+v, %v, want %q, %v", name, a, err, c.says, c.is)
		}
	}
}
