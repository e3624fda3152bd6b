package plans

import (
	"fmt"

	"github.com/mxflow/mxflow/engine/measure"
)

// CommandMetric is a metric that an engine of kind command prints.
type CommandMetric struct {
	measure.Metric
	// As is the workload metric that it stands for; empty if the plan declares its own.
	As string
}

// Address is its address among the metrics of a launch.
func (p CommandMetric) Address() string { return CommandKind + "." + p.Name }

// CommandMetricOf is the metric of a block. The error names the wrong attribute.
func CommandMetricOf(b *Block) (CommandMetric, *AttrError) {
	text := func(name string) string { s, _ := b.Attrs[name].(string); return s }
	return NewCommandMetric(b.Name, text("as"), text("unit"), text("better"))
}

// NewCommandMetric is CommandMetricOf, given the content of the block.
func NewCommandMetric(name, as, unit, better string) (CommandMetric, *AttrError) {
	p := CommandMetric{As: as, Metric: measure.Metric{
		Name: name, Unit: unit, Scope: measure.PerRequest, Evidence: "output of the command",
		Definition: "extracted by the plan's jq expression",
	}}
	if b := measure.Better(better); b == measure.Higher || b == measure.Lower {
		p.Better = b
	}
	return p, p.fromCatalogue(unit, better)
}

// fromCatalogue takes unit and direction from the catalogue if the block names a metric of it.
func (p *CommandMetric) fromCatalogue(unit, better string) *AttrError {
	if p.As == "" {
		return nil
	}
	m, ok := measure.LookupIn(p.As, measure.PerRequest, measure.PerCell)
	if !ok {
		return &AttrError{
			Attr: "as", Code: "unknown-metric", Summary: "Unknown metric",
			Detail: fmt.Sprintf("A workload has no metric %q. Name one that docs/measuring.md lists, such as tg, pp "+
				"or ttft, or remove as and write unit and better.", p.As),
		}
	}
	if unit != "" && unit != m.Unit || better != "" && measure.Better(better) != m.Better &&
		(better != "neither" || m.Better != measure.Neither) {
		return &AttrError{
			Attr: "as", Code: "invalid-value", Summary: "Another metric",
			Detail: fmt.Sprintf("%s is in %s, but this is declared in %s, better: %s. Remove unit and better; if the "+
				"script prints another unit, convert it in jq, as in .seconds * 1000.", p.As, m.Unit, unit, better),
		}
	}
	p.Unit, p.Better = m.Unit, m.Better
	return nil
}

// CommandMetrics are the metrics that an engine of kind command declares, in the order of the
// plan; a mistaken block has none.
func (e *Engine) CommandMetrics() (list []CommandMetric) {
	if !e.IsCommand() {
		return nil
	}
	for _, b := range e.Parts["metric"] {
		if m, wrong := CommandMetricOf(b); wrong == nil {
			list = append(list, m)
		}
	}
	return list
}

// FindCommandMetric finds a metric by its name. If there is none, names lists the existing ones.
func FindCommandMetric(list []CommandMetric, name string) (m CommandMetric, names []string, ok bool) {
	for _, m := range list {
		if m.Name == name {
			return m, nil, true
		}
		names = append(names, m.Name)
	}
	return CommandMetric{}, names, false
}
