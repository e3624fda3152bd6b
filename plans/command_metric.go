package plans

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
)

// CommandMetric is a metric that an engine of kind command prints, in one cell.
type CommandMetric struct {
	measure.Metric
	// Cell is "command", or with labels "command.batch2.tp7".
	Cell string
	// Labels are the cell's values, numbers or texts.
	Labels map[string]any
	// As is the workload metric that it stands for; empty if the plan declares its own.
	As string
}

// Address is its address among the metrics of a launch.
func (p CommandMetric) Address() string { return p.Cell + "." + p.Name }

// CommandMetricsOf are the cells of a metric block. The error names the wrong attribute.
func CommandMetricsOf(b *Block) ([]CommandMetric, *AttrError) {
	text := func(name string) string { s, _ := b.Attrs[name].(string); return s }
	labels, isMap := b.Attrs["labels"].(map[string]any)
	if b.Attrs["labels"] != nil && !isMap {
		return nil, &AttrError{Attr: "labels", Code: "wrong-type", Summary: "Wrong type for labels", Detail: "labels takes a map of names to a value or a list of values, such as { tp = [1, 2] }."}
	}
	return NewCommandMetrics(b.Name, text("as"), text("unit"), text("better"), labels)
}

// NewCommandMetrics is PrintedBy, given the content of the block.
func NewCommandMetrics(name, as, unit, better string, labels map[string]any) ([]CommandMetric, *AttrError) {
	p := CommandMetric{As: as, Cell: CommandKind, Metric: measure.Metric{Name: name, Unit: unit, Scope: measure.PerRequest, Evidence: "output of the command", Definition: "extracted by the plan's jq expression"}}
	if b := measure.Better(better); b == measure.Higher || b == measure.Lower {
		p.Better = b
	}
	if wrong := p.fromCatalogue(unit, better); wrong != nil {
		return nil, wrong
	}
	all := []CommandMetric{p}
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		values, isList := labels[name].([]any)
		if !isList {
			values = []any{labels[name]}
		}
		if !labelWord.MatchString(name) || len(values) == 0 {
			return nil, &AttrError{Attr: "labels", Code: "invalid-value", Summary: "Invalid label", Detail: fmt.Sprintf("%q has %d values. A label is a name of lower-case letters, digits and _ with at least one value, as in { tp = [1, 2] }.", name, len(values))}
		}
		var more []CommandMetric
		for _, of := range all {
			for _, v := range values {
				element, ok := labelElement(name, v)
				if !ok {
					return nil, &AttrError{Attr: "labels", Code: "invalid-value", Summary: "Invalid label", Detail: fmt.Sprintf("%s = %s cannot be part of an address. Use numbers of at least 0, or words of lower-case letters, digits and _.", name, Written(v))}
				}
				next := of
				next.Cell += "." + element
				next.Labels = maps.Clone(of.Labels)
				if next.Labels == nil {
					next.Labels = map[string]any{}
				}
				next.Labels[name] = v
				more = append(more, next)
			}
		}
		if all = more; len(all) > mostPrinted {
			return nil, &AttrError{Attr: "labels", Code: "too-many-cells", Summary: "Too many cells", Detail: fmt.Sprintf("The labels make more than %d cells. Give fewer values, or split the metric.", mostPrinted)}
		}
	}
	seen := map[string]bool{}
	for _, p := range all {
		if seen[p.Cell] {
			return nil, &AttrError{Attr: "labels", Code: "duplicate-entry", Summary: "Duplicate cell", Detail: fmt.Sprintf("Two combinations of values make %s. List each value once.", p.Cell)}
		}
		seen[p.Cell] = true
	}
	return all, nil
}

// mostPrinted is how many cells one metric block may have.
const mostPrinted = 1000

// labelWord matches the name of a label, and a value that is not a number.
var labelWord = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// labelElement is a label's value as an element of an address: tp7, rate0_5,
// backend_flash.
func labelElement(name string, value any) (string, bool) {
	switch v := value.(type) {
	case float64:
		text := strconv.FormatFloat(v, 'f', -1, 64)
		return name + strings.ReplaceAll(text, ".", "_"), v >= 0
	case string:
		if _, err := strconv.ParseUint(v, 10, 64); err == nil {
			return name + v, true
		}
		return name + "_" + v, labelWord.MatchString(v)
	}
	return "", false
}

// ShortAddress is its address below "command", as messages name it.
func (p CommandMetric) ShortAddress() string { return strings.TrimPrefix(p.Address(), CommandKind+".") }

// fromCatalogue takes unit and direction from the catalogue if the block names a metric of it.
func (p *CommandMetric) fromCatalogue(unit, better string) *AttrError {
	if p.As == "" {
		for _, need := range []struct{ name, given, example string }{{"unit", unit, "tok/s"}, {"better", better, "higher"}} {
			if need.given == "" {
				return &AttrError{Attr: need.name, Code: "missing-attribute", Summary: "Missing " + need.name, Detail: fmt.Sprintf("Write %s = %q, or name the workload metric whose unit and direction it has, as in as = \"tg\".", need.name, need.example)}
			}
		}
		return nil
	}
	m, ok := measure.LookupIn(p.As, measure.PerRequest, measure.PerCell)
	if !ok {
		return &AttrError{Attr: "as", Code: "unknown-metric", Summary: "Unknown metric", Detail: fmt.Sprintf("A workload has no metric %q. Name one that docs/measuring.md lists, such as tg, pp or ttft, or remove as and write unit and better.", p.As)}
	}
	if unit != "" && unit != m.Unit || better != "" && measure.Better(better) != m.Better && (better != "neither" || m.Better != measure.Neither) {
		return &AttrError{Attr: "as", Code: "invalid-value", Summary: "Another metric", Detail: fmt.Sprintf("%s is in %s, but this is declared in %s, better: %s. Remove unit and better; if the script prints another unit, convert it in jq, as in .seconds * 1000.", p.As, m.Unit, unit, better)}
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
		cells, _ := CommandMetricsOf(b)
		list = append(list, cells...)
	}
	return list
}

// FindCommandMetric finds the metric that the elements after "command" start with, and
// the rest. If there is none, names lists the existing ones.
func FindCommandMetric(list []CommandMetric, elements []string) (p CommandMetric, rest, names []string, ok bool) {
	for _, p := range list {
		own := strings.Split(p.ShortAddress(), ".")
		if len(elements) >= len(own) && slices.Equal(elements[:len(own)], own) {
			return p, elements[len(own):], nil, true
		}
		names = append(names, p.ShortAddress())
	}
	return CommandMetric{}, nil, names, false
}
