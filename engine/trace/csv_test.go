package trace

import (
	"errors"
	"math"
	"strings"
	"testing"
)

const (
	nsysSums = "Generating SQLite file a.sqlite\nProcessing [a.sqlite] with [cuda_gpu_kern_sum.py]...\n\n" +
		"Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n" +
		"90.0,81000,2,40500.0,40500.0,40500,40500,0.0,\"void marlin_moe_wna16::Marlin<128, 1, 8>(int4 const*)\"\n10.0,9000,1,9000.0,9000.0,9000,9000,0.0,rms_norm_kernel\n\n" +
		"Processing [a.sqlite] with [cuda_gpu_mem_time_sum.py]...\n\nTime (%),Total Time (ns),Count,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Operation\n100.0,1500,3,500.0,500.0,500,500,0.0,[CUDA memcpy Host-to-Device]\n"
	nsysTrace = "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name\n" +
		"1000,40500,1,132,1,1,384,1,1,168,0.0,0.2,,,,,NVIDIA H100 (0),1,,7,\"void marlin_moe_wna16::Marlin<128, 1, 8>(int4 const*)\"\n" +
		"50000,500,2,,,,,,,,,,0.0,1.3,Pinned,Device,NVIDIA H100 (0),1,,7,[CUDA memcpy Host-to-Device]\n"
	summary = "rank,time_pct,total_ms,instances,avg_us,kernel\n1,90,0.081,2,40.5,\"void marlin_moe_wna16::Marlin<128, 1, 8>(\"\"int4\"\" const*)\"\n2,10,0.009,1,9,rms_norm_kernel\n"
)

func TestCSV(t *testing.T) {
	for name, c := range map[string]struct {
		text, kind string
		times      map[string]float64
		count      int
	}{
		"sums of nsys":    {nsysSums, "nsys-csv", map[string]float64{"moe": 81, "norm_activation": 9, "memory": 1.5}, 6},
		"kernels of nsys": {nsysTrace, "nsys-csv", map[string]float64{"moe": 40.5, "memory": 0.5, "wait unknown": 8.5}, 2},
		"sums of grids":   {nsysSums + "\n" + strings.NewReplacer("Name", "GridXYZ,Name", "\"void", "1 1 1,\"void", "rms", "1 1 1,rms").Replace(nsysSums), "nsys-csv", map[string]float64{"moe": 81, "memory": 3}, 9},
		"sums of kernels": {nsysTrace + "\n" + nsysSums, "nsys-csv", map[string]float64{"moe": 40.5, "memory": 0.5}, 2},
		"summary":         {summary, "kernel-summary", map[string]float64{"moe": 81, "norm_activation": 9}, 3},
		"of Windows":      {"\xef\xbb\xbf" + strings.ReplaceAll(summary, "\n", "\r\n"), "kernel-summary", map[string]float64{"moe": 81}, 3},
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
		"unit":             {strings.Replace(nsysSums, "Total Time (ns)", "Total Time (fortnights)", 1), `time in "fortnights"`, nil},
		"head alone":       {strings.SplitAfter(summary, "\n")[0], "", ErrNoKernels},
		"copies alone":     {nsysSums[strings.Index(nsysSums, "Time (%),Total Time (ns),Count"):], "", ErrNoKernels},
		"other table":      {"a,b\n1,2\n", "", ErrFormat},
	} {
		a, err := openOne(t, traceFile(t, "a.csv", c.text), Options{})
		if a != nil || err == nil || !strings.Contains(err.Error(), c.says) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %+v, %v, want %q, %v", name, a, err, c.says, c.is)
		}
	}
}
