package load

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/lang"
)

var targetDoc = &lang.BlockDoc{
	Type: "target", Times: plans.AnyTimes, Repeats: true,
	Labels: []lang.Label{{Name: "name", Doc: "Its name in rules: `target.<name>.<workload>[.<cell>].<metric>`."}},
	Doc:    "Numbers to beat, measured elsewhere.",
	Attrs: []plans.Attr{
		{Name: "tool", Type: plans.String, Doc: "What measured them, with its version."},
		{Name: "summary", Type: plans.String, Doc: "Where and how, in one sentence."},
		{Name: "metrics", Type: plans.Beaten, Required: true, Doc: "The numbers, by workload and metric, each in the metric's unit: `chat = { tg = 57.85 }`. Where the workload has several cells, by cell, `\"chat.o24\" = { tg = 57.85 }`, or by the field's name, `chat = { tg24 = 57.85 }`. Those of an engine of kind `command` go under `command`, with labels under the cell, `\"command.tp7\" = { tg = 57.85 }`."},
	},
	Example: `target "llamacpp" {
  tool = "llama-bench f5acfb2ff"
  metrics = {
    chat = { pp = 2449.83, tg = 57.85 }
  }
}`,
}

func (l *loader) decodeTarget(b *hcl.Block) {
	f := l.Fields(b, targetDoc)
	t := &plans.Target{
		Name: b.Labels[0], Tool: f.Text("tool"), Summary: f.Text("summary"),
		Metrics: map[string]map[string]float64{}, Measured: map[string][]string{}, Range: lang.RangeOf(b.DefRange),
	}
	f.Required("metrics", "the numbers to beat by workload, such as { chat = { tg = 57.85 } }.")
	for _, p := range f.Pairs("metrics") {
		if name, _, _ := strings.Cut(p.Key, "."); !measure.OfCommand(p.Key) && !l.Symbols.Has("workload", name) {
			l.Fail(p.KeyAt, "unknown-reference", "Unknown workload", "The plan declares no workload %q.%s", name, l.DidYouMean(name, l.Symbols.Of("workload").Order))
		}
		t.Metrics[p.Key] = l.targetMetrics(t, p)
	}
	if l.First(b) {
		l.plan.Targets = append(l.plan.Targets, t)
	}
}

func (l *loader) targetMetrics(t *plans.Target, workload eval.Pair) map[string]float64 {
	pairs, ok := l.Pairs(l.ValueAt(workload), workload.V)
	if !ok {
		l.Fail(workload.At, "wrong-type", "Wrong type for metrics", "Each workload takes a map of metrics, such as { tg = 57.85 }, not %s.", lang.Describe(workload.V))
		return nil
	}
	values := map[string]float64{}
	for _, p := range pairs {
		l.targets = append(l.targets, targetNote{t, workload.Key, p.Key, p.KeyAt})
		if p.V.IsNull() || p.V.Type() != cty.Number {
			l.Fail(p.At, "wrong-type", "Wrong type for "+p.Key, "%s must be a number, not %s.", p.Key, lang.Describe(p.V))
			continue
		}
		values[p.Key], _ = p.V.AsBigFloat().Float64()
	}
	return values
}
