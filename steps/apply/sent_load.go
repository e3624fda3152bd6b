package apply

import (
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
)

// SentLoad is what each launch of a benchmark sends.
type SentLoad struct {
	Cells    int `json:"cells"`
	Requests int `json:"requests"`
	// Seconds is how long that takes by rates and durations alone, however fast the
	// engine is; 0 if requests are sent as fast as they are answered.
	Seconds float64 `json:"seconds_by_pace,omitempty"`
}

// SentLoadOf is what the benchmark of a node's feature sends; empty for other nodes and for a
// command, which brings its own work.
func SentLoadOf(p *plans.Plan, n *runtime.Node) (s SentLoad) {
	if n.Kind != runtime.KindBenchmark {
		return s
	}
	feature := p.Feature(n.Feature)
	if feature == nil {
		return s
	}
	protocol := p.Protocol(feature.Protocol)
	if protocol == nil || protocol.Level(plans.BenchmarkLevel) == nil {
		return s
	}
	for _, name := range p.SentWorkloads(protocol.Level(plans.BenchmarkLevel)) {
		w := p.Workload(name)
		if w == nil {
			continue
		}
		for _, c := range w.Cells() {
			s.Cells++
			if w.Capacity != nil { // as many requests as the engine can serve
				s.Seconds += w.Capacity.Usual().Seconds()
				continue
			}
			s.Requests += c.Warmup + c.Requests
			s.Seconds += pace(w, c)
		}
	}
	return s
}

// pace is how long sending a cell takes by its rate or duration.
func pace(w *plans.Workload, c plans.Cell) float64 {
	if w.Trace != nil && w.Trace.Sent != nil {
		return w.Trace.Sent.Length.Seconds()
	}
	seconds := w.Duration.Seconds()
	if c.Rate <= 0 {
		return seconds
	}
	if by := float64(c.Requests) / c.Rate; seconds == 0 || by < seconds {
		return by
	}
	return seconds
}
