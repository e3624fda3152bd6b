package plans

import (
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
)

// metric resolves what follows a metric's name: a statistic, a relation, or
// nothing, which is the median.
func (ns *namespace) metric(in *Input, cell string, m measure.Metric, rest []string) (*Input, *ruleError) {
	in.Kind, in.Cell, in.Metric, in.Unit, in.Better = InputMetric, cell, m.Name, m.Unit, string(m.Better)
	in.Stat, in.Of = "median", m.Unit
	if len(rest) > 0 && (rest[0] == "base" || rest[0] == "root") {
		in.Root = rest[0] == "root"
		in.Relation = Base // until a comparison says otherwise
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return in, nil
	}
	if len(rest) > 1 {
		if rest[0] != "median" && measure.IsStat(rest[0]) && in.Relation != Base && slices.Contains([]string{"gain", "change", "delta"}, rest[1]) {
			return nil, statisticOfBoth(in.Path, m, rest[0], rest[1])
		}
		return nil, wrong("Unknown address", "Nothing stands below %q; %q is too much.", rest[0], strings.Join(rest[1:], "."))
	}
	switch word := rest[0]; {
	case word == "gain" || word == "change" || word == "delta":
		return ns.relation(in, m, Relation(word))
	case measure.IsStat(word):
		return ns.statistic(in, m, word)
	default:
		names := append(measure.Stats(), "gain", "change", "delta", "base", "root")
		return nil, wrong("Unknown statistic", "%q is neither a statistic nor a comparison; there are %s.%s", word, strings.Join(names, ", "), didYouMean(word, names))
	}
}

// statisticOfBoth refuses chat.ttft.p95.gain, and writes what says it.
func statisticOfBoth(path string, m measure.Metric, stat, relation string) *ruleError {
	stem := strings.TrimSuffix(path, "."+stat+"."+relation)
	op := ">="
	if m.Better == measure.Lower {
		op = "<="
	}
	return wrong("Unknown address", "Nothing stands below %q. Compare it with that of the base: %s.%s %s 1.05 * %s.base.%s.", stat, stem, stat, op, stem, stat)
}

func (ns *namespace) relation(in *Input, m measure.Metric, rel Relation) (*Input, *ruleError) {
	if in.Relation == Base && !in.Root {
		return nil, wrong("Unknown address", "base has statistics only; write .%s without base.", rel)
	}
	if rel == Gain && m.Better == measure.Neither {
		return nil, wrong("No better direction", "%s has no better direction, so there is no gain; use .change or .delta.", m.Name)
	}
	in.Relation = rel
	if in.Ratio() {
		in.Unit = ""
	}
	return in, nil
}

func (ns *namespace) statistic(in *Input, m measure.Metric, stat string) (*Input, *ruleError) {
	// One value a launch has neither percentiles nor a spread nor requests: such
	// a rule could never be decided.
	if m.Scope != measure.PerRequest && stat != "n" && (stat == "n_requests" || measure.LeastValues(stat) > 1) {
		cell := in.Cell
		if cell == "" {
			cell = "engine"
		}
		return nil, wrong("One value a launch", "A launch has one %s, so there is no %s of it. Write %s.%s.", m.Name, stat, cell, m.Name)
	}
	in.Stat = stat
	switch stat {
	case "cv":
		in.Unit = ""
	case "n":
		in.Unit = "launches"
	case "n_requests":
		in.Unit = "requests"
	}
	return in, nil
}
