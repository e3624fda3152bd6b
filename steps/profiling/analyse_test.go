package profiling

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/trace"
	"github.com/mxflow/mxflow/internal/try"
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
	try.Write(t, path, text)
	taken, err := (&Config{}).Analyse(t.Context(), []Window{{Phase: trace.Prefill, Requests: 8, Tokens: 800, Files: []string{path}, Unprofiled: 900 * time.Microsecond}}, nil)
	try.OK(t, err)
	p := taken[0].main()
	if p.Requests != 8 || p.Steps != 3 || p.Tokens != 800 || p.GPU != 480 || p.GPUs > 1 {
		t.Errorf("%d requests in %d steps, %d tokens, %v µs on %d GPUs", p.Requests, p.Steps, p.Tokens, p.GPU, p.GPUs)
	}
	if p.Unprofiled != 300 {
		t.Errorf("%v µs a step without the profiler, want a third of 900", p.Unprofiled)
	}
	if joined := JoinAnalyses(taken).Parts; len(joined) != 1 || joined[0].Steps != 3 {
		t.Errorf("%+v", joined)
	}
}
