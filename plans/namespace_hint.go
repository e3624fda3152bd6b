package plans

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
)

// usualNames are what metrics are called elsewhere.
var usualNames = map[string]string{
	"tps": "tg", "tok_s": "tg", "tokens_per_s": "tg", "tokens_per_second": "tg", "decode": "tg", "decode_speed": "tg", "throughput": "tg_total", "speed": "tg", "tgs": "tg",
	"prefill": "pp", "prefill_speed": "pp",
	"latency": "e2e", "e2el": "e2e", "e2e_latency": "e2e",
	"first_token": "ttft", "time_to_first_token": "ttft", "ttfb": "ttft",
	"inter_token_latency": "itl", "tbt": "itl", "time_per_output_token": "tpot",
}

// usualMetric is a sentence with the metric that a name of another tool stands
// for, and what that metric is.
func usualMetric(given string, names []string) string {
	name := usualNames[strings.ToLower(given)]
	if name == "" || !contains(names, name) {
		return ""
	}
	m, ok := metricOfWorkload(name)
	if !ok {
		return ""
	}
	return fmt.Sprintf(" Did you mean %q? It is in %s.", name, m.Unit)
}

// headHint is a sentence for an address that begins with no name that a rule has:
// with an arm, or with the metric.
func (ns *namespace) headHint(rest []string, f *Feature) string {
	head := rest[0]
	switch head {
	case "baseline", "base", "parent", "root":
		rel := "base"
		if head == "root" {
			rel = head
		}
		example := ns.firstWorkload(f) + ".tg." + rel
		for i, e := range rest {
			if _, ok := metricOfWorkload(e); ok && i > 1 {
				example = strings.Join(slices.Concat(rest[1:i+1], []string{rel}, rest[i+1:]), ".")
				break
			}
		}
		return fmt.Sprintf(" The base's number stands behind the metric: write %s.", example)
	case "candidate":
		if len(rest) > 1 {
			return fmt.Sprintf(" The candidate's number has no word in front: write %s.", strings.Join(rest[1:], "."))
		}
	}
	written := strings.Join(rest, ".")
	if _, ok := metricOfWorkload(head); ok {
		return fmt.Sprintf(" %s is a metric of a workload: write %s.%s.", head, ns.firstWorkload(f), written)
	}
	for _, of := range []struct {
		scope measure.Scope
		name  string
	}{{measure.PerLaunch, "engine"}, {measure.PerGPU, "gpu"}, {measure.PerHost, "host"}} {
		if _, ok := measure.LookupIn(head, of.scope); ok {
			return fmt.Sprintf(" %s is a metric of the %s: write %s.%s.", head, of.name, of.name, written)
		}
	}
	return ""
}

// firstWorkload is a workload that a feature's benchmark sends, for examples.
func (ns *namespace) firstWorkload(f *Feature) string {
	if sent := ns.measured[f.Protocol]; len(sent) > 0 {
		if cells := ns.cells[sent[0]]; len(cells) > 0 {
			return cells[0].Address
		}
	}
	return "workload"
}
