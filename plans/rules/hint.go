package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

// usualNames are what metrics are called elsewhere.
var usualNames = map[string]string{
	"tps": "tg", "tok_s": "tg", "tokens_per_s": "tg", "tokens_per_second": "tg", "decode": "tg", "decode_speed": "tg", "throughput": "tg_total", "speed": "tg", "tgs": "tg",
	"prefill": "pp", "prefill_speed": "pp",
	"latency": "e2e", "e2el": "e2e", "e2e_latency": "e2e",
	"first_token": "ttft", "time_to_first_token": "ttft", "ttfb": "ttft",
	"inter_token_latency": "itl", "tbt": "itl", "time_per_output_token": "tpot",
}

// usualMetric is a sentence with the metric that another tool's name stands for, and its
// unit; empty if there is none.
func usualMetric(given string, names []string) string {
	name := usualNames[strings.ToLower(given)]
	if name == "" || !slices.Contains(names, name) {
		return ""
	}
	m, ok := metricOfWorkload(name)
	if !ok {
		return ""
	}
	return fmt.Sprintf(" Did you mean %q? It is in %s.", name, m.Unit)
}

// headHint is a sentence for an address that starts with an arm or a metric instead of a
// name that rules have; empty for any other.
func (ns *Namespace) headHint(rest []string, f *plans.Feature) string {
	head := rest[0]
	switch {
	case slices.Contains([]string{string(plans.Root), "baseline", "base", "parent"}, head):
		rel := string(plans.Base)
		if head == string(plans.Root) {
			rel = head
		}
		example := ns.behindMetric(rest[1:], rel, f)
		if example == "" {
			return fmt.Sprintf(" The base's value follows the metric: append .%s to it.", rel)
		}
		return fmt.Sprintf(" The base's value follows the metric: write %s.", example)
	case head == "candidate":
		if len(rest) > 1 {
			return fmt.Sprintf(" The candidate's value has no prefix: write %s.", strings.Join(rest[1:], "."))
		}
	}
	written := strings.Join(rest, ".")
	if _, ok := metricOfWorkload(head); ok {
		return fmt.Sprintf(" %s is a metric of a workload: write %s.%s.", head, ns.firstWorkload(f), written)
	}
	for _, of := range scopeNames {
		if _, ok := measure.LookupIn(head, of.scope); ok {
			return fmt.Sprintf(" %s is a metric of the %s: write %s.%s.", head, of.name, of.name, written)
		}
	}
	return ""
}

// scopeNames begin the addresses of metrics that no workload has.
var scopeNames = []struct {
	scope measure.Scope
	name  string
}{{measure.PerLaunch, "engine"}, {measure.PerGPU, "gpu"}, {measure.PerHost, "host"}}

// behindMetric is an address with the word for a base where it belongs, after the metric
// that was written; empty if there is none.
func (ns *Namespace) behindMetric(written []string, rel string, f *plans.Feature) string {
	with := func(front string, metric int) string {
		all := slices.Concat(written[:metric+1], []string{rel}, written[metric+1:])
		if front != "" {
			all = slices.Insert(all, 0, front)
		}
		return strings.Join(all, ".")
	}
	for i, e := range written[:min(2, len(written))] {
		for _, of := range scopeNames {
			if _, ok := measure.LookupIn(e, of.scope); ok && i == 0 {
				return with(of.name, i)
			} else if ok && written[0] == of.name {
				return with("", i)
			}
		}
	}
	for i, e := range written {
		if _, ok := metricOfWorkload(e); ok && i == 0 {
			return with(ns.firstWorkload(f), i)
		} else if ok {
			return with("", i)
		}
	}
	return ""
}

// firstWorkload is a workload that a feature's benchmark sends, for examples.
func (ns *Namespace) firstWorkload(f *plans.Feature) string {
	if sent := ns.measured[f.Protocol]; len(sent) > 0 {
		if cells := ns.Cells[sent[0]]; len(cells) > 0 {
			return cells[0].Address
		}
	}
	return "workload"
}

// metricOfWorkload is a metric in addresses below a workload: power_w is one metric
// there, and another below gpu.
func metricOfWorkload(name string) (measure.Metric, bool) {
	return measure.LookupIn(name, measure.PerRequest, measure.PerCell)
}

// workloadMetrics are the names of these metrics, in the order of the catalogue.
func workloadMetrics() []string {
	return append(metricNames(measure.PerRequest), metricNames(measure.PerCell)...)
}

func metricNames(scope measure.Scope) (names []string) {
	for _, m := range measure.Catalogue() {
		if m.Scope == scope {
			names = append(names, m.Name)
		}
	}
	return names
}

// suggestMetric is a sentence with the metric closest to the given name, or with the
// first ones of the catalogue.
func suggestMetric(given string, names []string) string {
	const most = 12
	if hint := usualMetric(given, names); hint != "" {
		return hint
	}
	if hint := lang.DidYouMean(given, names); hint != "" {
		return hint
	}
	if len(names) <= most {
		return " Use " + plans.OrList(names) + "."
	}
	return " Use " + strings.Join(names[:most], ", ") + ", …: docs/measuring.md lists them all."
}
