package tell

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
