package tell

import "fmt"

// stages are the stages of an engine's start in words.
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

// Stage is a stage of an engine's start in words; false if it has none.
func Stage(stage string) (string, bool) {
	words, ok := stages[stage]
	return words, ok
}

// GPUMemory is how much of a GPU's memory is in use, in GB; empty if unknown.
func GPUMemory(used, total float64) string {
	if total <= 0 {
		return ""
	}
	return fmt.Sprintf("GPU %.1f of %.0f GB", used, total)
}
