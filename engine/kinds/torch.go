package kinds

// gibToGB converts GiB, which most engines also label GB, to GB.
const gibToGB = 1.073741824

// torchHarmless are lines that any engine on PyTorch prints when it ends, and an engine's
// own.
func torchHarmless(own ...string) []string {
	return append(own, "destroy_process_group() was not called", "leaked semaphore objects to clean up at shutdown",
		"leaked shared_memory objects to clean up at shutdown")
}

// graphsDoc is for the observation of which CUDA graphs an engine captures, in vLLM's words
// for them: whole decode steps (FULL_DECODE_ONLY), parts of prefill and of mixed
// steps (PIECEWISE), both (FULL_AND_PIECEWISE), whole steps of any kind (FULL), or none.
const graphsDoc = "Which CUDA graphs are captured: FULL_AND_PIECEWISE, FULL_DECODE_ONLY (prefill runs without), " +
	"PIECEWISE, FULL or NONE."

// graphs is which CUDA graphs were captured, by the lines of each kind; words are the
// engine's for them.
func graphs(words map[string]string, lines ...string) Pattern {
	words["FULL_DECODE_ONLY + PIECEWISE"] = "FULL_AND_PIECEWISE"
	words["FULL + FULL_DECODE_ONLY"] = "FULL"
	words["FULL + FULL_DECODE_ONLY + PIECEWISE"] = "FULL"
	return Pattern{
		Name: "cuda_graphs", Type: TypeString, Chosen: true, Each: true, Doc: graphsDoc,
		Log: lines, Words: words,
	}
}
