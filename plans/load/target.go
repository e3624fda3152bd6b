package load

import (
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

var targetDoc = block(plans.Target{}, lang.BlockDoc{
	Type: "target", Times: plans.AnyTimes, Repeats: true,
	Doc: "Numbers to beat, measured elsewhere.",
})

func (l *loader) decodeTarget(b *hcl.Block) {
	t := &plans.Target{Metrics: map[string]map[string]float64{}, Measured: map[string][]string{}}
	f := l.Read(b, targetDoc, t)
	for _, p := range f.Pairs("metrics") {
		if name, _, _ := strings.Cut(p.Key, "."); !measure.OfCommand(p.Key) && !l.Symbols.Has("workload", name) {
			l.Fail(p.KeyAt, "unknown-reference", "Unknown workload", "The plan declares no workload %q.%s", name,
				l.DidYouMean(name, l.Symbols.Of("workload").Order))
		}
		pairs, ok := l.Pairs(l.ValueAt(p), p.V)
		if !ok {
			l.Fail(p.At, "wrong-type", "Wrong type for metrics",
				"Each workload takes a map of metrics, such as ‹{ tg = 57.85 }›, not %s.", lang.Describe(p.V))
		}
		t.Metrics[p.Key] = map[string]float64{}
		for _, m := range pairs {
			l.targets = append(l.targets, targetNote{t, p.Key, m.Key, m.KeyAt})
			if n, ok := l.Scalar(plans.Attr{Name: m.Key, Type: plans.Number}, m.V, m.At); ok {
				t.Metrics[p.Key][m.Key] = n.(float64)
			}
		}
	}
	add(l, b, &l.plan.Targets, t)
}
