// Package embedded is the built-in inference engine: a small decoder in pure
// Go, shaped like gpt-oss, served over an OpenAI-like HTTP API.
//
// It exists so that the whole tool can be used and tested on any laptop. It
// knows how to construct its weights from a seed, how to run them through
// kernels that environment switches select, and how to serve the result the
// way the real engines do, including the ways in which they fail.
//
// The architecture computes for real: RMSNorm, rotary positions, grouped-query
// attention with sinks and alternating sliding windows, and a mixture of
// experts in OCP MXFP4. The weights are constructed, not trained: construct.go
// says how the layers come to hold a small text by heart.
//
// It refuses to know plans, knobs, measurements or verdicts, and it is no
// inference product: nothing here is meant to be good at language.
package embedded

// Version is what /version answers and what stands for this engine in a
// measurement key. The key is this version and not the hash of the binary,
// because the engine ships inside mxflow itself: a change to the command line
// must not invalidate measurements, a change to a kernel must. Raise it with
// every change that can move a speed, a logit or a log line.
const Version = "0.2.0"
