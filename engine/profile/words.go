package profile

// words are the names of categories of GPU work, of why a GPU waited, and of what else makes
// up a step, as people are shown them.
var words = map[string]string{
	"dense_gemm": "dense GEMM", "moe": "MoE", "attention": "attention", "norm_activation": "norm, activation", "sampling": "sampling",
	"memory": "memory, copies", "communication": "communication", "other": "other", "hidden": "hidden in CUDA graphs",

	"queued":      "between kernels already launched",
	"launch":      "launch call, up to its first work",
	"synchronize": "return from a synchronization",
	"runtime_api": "other calls of the GPU runtime",
	"operators":   "framework operators (dispatch)",
	"python":      "Python",
	"in_step":     "in the step, unrecorded (Python)",
	"unrecorded":  "between steps, unrecorded",
	"unknown":     "no launch call recorded",
	"tokenizer":   "tokenizer", "detokenizer": "detokenizer", "scheduler": "scheduler", "ipc": "IPC", "http": "HTTP",

	"overlap": "less: streams overlap", "waits": "GPU waits", "profiler": "less: the profiler itself",
}

// Words names a category, a wait or a rest for people; a plan's own name is unchanged.
func Words(name string) string {
	if w, ok := words[name]; ok {
		return w
	}
	return name
}
