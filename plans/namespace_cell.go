package plans

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
)

// workload resolves <workload>[.<cell>…].<metric>….
func (ns *namespace) workload(in *Input, rest []string, f *Feature) (*Input, *ruleError) {
	name := rest[0]
	if e := ns.plan.commandEngine(); e != nil {
		return nil, wrong("Workload is not measured", "engine.%s.%s is a command, which is sent no workload. Read one of its metrics, as in command.<metric>.gain.", e.Kind, e.Name)
	}
	if sent := ns.measured[f.Protocol]; !slices.Contains(sent, name) {
		return nil, wrong("Workload is not measured", "Protocol %q of feature %q sends %s in its benchmark; add workload.%s to the workloads of level \"benchmark\".", f.Protocol, f.Name, orNothing(sent), name)
	}
	in.Unsent = ns.unsent(f.Protocol, name)
	cells, rest := narrow(ns.cells[name], rest[1:])
	if len(rest) == 0 {
		return nil, wrong("Incomplete address", "Name a metric: %s.tg, %s.ttft, ….", in.Path, in.Path)
	}
	word := rest[0]
	if named := byFieldName(cells, word); len(named) > 0 {
		cells, word = named, word[:2]
	}
	m, ok := metricOfWorkload(word)
	if !ok {
		return nil, ns.notAMetric(name, word, cells)
	}
	if len(cells) != 1 {
		return nil, wrong("Which cell?", "Workload %q has several cells; write one of %s in front of the metric.", name, addresses(cells))
	}
	if err := ns.workloads[name].lacks(m); err != nil {
		return nil, err
	}
	return ns.metric(in, cells[0].Address, m, rest[1:])
}

// lacks refuses a metric for which a workload would have to say something more.
func (w *Workload) lacks(m measure.Metric) *ruleError {
	switch m.Name {
	case "goodput", "slo_attainment":
		if len(w.SLO) == 0 {
			return wrong("Nothing to be good by", "%s counts requests that keep limits, and workload %q has none. Add to it: slo { ttft = \"300ms\" }, on lines of its own.", m.Name, w.Name)
		}
	case "ttft_corrected", "pp_corrected":
		if w.LatencyCorrection == "none" {
			return wrong("Nothing is corrected", "Workload %q has no latency correction, so there is no %s of it. Read %s, or set latency_correction.", w.Name, m.Name, strings.TrimSuffix(m.Name, "_corrected"))
		}
	}
	return nil
}

func orNothing(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}

// narrow follows the elements of a cell's address ("p512", "o32") and returns
// the cells that are left and what follows. A workload without list-valued
// dimensions has one cell, and nothing to follow.
func narrow(cells []Cell, rest []string) ([]Cell, []string) {
	for depth := 0; len(rest) > 0; depth++ {
		var left []Cell
		for _, c := range cells {
			if dims := strings.Split(c.Address, ".")[1:]; depth < len(dims) && dims[depth] == rest[0] {
				left = append(left, c)
			}
		}
		if len(left) == 0 {
			break
		}
		cells, rest = left, rest[1:]
	}
	return cells, rest
}

// byFieldName are the cells that the field's name for a metric leads to: tg32 is
// tg of the cell with 32 output tokens, pp2048 pp of that with 2048 prompt
// tokens.
func byFieldName(cells []Cell, word string) (named []Cell) {
	for _, c := range cells {
		if c.Output > 0 && word == fmt.Sprintf("tg%d", c.Output) || c.Prompt > 0 && word == fmt.Sprintf("pp%d", c.Prompt) {
			named = append(named, c)
		}
	}
	return named
}

// notAMetric words the refusal of an element that is neither cell nor metric.
func (ns *namespace) notAMetric(workload, word string, cells []Cell) *ruleError {
	if len(cells) > 1 && word != "" && strings.ContainsAny(word[:1], "podcr") && strings.Trim(word[1:], "0123456789_") == "" {
		hint := ""
		if elementOf(cells, word) {
			hint = " Elements stand in the order prompt, output, depth, concurrency, rate, and none is left out."
		}
		return wrong("Unknown cell", "Workload %q has no cell %s here; there are %s.%s", workload, word, addresses(cells), hint)
	}
	return wrong("Unknown metric", "%q is not a metric of a workload.%s", word, suggestMetric(word, workloadMetrics()))
}

// elementOf reports whether one of the cells has an element in its address.
func elementOf(cells []Cell, word string) bool {
	for _, c := range cells {
		if slices.Contains(strings.Split(c.Address, ".")[1:], word) {
			return true
		}
	}
	return false
}

func addresses(cells []Cell) string {
	const most = 12
	var list []string
	for i, c := range cells {
		if i == most {
			list = append(list, "…")
			break
		}
		list = append(list, c.Address)
	}
	return strings.Join(list, ", ")
}
