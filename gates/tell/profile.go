package tell

// Words of profiles: categories of work on a GPU, and why one waited.
var (
	categoryWords = map[string]string{
		"dense_gemm": "dense GEMM", "moe": "MoE", "attention": "attention", "norm_activation": "norm, activation", "sampling": "sampling",
		"memory": "memory, copies", "communication": "communication", "other": "other", "hidden": "hidden in CUDA graphs",
	}
	causeWords = map[string]string{
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
	}
	restWords = map[string]string{
		"overlap": "less: streams overlap", "waits": "GPU waits", "profiler": "less: the profiler itself",
	}
)

// Category is a category of work on a GPU in words; a plan's own is as it is written.
func Category(name string) string { return wordOf(categoryWords, name) }

// Cause is why a GPU waited.
func Cause(name string) string { return wordOf(causeWords, name) }

// Rest is what beside work of a category makes up a step.
func Rest(name string) string { return wordOf(restWords, name) }

func wordOf(words map[string]string, name string) string {
	if w, ok := words[name]; ok {
		return w
	}
	return name
}
