package plans

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// Target is a number to beat, measured elsewhere.
type Target struct {
	Name    string
	Tool    string
	Summary string
	// Metrics maps workload to metric to value.
	Metrics map[string]map[string]float64
	Range   Range `json:"-"`
}

var targetDoc = &BlockDoc{
	Type: "target", Times: AnyTimes, Repeats: true,
	Labels: []Label{{Name: "name", Doc: "What rules call it: `target.<name>.<workload>.<metric>`."}},
	Doc:    "Numbers to beat, measured elsewhere.",
	Attrs: []Attr{
		{Name: "tool", Type: String, Doc: "What measured them, with its version."},
		{Name: "summary", Type: String, Doc: "Where and how, in one sentence."},
		{Name: "metrics", Type: Beaten, Required: true, Doc: "The numbers, by workload and metric, each in the metric's unit. Those of an engine of kind `command` stand under `command`."},
	},
	Example: `target "llamacpp" {
  tool = "llama-bench f5acfb2ff"
  metrics = {
    chat = { pp = 2449.83, tg = 57.85 }
  }
}`,
}

var targetSchema = targetDoc.schema()

func (l *loader) decodeTarget(b *hcl.Block) {
	f := l.fields(b, targetSchema, fmt.Sprintf("target %q", b.Labels[0]))
	t := &Target{
		Name: b.Labels[0], Tool: f.text("tool", ""), Summary: f.text("summary", ""),
		Metrics: map[string]map[string]float64{}, Range: rangeOf(b.DefRange),
	}
	f.required("metrics", "the numbers to beat by workload, such as { chat = { tg = 57.85 } }.")
	for _, p := range f.pairs("metrics") {
		if p.key != commandKind && !l.symbols.has("workload", p.key) {
			l.fail(p.keyAt, "Unknown workload", "The plan declares no workload %q.%s", p.key, l.didYouMean(p.key, l.symbols.of("workload").order))
		}
		t.Metrics[p.key] = l.targetMetrics(p, f.attrs["metrics"].Expr)
	}
	if l.first(b) {
		l.plan.Targets = append(l.plan.Targets, t)
	}
}

func (l *loader) targetMetrics(workload pair, metrics hcl.Expression) map[string]float64 {
	expr := hcl.StaticExpr(workload.v, workload.at)
	// The inner map has places of its own where it is written out.
	if kvs, diags := hcl.ExprMap(metrics); !diags.HasErrors() {
		for _, kv := range kvs {
			if kv.Value.Range() == workload.at {
				expr = kv.Value
			}
		}
	}
	pairs, ok := l.pairs(expr, workload.v)
	if !ok {
		l.fail(workload.at, "Wrong type for metrics", "Each workload has a map of metrics, such as { tg = 57.85 }; this is %s.", describe(workload.v))
		return nil
	}
	values := map[string]float64{}
	for _, p := range pairs {
		if workload.key == commandKind {
			l.checks.targets = append(l.checks.targets, targetNote{p.key, p.keyAt})
		} else if _, known := metricOfWorkload(p.key); !known {
			l.fail(p.keyAt, "Unknown metric", "There is no metric %q of a workload.%s", p.key, l.didYouMean(p.key, workloadMetrics()))
			continue
		}
		if p.v.IsNull() || p.v.Type() != cty.Number {
			l.fail(p.at, "Wrong type for "+p.key, "%s takes a number; this is %s.", p.key, describe(p.v))
			continue
		}
		values[p.key], _ = p.v.AsBigFloat().Float64()
	}
	return values
}
