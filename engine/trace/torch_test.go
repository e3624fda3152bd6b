package trace

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
)

// traceFile is a file of events in the test's folder.
func traceFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func kernel(name string, ts, dur float64, more string) string {
	return fmt.Sprintf(
		`{"ph": "X", "cat": "kernel", "name": %q, "pid": 0, "tid": 7, "ts": %.3f, "dur": %.3f, "args": {"device": 0, "stream": 7%s}}`, name, ts, dur, more)
}

func other(cat, name string, pid, tid int, ts, dur float64, args string) string {
	return fmt.Sprintf(
		`{"ph": "X", "cat": %q, "name": %q, "pid": %d, "tid": %d, "ts": %.3f, "dur": %.3f, "args": {%s}}`, cat, name,
		pid, tid, ts, dur, args)
}

func process(pid int, name string) string {
	return fmt.Sprintf(`{"ph": "M", "name": "process_name", "pid": %d, "tid": 0, "args": {"name": %q}}`, pid, name)
}

func document(events ...string) string {
	return `{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "a \"GPU\" ]}"}], "baseTimeNanoseconds": 1790857026000000000, "traceEvents": [` + strings.Join(events, ",\n") + `], "traceName": "x"}`
}

func openOne(t *testing.T, path string, o Options) (*Analysis, error) {
	t.Helper()
	a, err := Open(t.Context(), []string{path}, o)
	if a != nil {
		for i := range a.Parts {
			adds(t, &a.Parts[i])
		}
	}
	return a, err
}

// adds checks what holds of every part: categories add up to GPU, waits to the difference
// between Busy and Wall.
func adds(t *testing.T, p *Part) {
	t.Helper()
	sum, waits, count := 0.0, 0.0, 0
	for _, c := range p.Categories {
		sum += c.Total
	}
	for _, k := range p.Kernels {
		count += k.Count
	}
	for _, w := range p.Waits {
		waits += w.Total
	}
	if math.Abs(sum-p.GPU) > 1e-6*p.GPU || math.Abs(waits-(p.Wall-p.Busy)) > 1e-3 || p.Busy > p.GPU+1e-3 ||
		count != p.Count() {
		t.Errorf("%s: categories come to %v of %v µs, waits to %v of %v - %v µs, kernels to %d of %d", p.Phase, sum,
			p.GPU, waits, p.Wall, p.Busy, count, p.Count())
	}
}

func times(p *Part) map[string]float64 {
	of := map[string]float64{}
	for _, c := range p.Categories {
		of[c.Name] = math.Round(1000*c.Total) / 1000
	}
	for _, w := range p.Waits {
		of["wait "+w.Cause] = math.Round(1000*w.Total) / 1000
	}
	return of
}

// TestTorch: two steps of decoding as vLLM marks them, with the host's side of the waits.
func TestTorch(t *testing.T) {
	path := traceFile(t, "a.json", document(
		process(930, "VLLM::EngineCore"), process(0, "VLLM::EngineCore"),
		other("gpu_user_annotation", "execute_context_0(0)_generation_2(2)", 0, 7, 1000, 100, `"External id": 1`),
		// The mark appears again on a second stream.
		other("gpu_user_annotation", "execute_context_0(0)_generation_2(2)", 0, 8, 1010, 20, `"External id": 1`),
		other("gpu_user_annotation", "execute_context_0(0)_generation_2(2)", 0, 7, 1200, 100, `"External id": 2`),
		kernel("void marlin_moe_wna16::Marlin<128, 1>(int)", 1000, 40.5, `, "correlation": 1`),
		// Launched before the first ended: the wait between is the GPU's own.
		kernel("rms_norm_kernel", 1050.5, 9.5, `, "correlation": 2`),
		// At the same time on a second stream, up to 1070.
		other("gpu_memcpy", "Memcpy DtoD (Device -> Device)", 0, 8, 1055, 15, `"correlation": 3`),
		// The second step, launched at 1180 after the scheduler worked up to 1150.
		kernel("void marlin_moe_wna16::Marlin<128, 1>(int)", 1200, 40.5, `, "correlation": 4`),
		other("cuda_runtime", "cudaLaunchKernel", 930, 930, 990, 5, `"correlation": 1`),
		other("cuda_runtime", "cudaLaunchKernel", 930, 930, 996, 5, `"correlation": 2`),
		other("cuda_runtime", "cudaMemcpyAsync", 930, 930, 1002, 5, `"correlation": 3`),
		other("cuda_runtime", "cudaLaunchKernel", 930, 930, 1180, 5, `"correlation": 4`),
		other("python_function", "vllm/v1/core/sched/scheduler.py(338): schedule", 930, 930, 1080, 70, ``),
		other("python_function", "some.py(1): f", 930, 930, 1100, 10, ``),
		other("cpu_op", "aten::add", 930, 930, 1160, 10, ``),
		other("overhead", "Activity Buffer Request", 930, 930, 1, 5, ``),
		`{"ph": "i", "name": "an instant", "s": "g", "ts": 1}`,
	))
	a, err := openOne(t, path, Options{})
	must.Do(t, err)
	p := &a.Parts[0]
	if len(a.Parts) != 1 || p.Phase != Decode || p.Requests != 2 || p.Steps != 2 || p.Tokens != 4 || p.GPUs != 1 {
		t.Fatalf("parts are %+v", a.Parts)
	}
	if p.Wall != 240.5 || p.Busy != 40.5+19.5+40.5 || p.GPU != 40.5+9.5+15+40.5 {
		t.Errorf("wall %v, busy %v, GPU %v µs", p.Wall, p.Busy, p.GPU)
	}
	got := times(p)
	for name, want := range map[string]float64{
		"moe": 81, "norm_activation": 9.5, "memory": 15,
		"wait queued": 10, "wait launch": 20, "wait scheduler": 70, "wait operators": 10, "wait unrecorded": 30,
	} {
		if got[name] != want {
			t.Errorf("%s: %v µs, want %v", name, got[name], want)
		}
	}
	if len(p.Threads) != 1 || p.Threads[0].Name != "VLLM::EngineCore, thread 930" ||
		math.Abs(p.Threads[0].Total-(1+5+70+10+5)) > 1e-6 {
		t.Errorf("threads are %+v", p.Threads)
	}
	if f := a.Files[0]; f.Kind != "torch" || !slices.Equal(f.Processes, []string{"VLLM::EngineCore"}) ||
		f.Hidden != 0 || len(f.Digest) != 64 || f.Bytes == 0 {
		t.Errorf("the file is %+v", f)
	}
}

// TestRecorded compares recorded traces of one request, with Marlin's and Triton's experts, without
// CUDA graphs and of SGLang 0.5.17 with 4 layers, with figures in µs a step that were counted by hand,
// or by another program.
func TestRecorded(t *testing.T) {
	for name, want := range map[string]struct {
		steps, kernels int
		took           map[string]float64
		wait           string
	}{
		"vllm-decode2": {2, 534, map[string]float64{
			"all": 3043, "experts": 938, "dense": 809, "lm_head": 407, "attention": 368, "routing, activation": 252,
		}, ""},
		"vllm-triton-decode2": {2, 486, map[string]float64{
			"all": 3042.2, "experts": 1076.6, "routing": 223.8, "lm_head": 408.7,
		}, "queued"},
		"vllm-eager-decode1": {
			1, 548,
			map[string]float64{"all": 3125.3, "experts": 933.6, "lm_head": 406.9},
			"operators",
		},
		"sglang-decode2": {2, 123, map[string]float64{
			"all": 976.7, "experts": 182.9, "routing": 110.5, "lm_head": 403.9,
		}, "scheduler"},
	} {
		a, err := openOne(t, filepath.Join("testdata", name+".pt.trace.json.gz"), Options{})
		must.Do(t, err)
		p := &a.Parts[len(a.Parts)-1]
		if p.Phase != Decode || p.Requests != 1 || p.Steps != want.steps || p.Count() != want.kernels*want.steps {
			t.Errorf("%s: %s, %d requests, %d steps, %d kernels", name, p.Phase, p.Requests, p.Steps, p.Count())
		}
		took := map[string]float64{}
		took["all"], _ = p.Per(p.GPU)
		for _, k := range p.Kernels {
			per, _ := p.Per(k.Total)
			switch {
			case strings.Contains(k.Name, "Marlin<"), strings.Contains(k.Name, "_matmul_ogs"):
				took["experts"] += per
			case strings.Contains(k.Name, "512x8"):
				took["lm_head"] += per
			case k.Category == "dense_gemm":
				took["dense"] += per
			case k.Category == "moe":
				took["routing"] += per
				took["routing, activation"] += per
			case strings.Contains(k.Name, "swiglu"):
				took["routing, activation"] += per
			default:
				took[k.Category] += per
			}
		}
		for what, us := range want.took {
			if math.Abs(took[what]-us) > 0.005*us {
				t.Errorf("%s: %s takes %.1f µs a token, not %v", name, what, took[what], us)
			}
		}
		if want.wait != "" && (len(p.Waits) == 0 || p.Waits[0].Cause != want.wait || len(p.Threads) != 1) {
			t.Errorf("%s: the GPU waits most for %+v, not %s; at work are %+v", name, p.Waits, want.wait, p.Threads)
		}
	}
}

// TestFallback: a profile without marks is what the options say; marks take precedence.
func TestFallback(t *testing.T) {
	plain := document(kernel("gemm", 0, 10, ""), kernel("gemm", 20, 10, ""))
	o := Options{Phase: Decode, Requests: 8, Steps: 2, Tokens: 16}
	a, err := openOne(t, traceFile(t, "a.json", plain), o)
	must.Do(t, err)
	if p := a.Parts[0]; p.Phase != Decode || p.Requests != 8 || p.Steps != 2 || p.Tokens != 16 || p.Wall != 30 ||
		p.Busy != 20 || times(&p)["wait unknown"] != 10 {
		t.Errorf("part is %+v", p)
	}
	a, err = openOne(t, traceFile(t, "a.json", plain), Options{})
	if err != nil || a.Parts[0].Phase != Whole || a.Parts[0].Steps != 0 {
		t.Errorf("%+v, %v", a, err)
	}
	marked := document(kernel("gemm", 0, 10, ""),
		other("gpu_user_annotation", "step[EXTEND bs=2 toks=107]", 0, 7, 0, 10, ""))
	a, err = openOne(t, traceFile(t, "a.json", marked), o)
	if err != nil || a.Parts[0].Phase != Prefill || a.Parts[0].Requests != 2 || a.Parts[0].Tokens != 107 {
		t.Errorf("%+v, %v", a, err)
	}
	// A bare array is a trace too, and so is a gzipped one, whatever its name.
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	fmt.Fprint(z, "["+kernel("gemm", 0, 10, "")+"]")
	z.Close()
	if a, err = openOne(t, traceFile(t, "a.bin", packed.String()), Options{}); err != nil || a.Parts[0].GPU != 10 {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestHostMarks: a GPU without marks has those of the thread that launched its work.
func TestHostMarks(t *testing.T) {
	a, err := openOne(t, traceFile(t, "a.json", document(
		other("user_annotation", "[Executor] _forward_step 12: 0 ctx reqs, 3 gen reqs", 5, 5, 0, 50, ""),
		other("user_annotation", "[Executor] _forward_step 13: 0 ctx reqs, 3 gen reqs", 5, 5, 60, 50, ""),
		other("cuda_runtime", "cudaGraphLaunch", 5, 5, 10, 5, `"correlation": 1`),
		other("cuda_runtime", "cudaGraphLaunch", 5, 5, 70, 5, `"correlation": 2`),
		kernel("gemm", 100, 10, `, "correlation": 1`), kernel("attention", 120, 10, `, "correlation": 1`),
		kernel("gemm", 140, 10, `, "correlation": 2`), kernel("attention", 160, 10, `, "correlation": 2`),
	)), Options{})
	must.Do(t, err)
	p := &a.Parts[0]
	if len(a.Parts) != 1 || p.Phase != Decode || p.Requests != 3 || p.Steps != 2 || p.Tokens != 6 || p.Wall != 70 ||
		times(p)["wait queued"] != 30 {
		t.Errorf("parts are %+v", a.Parts)
	}
}

// TestIdle: a GPU that has nothing to do for a long time does not wait.
func TestIdle(t *testing.T) {
	var events []string
	for _, at := range []float64{0, 100, 200, 1_000_000, 1_000_100} {
		events = append(events, kernel("gemm", at, 90, ""),
			other("gpu_user_annotation", "step[DECODE bs=1]", 0, 7, at, 90, ""))
	}
	a, err := openOne(t, traceFile(t, "a.json", document(events...)), Options{})
	must.Do(t, err)
	if p := a.Parts[0]; p.Steps != 5 || p.Wall != 290+190 || p.Busy != 450 {
		t.Errorf("%d steps, wall %v, busy %v µs", p.Steps, p.Wall, p.Busy)
	}
}

// TestLayers: where modules are recorded, kernels belong to the layer that launched them.
func TestLayers(t *testing.T) {
	a, err := openOne(t, traceFile(t, "a.json", document(
		other("python_function", "nn.Module: Qwen3DecoderLayer_10", 5, 5, 20, 10, ""),
		other("python_function", "nn.Module: Qwen3DecoderLayer_2", 5, 5, 0, 10, ""),
		other("python_function", "nn.Module: Sampler_0", 5, 5, 40, 10, ""),
		other("cuda_runtime", "cudaLaunchKernel", 5, 5, 1, 1, `"correlation": 1`),
		kernel("gemm", 100, 10, `, "correlation": 1`),
		other("cuda_runtime", "cudaLaunchKernel", 5, 5, 8, 1, `"correlation": 2`),
		kernel("norm", 110, 5, `, "correlation": 2`),
		other("cuda_runtime", "cudaLaunchKernel", 5, 5, 21, 1, `"correlation": 3`),
		kernel("gemm", 120, 7, `, "correlation": 3`),
		other("cuda_runtime", "cudaLaunchKernel", 5, 5, 41, 1, `"correlation": 4`),
		kernel("argmax", 130, 1, `, "correlation": 4`),
	)), Options{})
	must.Do(t, err)
	if want := []Category{
		{"Qwen3DecoderLayer_2", 2, 15},
		{"Qwen3DecoderLayer_10", 1, 7},
	}; !slices.Equal(a.Parts[0].Layers, want) {
		t.Errorf("%+v, want %+v", a.Parts[0].Layers, want)
	}
}

// TestReadOnce: a report beside its export, tables of one report, and copies under other
// names are not added up.
func TestReadOnce(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	plain := document(kernel("gemm", 0, 10, ""))
	packed := &bytes.Buffer{}
	z := gzip.NewWriter(packed)
	fmt.Fprint(z, plain)
	z.Close()
	single := traceFile(t, "single.json", plain)
	analysis, err := Open(t.Context(), []string{single}, Options{})
	must.Do(t, err)
	export, err := json.Marshal(analysis)
	must.Do(t, err)
	for name, c := range map[string]struct {
		files map[string]string
		gpu   float64
		waits int
	}{
		"packed and not":    {map[string]string{"a.json": plain, "a.json.gz": packed.String()}, 10, 0},
		"under two names":   {map[string]string{"a.json": plain, "b.json": plain}, 10, 0},
		"with its analysis": {map[string]string{"z.json": plain, "a.json": string(export)}, 10, 0},
		"of no file": {
			map[string]string{
				"a.json": `{"format": "mxflow.profile/1", "files": [], "parts": [{"phase": "decode", "kernels": [{"name": "k", "count": 1, "us": 3}]}]}`,
			}, 3, 0,
		},
		"alike names": {map[string]string{
			"run_cuda_a.json": plain,
			"run_cuda_b.json": strings.Replace(plain, `"x"`, `"y"`, 1),
		}, 20, 0},
		"two GPUs": {
			map[string]string{"a.json": plain, "b.json": strings.Replace(plain, `"x"`, `"y"`, 1)}, 20, 0,
		},
		"tables of nsys": {map[string]string{
			"a_cuda_gpu_trace.csv": nsysGPU, "a_cuda_api_trace.csv": nsysCalls,
			"a_cuda_gpu_kern_sum.csv": nsysSums,
		}, 121, 3},
		"report and its tables":  {map[string]string{"a.nsys-rep": "x", "a.sqlite": "y", "a.csv": nsysGPU}, 121, 1},
		"two reports, each once": {map[string]string{"a.csv": nsysGPU, "b.csv": nsysGPU + "\n"}, 242, 1},
	} {
		dir := t.TempDir()
		for name, text := range c.files {
			must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		a, err := openOne(t, dir, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if p := a.Parts[0]; p.GPU != c.gpu || len(p.Waits) != c.waits {
			t.Errorf("%s: %v µs, waits %+v, want %v and %d", name, p.GPU, p.Waits, c.gpu, c.waits)
		}
	}
}

// TestRanks: the files of one capture are one analysis, of two GPUs; that of a front end
// without kernels does not matter.
func TestRanks(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"rank0.json", "rank1.json", "frontend.json", "notes.txt"} {
		text := document(kernel("gemm", 0, float64(10+i), ""),
			other("gpu_user_annotation", "step[DECODE bs=1]", 0, 7, 0, 90, ""))
		if name == "frontend.json" {
			text = document(other("cpu_op", "aten::add", 1, 1, 0, 1, ""))
		}
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	a, err := openOne(t, dir, Options{})
	must.Do(t, err)
	if p := a.Parts[0]; len(a.Files) != 2 || len(a.Parts) != 1 || p.GPUs != 2 || p.Steps != 2 || p.GPU != 21 {
		t.Errorf("%+v", a)
	}
	if per, _ := a.Parts[0].Step(a.Parts[0].GPU); per != 10.5 {
		t.Errorf("%v µs a step of one GPU", per)
	}
}

// TestBad: damaged files are refused, with the place; a file without kernels is no success.
func TestBad(t *testing.T) {
	whole := document(kernel("gemm", 0, 10, ""), kernel("gemm", 20, 10, ""))
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	fmt.Fprint(z, whole)
	z.Close()
	for name, c := range map[string]struct {
		text, says string
		is         error
	}{
		"empty":             {"", "the file is empty", nil},
		"cut":               {whole[:len(whole)-40], "torch: byte", nil},
		"cut within a name": {whole[:len(whole)-150], "is truncated", nil},
		"cut after events":  {whole[:len(whole)-1], "is truncated", nil},
		"gzip cut":          {packed.String()[:packed.Len()-20], "is truncated", nil},
		"gzip head cut":     {packed.String()[:5], "gzip: the file is truncated", nil},
		"gzip damaged":      {packed.String()[:packed.Len()-8] + "01234567", "checksum", nil},
		"no kernels":        {document(other("cpu_op", "aten::add", 1, 1, 0, 1, "")), "", ErrNoKernels},
		"no events":         {document(), "", ErrNoKernels},
		"copies alone": {
			document(other("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 0, 7, 0, 1, "")),
			"", ErrNoKernels,
		},
		"no trace": {`{"a": [1, {"b": "]"}]}`, "without traceEvents", nil},
		"text":     {"hello", "not a profile that mxflow reads", nil},
		"backwards": {
			document(kernel("gemm", 10, -5, "")),
			"kernel gemm ends 5000 ns before it starts: the clock went backwards", nil,
		},
		"no duration": {
			document(`{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 5}`),
			`dur of "k"`, nil,
		},
		"no number": {
			document(`{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": "NaN", "dur": 1}`),
			"invalid number literal", nil,
		},
		"absurd time": {document(kernel("k", 1e18, 1, "")), "not a time in µs", nil},
		"outside of steps": {document(kernel("k", 1, 1, ""),
			other("gpu_user_annotation", "step[DECODE bs=1]", 0, 7, 50, 10, "")), "", ErrNoSteps},
		"hidden graphs": {
			document(other("cuda_runtime", "cudaGraphLaunch", 5, 5, 0, 1, `"correlation": 9`)), "",
			ErrHidden,
		},
		"not JSON":           {`{"traceEvents": [{"ph" "X"}]}`, "not JSON there", nil},
		"event is no object": {`{"traceEvents": [1]}`, "cannot unmarshal number", nil},
		"old analysis":       {`{"format": "mxflow.profile/1", "parts": []}`, "", ErrNoKernels},
		"cut analysis":       {`{"format": "mxflow.profile/1", "parts": [`, "is truncated", nil},
	} {
		a, err := openOne(t, traceFile(t, "a.json", c.text), Options{})
		if a != nil || err == nil {
			t.Errorf("%s: %+v, %v", name, a, err)
			continue
		}
		if !strings.Contains(err.Error(), "a.json: ") || !strings.Contains(err.Error(), c.says) || c.is != nil &&
			!errors.Is(err, c.is) {
			t.Errorf("%s: %v, want %q, %v", name, err, c.says, c.is)
		}
	}
}

// TestHiddenGraphs: graphs whose kernels are missing are counted beside the others.
func TestHiddenGraphs(t *testing.T) {
	a, err := openOne(t, traceFile(t, "a.json", document(
		other("cuda_runtime", "cudaGraphLaunch", 5, 5, 0, 1, `"correlation": 1`),
		kernel("gemm", 10, 5, `, "correlation": 1`),
		other("cuda_runtime", "cudaGraphLaunch", 5, 5, 20, 1, `"correlation": 2`),
	)), Options{})
	if err != nil || a.Files[0].Hidden != 1 {
		t.Errorf("%+v, %v", a, err)
	}
}

func FuzzTorch(f *testing.F) {
	f.Add([]byte(document(kernel("gemm", 0, 10, `, "correlation": 3`), process(0, "x"))))
	f.Add(
		[]byte(document(other("gpu_user_annotation", "execute_context_1(12)_generation_0(0)", 0, 7, 0, 5,
			`"External id": 1`), kernel("gemm", 1, 2, ""))))
	f.Add(
		[]byte(
			`[{"ph":"X","cat":"cuda_runtime","name":"cudaGraphLaunch","pid":"a","tid":"b","ts":-1.5e3,"dur":0,"args":{"correlation":1}}]`))
	f.Add([]byte("kernel,instances,total_ms\n\"a,\"\"b\",2,1.5\n"))
	f.Add([]byte("kernel,instances,total_ms\na,0,0\n"))
	f.Add(
		[]byte("==PROF== x\n\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric " +
			"Value\"\n\"0\",\"k\",\"Duration\",\"us\",\"1,234\"\n"))
	f.Add([]byte("Time (%),Total Time (ns),Instances,Avg (ns),Name\n1,5,2,1,k\n"))
	f.Add([]byte("Start (ns),Duration (ns),CorrId,Device,Strm,Name\n1,5,2,H100 (0),7,k\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file := &File{}
		a, err := readStream(bytes.NewReader(data), file, Options{})
		if err != nil {
			return
		}
		if len(a.Parts) == 0 {
			t.Error("nothing was read, and that is no error")
		}
		for _, p := range a.Parts {
			if len(p.Kernels) == 0 || math.IsNaN(p.GPU) {
				t.Errorf("a part without kernels: %+v", p)
			}
		}
	})
}

// A time is what the JSON number says, in any form, without the rest of a ns.
func TestTimesAreJSONNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	forms := []string{
		"0", "-0.0", "0e9", "1.500e3", "1.5E+3", "15e-1", "-2.25e2", "1718000000000000.123",
		"1718000000.1239e6", "9e-7", "12345678901234567e-20",
	}
	for range 2000 {
		mantissa := strconv.FormatFloat((r.Float64()-0.5)*math.Pow10(r.IntN(12)), 'f', r.IntN(12), 64)
		form := mantissa
		if r.IntN(2) > 0 {
			form += fmt.Sprintf("e%+d", r.IntN(9)-5)
		}
		forms = append(forms, form)
	}
	for _, form := range forms {
		var us json.Number
		must.Do(t, json.Unmarshal([]byte(form), &us))
		exact, _ := new(big.Rat).SetString(form)
		exact.Mul(exact, big.NewRat(1000, 1))
		want := new(big.Int).Quo(exact.Num(), exact.Denom()).Int64()
		if got, err := ofMicroseconds(us); err != nil || got != want {
			t.Errorf("%s µs: %d ns, %v, want %d", form, got, err, want)
		}
	}
	for _, form := range []string{"", "1e19", "1e400", "99999999999999999999", "1e99999999999999999999"} {
		if got, err := ofMicroseconds(json.Number(form)); err == nil {
			t.Errorf("%q µs: %d ns", form, got)
		}
	}
}
