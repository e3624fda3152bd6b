// Package profile knows what a profile of an engine says, whatever profiler wrote it:
// which kernels ran and how long, in prefill and in decoding, and for how long the GPU
// waited. The formats are rooms below. It refuses to know engines, plans, rules and what
// follows from an analysis.
package profile

// Format is the version of an analysis as JSON.
const Format = "mxflow.profile/1"

// Phases of a part.
const (
	Prefill = "prefill"
	Decode  = "decode"
	// Whole is everything in a profile that does not say what its steps were.
	Whole = "whole"
)

// Analysis is what one profile, of one or more files, says of an engine. It is the same
// for all engines and profilers, so that two can be laid side by side.
type Analysis struct {
	Format string `json:"format"`
	Files  []File `json:"files"`
	Parts  []Part `json:"parts"`
}

// File is one that the analysis was made from.
type File struct {
	Name   string `json:"name"`
	Digest string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
	// Kind is the format: torch, nsys, nsys-csv, ncu-csv, kernel-summary.
	Kind string `json:"kind"`
	// Processes are those of which there are kernels, by their names where they have one.
	Processes []string `json:"processes,omitempty"`
	// Hidden is how many launches of CUDA graphs there are whose kernels the profile does
	// not name.
	Hidden int `json:"hidden_graphs,omitempty"`
}

// Part is one phase of an engine's work at one number of requests at once. Times are in
// µs, summed over all steps.
type Part struct {
	Phase string `json:"phase"`
	// Requests is how many were served at once, 0 where that is not known.
	Requests int `json:"requests,omitempty"`
	// Steps is how many times the model ran, and Tokens how many tokens it computed: of
	// prompts in prefill, of answers in decoding. 0 where that is not known.
	Steps  int `json:"steps,omitempty"`
	Tokens int `json:"tokens,omitempty"`
	// Wall is from the start of the first step to the end of the last; Busy the time in
	// which a GPU worked at anything, the union over streams, and GPU the sum over kernels
	// and copies, which is more where streams overlap.
	Wall float64 `json:"wall_us"`
	Busy float64 `json:"busy_us"`
	GPU  float64 `json:"gpu_us"`
	// Unprofiled is how long a step of decoding, or a prefill of one batch, took by the
	// client's clock without the profiler; 0 where that is not known.
	Unprofiled float64 `json:"unprofiled_step_us,omitempty"`
	// Categories add up to GPU, in the order of Categories.
	Categories []Category `json:"categories"`
	// Kernels are those that ran, the longest in all first.
	Kernels []Kernel `json:"kernels"`
	// Waits are why no GPU worked in the time between Busy and Wall, the longest first.
	Waits []Wait `json:"waits,omitempty"`
	// Threads are what the host's threads did, the busiest first.
	Threads []Thread `json:"threads,omitempty"`
}

// Category is one kind of work on a GPU.
type Category struct {
	Name  string  `json:"name"`
	Count int     `json:"count"`
	Total float64 `json:"us"`
}

// Kernel is one symbol: Name whole, Short as it is shown everywhere.
type Kernel struct {
	Name     string  `json:"name"`
	Short    string  `json:"short"`
	Category string  `json:"category"`
	Count    int     `json:"count"`
	Total    float64 `json:"us"`
}

// Wait is time in which no GPU worked, by what the host did then.
type Wait struct {
	Cause string  `json:"cause"`
	Count int     `json:"count"`
	Total float64 `json:"us"`
}

// Thread is one of the host, and how long it was at work.
type Thread struct {
	Name  string  `json:"name"`
	Total float64 `json:"us"`
}

// Per is a time of the part for one token of each request: µs a step in decoding, µs a
// token in prefill. Known is false where the profile does not say how many there were.
func (p *Part) Per(us float64) (per float64, known bool) {
	n := p.Steps
	if p.Phase == Prefill {
		n = p.Tokens
	}
	if n <= 0 {
		return 0, false
	}
	return us / float64(n), true
}
