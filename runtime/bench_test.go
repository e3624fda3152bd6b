package runtime

import (
	goruntime "runtime"
	"testing"

	"github.com/mxflow/mxflow/runtime/store"
)

// BenchmarkSchedule runs 10,000 steps that do nothing, with every outcome
// durable on disk before anything that depends on it starts.
func BenchmarkSchedule(b *testing.B) {
	const n = 10000
	wide := chainOf(n, KindStep)
	for _, x := range wide {
		x.Needs = nil
	}
	layers := chainOf(n, KindStep)
	for i, x := range layers {
		x.Needs = nil
		if i >= 100 {
			x.Needs = []Need{{layers[i-100].ID, Passed}, {layers[i-100+(i+1)%100-i%100].ID, Settled}}
		}
	}
	for _, shape := range []struct {
		name  string
		nodes []*Node
	}{{"independent", wide}, {"layers-of-100", layers}, {"chain", chainOf(n, KindStep)}} {
		b.Run(shape.name, func(b *testing.B) {
			for b.Loop() {
				st, err := store.Open(b.TempDir())
				if err != nil {
					b.Fatal(err)
				}
				v := &verdicts{}
				r := runnerOf(graphOf(b, shape.nodes...), st.Journal(), v.step)
				res, err := r.Execute(b.Context())
				if err != nil || len(res.Outcomes) != n {
					b.Fatal(err, len(res.Outcomes))
				}
				var m goruntime.MemStats
				goruntime.ReadMemStats(&m)
				b.ReportMetric(float64(m.Sys)/1e6, "MB-from-OS")
				if err := st.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/n, "µs/step")
		})
	}
}
