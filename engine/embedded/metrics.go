package embedded

import (
	"fmt"
	"io"
	"sync/atomic"
)

// metrics counts what /metrics shows. Names follow vLLM's, with this engine's
// prefix.
type metrics struct {
	promptTokens, generationTokens atomic.Int64
	succeeded, failed, corrupted   atomic.Int64 // requests
	running, waiting               atomic.Int64 // requests
}

// write prints the Prometheus text format, version 0.0.4.
func (m *metrics) write(w io.Writer) {
	for _, v := range []struct {
		name, kind, help string
		value            *atomic.Int64
	}{
		{"prompt_tokens_total", "counter", "Prompt tokens of started requests.", &m.promptTokens},
		{"generation_tokens_total", "counter", "Generated tokens.", &m.generationTokens},
		{"request_success_total", "counter", "Requests answered in full.", &m.succeeded},
		{"request_failure_total", "counter", "Requests refused, aborted or failed.", &m.failed},
		{"corrupted_requests_total", "counter", "Requests with NaN in their logits.", &m.corrupted},
		{"num_requests_running", "gauge", "Requests taking turns at the model.", &m.running},
		{"num_requests_waiting", "gauge", "Requests waiting for a place.", &m.waiting},
	} {
		name := "mxflow_embedded:" + v.name
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n%s %d\n", name, v.help, name, v.kind, name, v.value.Load())
	}
}
