package rules

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

// Columns resolves the columns of the plan's tables, reports the mistakes in them, and sets
// what tables show without any.
func (ns *Namespace) Columns() (diags hcl.Diagnostics) {
	for _, t := range ns.plan.Tables {
		for _, c := range t.Columns {
			var err *Error
			if c.Input, err = ns.column(c.Path); err != nil {
				diags = append(diags, err.Diagnostic(c.Range, "", nil))
			}
		}
	}
	ns.plan.Reads = ns.reads()
	return diags
}

// column resolves an address that each row of a table has its own value of: by the first
// feature, or else the first row of a step, that has it.
func (ns *Namespace) column(path string) (*plans.Input, *Error) {
	elements := strings.Split(path, ".")
	head, _, _ := strings.Cut(elements[0], "[")
	if ns.Workloads[head] == nil && heads[head] != nil {
		return nil,
			Wrong("invalid-address", "Not a value of a row",
				"%s is the same number in every row. Write what each row has its own of, such as chat.tg or "+
					"levels.correctness.kl.", path)
	}
	var first *Error
	tried := func(in *plans.Input, err *Error) *plans.Input {
		if first = cmp.Or(first, err); err != nil {
			return nil
		}
		return in
	}
	of := ns.plan.Features()
	if b := ns.plan.Baseline; b != nil {
		of = append(of, &plans.Feature{Name: "baseline", Protocol: b.Protocol})
	}
	for _, f := range of {
		if in := tried(ns.ofFeature(&plans.Input{Path: path, Type: plans.NumberInput}, elements, f)); in != nil {
			return in, nil
		}
	}
	for _, ph := range ns.plan.Phases {
		for _, step := range ph.Steps {
			var c plans.ComparisonContent
			switch step.Kind {
			case plans.CompareStep:
				if step.Decode(&c) != nil {
					continue
				}
			case plans.MatrixStep:
				if ns.plan.Baseline == nil {
					continue
				}
				c.Engines = []string{ns.plan.Baseline.Engine}
			}
			for _, engine := range c.Engines {
				row := &plans.Row{Phase: ph.Name, Step: step.Name, Engine: engine, Of: step.Kind}
				in := &plans.Input{Path: path, Type: plans.NumberInput, Row: row}
				if in := tried(ns.ofRow(in, step, engine, elements)); in != nil {
					return in, nil
				}
			}
		}
	}
	if first == nil {
		first = Wrong("invalid-address", "Not a value of a row",
			"The plan has neither a feature nor a comparison, so there are no rows. Remove the report block.")
	}
	return nil, first
}

// reads are the metrics that rules, hypotheses and targets read, in that order, each once.
func (ns *Namespace) reads() (columns []*plans.Column) {
	seen := map[[2]string]bool{}
	add := func(path string, in *plans.Input) {
		at := [2]string{in.LaunchAddress(), in.Stat}
		if at[1] == "p50" {
			at[1] = "median"
		}
		if !seen[at] {
			seen[at] = true
			columns = append(columns, &plans.Column{Path: path, Input: in})
		}
	}
	read := func(in *plans.Input) {
		ofRow := in.Row == nil || *in.Row == plans.BaselineRow || !in.Row.OfNumbers()
		if in.Kind != plans.InputMetric && in.Kind != plans.InputFound || in.Counts() || !ofRow {
			return
		}
		own := *in
		own.Relation, own.Against = plans.Own, plans.Parent
		if own.Unit = in.Of; in.Stat == "cv" {
			own.Unit = ""
		}
		// As the plan spells it, but for whose it is and what it is compared with.
		path := in.Path[strings.LastIndexByte(in.Path, ']')+1:]
		path = strings.TrimPrefix(strings.TrimPrefix(path, "."), "baseline.")
		elements := slices.DeleteFunc(strings.Split(path, "."), func(e string) bool {
			return slices.Contains([]string{
				string(plans.Base), string(plans.Root), "gain", "change",
				"delta", "median",
			}, e)
		})
		own.Path = strings.Join(elements, ".")
		add(own.Path, &own)
	}
	for _, r := range ns.plan.Rules() {
		for _, in := range r.Inputs() {
			read(in)
		}
	}
	for _, f := range ns.plan.Features() {
		if f.Hypothesis != nil {
			for _, in := range f.Hypothesis.Probe.Inputs() {
				read(in)
			}
		}
	}
	for _, t := range ns.plan.Targets {
		for _, of := range lang.KeysOf(t.Metrics) {
			for _, metric := range lang.KeysOf(t.Metrics[of]) {
				if in, err := ns.column(of + "." + metric); err == nil {
					read(in)
				}
			}
		}
	}
	return columns
}
