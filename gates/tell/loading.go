package tell

import "fmt"

// stages are the parts of an engine's start in words.
var stages = map[string]string{
	"":              "starting",
	"weights":       "loading weights",
	"compile":       "compiling",
	"warm_up":       "profiling and warming up",
	"kv_cache":      "allocating the KV cache",
	"graphs":        "capturing CUDA graphs",
	"serving":       "starting the API server",
	"first_request": "first request",
}

// Stage is a part of an engine's start; false where it has no words.
func Stage(stage string) (string, bool) {
	words, ok := stages[stage]
	return words, ok
}

// GPUMemory is what is in use of a GPU's memory, in GB; empty where that is not known.
func GPUMemory(used, total float64) string {
	if total <= 0 {
		return ""
	}
	return fmt.Sprintf("GPU %.1f of %.0f GB", used, total)
}
