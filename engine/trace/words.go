package trace

import (
	"slices"
	"strings"
)

// Activities of a host thread, which are the reasons that a GPU waited; words describes
// them.
const (
	queued        = "queued" // although the work was launched before: the GPU's own time
	launching     = "launch"
	synchronizing = "synchronize"
	runtimeAPI    = "runtime_api"
	operators     = "operators"
	python        = "python"
	inStep        = "in_step"
	unrecorded    = "unrecorded" // usually the scheduler, IPC or Python without its stack
	unlaunched    = "unknown"
)

// vague are what a thread does if nothing says more: within something more specific it is
// that.
var vague = []string{unrecorded, python, inStep, operators, runtimeAPI}

// doings maps functions on a thread's stack, in lower case, to its activity; the first
// match counts.
var doings = []struct {
	what  string
	words []string
}{
	{"detokenizer", []string{"detokeniz"}},
	{"tokenizer", []string{"tokeniz"}},
	{"scheduler", []string{"scheduler", "/sched/", "schedule_batch", "schedule_policy"}},
	{"ipc", []string{
		"zmq", "msgpack", "msgspec", "shm_broadcast", "pickle", "socket", "multiprocessing", "core_client", "queue.py",
		"serial_utils", "recv_requests", "send_to",
	}},
	{"http", []string{"uvicorn", "starlette", "fastapi", "http"}},
}

// doingOf is what a thread does in an event of a kind (cuda_runtime, cpu_op,
// python_function, user_annotation, nvtx) and a name.
func doingOf(kind, name string) string {
	lower := strings.ToLower(name)
	in := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(lower, w) })
	}
	what := operators
	switch kind {
	case "cuda_runtime", "cuda_driver":
		switch {
		case in("synchronize", "eventquery"), strings.HasPrefix(lower, "cudamemcpy_"), lower == "cudamemcpy":
			return synchronizing
		case in("launch", "memcpy", "memset"):
			return launching
		}
		return runtimeAPI
	case "user_annotation":
		return inStep
	case "nvtx":
		what = inStep
	case "python_function":
		what = python
	}
	for _, d := range doings {
		if in(d.words...) {
			return d.what
		}
	}
	return what
}

// words are the names of categories of GPU work, of why a GPU waited, and of what else makes
// up a step, as people are shown them.
var words = map[string]string{
	"dense_gemm": "dense GEMM", "moe": "MoE", "norm_activation": "norm, activation", "memory": "memory, copies",
	"hidden": "hidden in CUDA graphs",

	queued:        "between kernels already launched",
	launching:     "launch call, up to its first work",
	synchronizing: "return from a synchronization",
	runtimeAPI:    "other calls of the GPU runtime",
	operators:     "framework operators (dispatch)",
	python:        "Python",
	inStep:        "in the step, unrecorded (Python)",
	unrecorded:    "between steps, unrecorded",
	unlaunched:    "no launch call recorded",
	"ipc":         "IPC", "http": "HTTP",

	OfGPU: "GPU in all", RestOverlap: "less: streams overlap", RestWaits: "GPU waits",
	RestProfiler: "less: the profiler itself",
}

// Words names a category, a wait or a rest for people; a plan's own name is unchanged.
func Words(name string) string {
	if w, ok := words[name]; ok {
		return w
	}
	return name
}
