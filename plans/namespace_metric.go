package plans

import (
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
)

// workload resolves <workload>[.<cell>…].<metric>….
func (ns *namespace) workload(in *Input, rest []string, f *Feature) (*Input, *ruleError) {
	name := rest[0]
	if sent := ns.measured[f.Protocol]; !contains(sent, name) {
		return nil, wrong("Workload is not measured", "Protocol %q of feature %q sends %s in its benchmark; add workload.%s to the workloads of level \"benchmark\".", f.Protocol, f.Name, orNothing(sent), name)
	}
	cells := ns.cells[name]
	cell, rest := longestCell(cells, rest)
	if cell == nil {
		cell, rest = fieldName(cells, rest)
	}
	if cell == nil && len(cells) == 1 {
		cell, rest = &cells[0], rest[1:]
	}
	if cell == nil {
		var list []string
		for _, c := range cells {
			list = append(list, c.Address)
		}
		return nil, wrong("Which cell?", "Workload %q has several cells; write one of %s in front of the metric.", name, strings.Join(list, ", "))
	}
	if len(rest) == 0 {
		return nil, wrong("Incomplete address", "Name a metric: %s.tg, %s.ttft, ….", in.Path, in.Path)
	}
	m, ok := measure.Lookup(rest[0])
	if !ok || m.Scope != measure.PerRequest {
		var names []string
		for _, m := range measure.Catalogue() {
			if m.Scope == measure.PerRequest {
				names = append(names, m.Name)
			}
		}
		return nil, wrong("Unknown metric", "%q is not a metric of a workload; there are %s.%s", rest[0], strings.Join(names, ", "), didYouMean(rest[0], names))
	}
	return ns.metric(in, cell.Address, m, rest[1:])
}

func orNothing(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}

// longestCell finds the cell whose address is a prefix of rest and returns what
// follows it. A workload without list-valued dimensions has one cell, named as
// the workload itself.
func longestCell(cells []Cell, rest []string) (*Cell, []string) {
	var best *Cell
	n := 0
	for i := range cells {
		a := strings.Split(cells[i].Address, ".")
		if len(a) > n && len(a) <= len(rest) && strings.Join(rest[:len(a)], ".") == cells[i].Address {
			best, n = &cells[i], len(a)
		}
	}
	if best == nil {
		return nil, rest
	}
	return best, rest[n:]
}

// fieldName accepts the field's names: chat.tg32 is tg of the cell with 32
// output tokens, chat.pp2048 is pp of the cell with 2048 prompt tokens.
func fieldName(cells []Cell, rest []string) (*Cell, []string) {
	if len(rest) < 2 {
		return nil, rest
	}
	var found *Cell
	for i := range cells {
		if metricOf(cells[i], rest[1]) != "" {
			if found != nil {
				return nil, rest // ambiguous
			}
			found = &cells[i]
		}
	}
	if found == nil {
		return nil, rest
	}
	out := append([]string{metricOf(*found, rest[1])}, rest[2:]...)
	return found, out
}

func metricOf(c Cell, word string) string {
	switch word {
	case fmt.Sprintf("tg%d", c.Output):
		return "tg"
	case fmt.Sprintf("pp%d", c.Prompt):
		return "pp"
	}
	return ""
}

// metric resolves what follows a metric's name: a statistic, a relation, or
// nothing, which is the median.
func (ns *namespace) metric(in *Input, cell string, m measure.Metric, rest []string) (*Input, *ruleError) {
	in.Kind, in.Cell, in.Metric, in.Unit, in.Better = InputMetric, cell, m.Name, m.Unit, string(m.Better)
	in.Stat = "median"
	if len(rest) > 0 && rest[0] == "root" {
		in.Root = true
		if rest = rest[1:]; len(rest) == 0 {
			return nil, wrong("Incomplete address", "Write %s.gain, .change, .delta or a statistic: root alone is the baseline, not a number.", in.Path)
		}
	}
	if len(rest) > 0 && rest[0] == "base" {
		in.Relation = Base
		rest = rest[1:]
	} else if in.Root {
		in.Relation = Base // .root.median is the baseline's own value
	}
	if len(rest) == 0 {
		return in, nil
	}
	if len(rest) > 1 {
		return nil, wrong("Unknown address", "Nothing stands below %q; %q is too much.", rest[0], strings.Join(rest[1:], "."))
	}
	switch word := rest[0]; {
	case word == "gain" || word == "change" || word == "delta":
		if in.Relation == Base && !in.Root {
			return nil, wrong("Unknown address", "base has statistics only; write .%s without base.", word)
		}
		if word == "gain" && m.Better == measure.Neither {
			return nil, wrong("No better direction", "%s has no better direction, so there is no gain; use .change or .delta.", m.Name)
		}
		in.Relation = Relation(word)
		if in.Ratio() {
			in.Unit = ""
		}
	case measure.IsStat(word):
		in.Stat = word
		switch word {
		case "cv":
			in.Unit = ""
		case "n":
			in.Unit = "launches"
		case "n_requests":
			in.Unit = "requests"
		}
	default:
		names := append(measure.Stats(), "gain", "change", "delta", "base", "root")
		return nil, wrong("Unknown statistic", "%q is neither a statistic nor a comparison; there are %s.%s", word, strings.Join(names, ", "), didYouMean(word, names))
	}
	return in, nil
}
