package profiling

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/trace"
	"github.com/mxflow/mxflow/internal/testing/must"
)

// Prompts that are sent at once arrive one after another: SGLang on an H100 took eight of
// them in steps of 1, 6 and 1, vLLM in steps of 1 and 7. All are the prefill.
func TestPrefillInSeveralSteps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.json")
	text := `{"traceEvents": [
{"ph": "X", "cat": "gpu_user_annotation", "name": "step[EXTEND bs=1 toks=100]", "pid": 0, "tid": 7, "ts": 1000, "dur": 100},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1000, "dur": 60},
{"ph": "X", "cat": "gpu_user_annotation", "name": "step[EXTEND bs=6 toks=600]", "pid": 0, "tid": 7, "ts": 1100, "dur": 400},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1100, "dur": 360},
{"ph": "X", "cat": "gpu_user_annotation", "name": "step[EXTEND bs=1 toks=100]", "pid": 0, "tid": 7, "ts": 1500, "dur": 100},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1500, "dur": 60},
{"ph": "X", "cat": "gpu_user_annotation", "name": "step[DECODE bs=8]", "pid": 0, "tid": 7, "ts": 1600, "dur": 20},
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1600, "dur": 10}
]}`
	must.Write(t, path, text)
	taken, err := (&Config{}).Analyse(t.Context(),
		[]Window{{
			Phase: trace.Prefill, Requests: 8, Tokens: 800, Files: []string{path},
			Unprofiled: 900 * time.Microsecond,
		}}, nil)
	must.Do(t, err)
	p := taken[0].main()
	if p.Requests != 8 || p.Steps != 3 || p.Tokens != 800 || p.GPU != 480 || p.GPUs > 1 {
		t.Errorf("%d requests in %d steps, %d tokens, %v µs on %d GPUs", p.Requests, p.Steps, p.Tokens, p.GPU, p.GPUs)
	}
	must.Equal(t, "µs of a step without the profiler", p.Unprofiled, 300)
	if joined := JoinAnalyses(taken).Parts; len(joined) != 1 || joined[0].Steps != 3 {
		t.Errorf("%+v", joined)
	}
}

func TestBusySince(t *testing.T) {
	proc := func(threads map[string][2]string) map[string]float64 {
		dir := t.TempDir()
		for id, is := range threads {
			folder := filepath.Join(dir, "30", "task", id)
			must.Do(t, os.MkdirAll(folder, 0o700))
			for i, name := range []string{"comm", "schedstat"} {
				must.Write(t, filepath.Join(folder, name), is[i])
			}
		}
		return threadsOf(dir, 30, 99)
	}
	before := proc(map[string][2]string{
		"30": {"VLLM::EngineCor\n", "120000000 5 1\n"}, "31": {"a) (b\n", "50000123 77 4\n"},
		"32": {"idle\n", "1000 0 1\n"}, "33": {"worker\n", "90000000 0 1\n"},
	})
	after := proc(map[string][2]string{
		"30": {"VLLM::EngineCor\n", "720000000 5 1\n"}, "31": {"a) (b\n", "50123123 78 5\n"},
		"32": {"idle\n", "1000 0 1\n"}, "33": {"worker\n", "20000000 0 1\n"}, // with the number of one that ended
		"34": {"cut\n", ""},
	})
	want := []trace.Thread{
		{Name: "VLLM::EngineCor, thread 30", Total: 600_000},
		{Name: "worker, thread 33", Total: 20_000},
		{Name: "a) (b, thread 31", Total: 123},
	}
	if got := threadTimes(before, after); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if runtime.GOOS == "linux" && len(threadTimes(nil, threadsOf("/proc", os.Getpid()))) == 0 {
		t.Error("this process has no threads")
	}
	must.Equal(t, "threads without /proc", len(threadsOf("/nowhere", 1)), 0)
}
