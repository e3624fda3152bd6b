package plans

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/plans/design"
)

// MatrixStep is the kind of step that measures combinations of knobs.
const MatrixStep = "matrix"

// Matrix is the content of such a step.
type Matrix struct {
	// Knobs are the values that are combined, by knob.
	Knobs map[string][]string `json:"knobs"`
	// Design is one of design.Kinds. Exclude and Include are combinations of values.
	Design  string              `json:"design"`
	Exclude []map[string]string `json:"exclude"`
	Include []map[string]string `json:"include"`
	// Launches is per cell, MaxLaunches bounds all launches that are measured, and
	// MaxTime their total time; 0 is no bound.
	Launches    int `json:"launches"`
	MaxLaunches int `json:"max_launches"`
	MaxTime     Dur `json:"max_time"`
	// MayBreak means that cells that break have no consequence.
	MayBreak  bool     `json:"may_break"`
	Workloads []string `json:"workloads"`
	Protocol  string   `json:"protocol"`
}

// MatrixCell is one combination: how it differs from the baseline, and its name.
type MatrixCell struct {
	Name string
	Set  map[string]string
}

// Factors are the knobs of a matrix in the plan's order, each with the baseline's value
// first if that is among its values.
func (p *Plan) Factors(m *Matrix) (factors []design.Factor) {
	defaults := p.DefaultKnobs()
	for _, k := range p.Knobs {
		values, ok := m.Knobs[k.Name]
		if !ok {
			continue
		}
		values = slices.Clone(values)
		if i := slices.Index(values, defaults[k.Name]); i > 0 {
			values = slices.Insert(slices.Delete(values, i, i+1), 0, defaults[k.Name])
		}
		factors = append(factors, design.Factor{Name: k.Name, Values: values})
	}
	return factors
}

// MatrixCells are the cells of a matrix except the baseline, the most informative first,
// and the number of cells beyond MaxLaunches. The error is a *design.TooManyError.
func (p *Plan) MatrixCells(m *Matrix) (cells []MatrixCell, left int, err error) {
	d := &design.Design{Kind: design.Kind(m.Design), Factors: p.Factors(m), Exclude: m.Exclude, Include: m.Include}
	all, err := d.Cells()
	if err != nil {
		return nil, 0, err
	}
	defaults := p.DefaultKnobs()
	for _, c := range all {
		cell := MatrixCell{Set: map[string]string{}}
		for f, v := range c {
			if value := d.Factors[f].Values[v]; value != defaults[d.Factors[f].Name] {
				cell.Set[d.Factors[f].Name] = value
			}
		}
		if len(cell.Set) == 0 {
			continue // the baseline is there anyway
		}
		cell.Name = p.SetName(cell.Set)
		cells = append(cells, cell)
	}
	if m.MaxLaunches > 0 {
		if fit := max(0, m.MaxLaunches/max(1, m.Launches)-1); fit < len(cells) {
			cells, left = cells[:fit], len(cells)-fit
		}
	}
	return cells, left, nil
}

// SetName is the name of a combination, such as "moe_kernel=gemm+activation=mxfp8", in
// the plan's order of knobs.
func (p *Plan) SetName(set map[string]string) string {
	var parts []string
	for _, k := range p.Knobs {
		if v, ok := set[k.Name]; ok {
			parts = append(parts, k.Name+"="+v)
		}
	}
	return strings.Join(parts, "+")
}

// SetOf is the inverse of SetName, with knobs in any order; false if name is no such
// name. Names of values may contain +, but not =.
func SetOf(name string) (map[string]string, bool) {
	set, last := map[string]string{}, ""
	for part := range strings.SplitSeq(name, "+") {
		knob, value, ok := strings.Cut(part, "=")
		switch _, twice := set[knob]; {
		case !ok && last != "":
			set[last] += "+" + part
		case !ok || twice:
			return nil, false
		default:
			set[knob], last = value, knob
		}
	}
	return set, true
}

// CheckMatrix returns the mistakes in a matrix of the plan.
func (p *Plan) CheckMatrix(b *Block) (wrong []AttrError) {
	fail := func(attr, code, summary, format string, args ...any) {
		wrong = append(wrong, AttrError{Attr: attr, Code: code, Summary: summary, Detail: fmt.Sprintf(format, args...)})
	}
	m := &Matrix{}
	if err := b.Decode(m); err != nil {
		fail("", "wrong-type", "Not a matrix", "knobs takes lists of values by knob, such as { moe_kernel = [\"marlin\", \"gemm\"] }; exclude and include take lists of combinations, such as [{ moe_kernel = \"gemm\", activation = \"mxfp8\" }].")
		return wrong
	}
	if p.Baseline == nil {
		fail("", "missing-block", "Missing baseline", "Cells are the baseline with other knob values, but the plan has no baseline.")
		return wrong
	}
	names := Names(p.Knobs, func(k *Knob) string { return k.Name })
	for _, name := range slices.Sorted(maps.Keys(m.Knobs)) {
		k := Find(p.Knobs, func(k *Knob) bool { return k.Name == name })
		if k == nil {
			fail("knobs", "unknown-reference", "Unknown knob", "There is no knob %q; the plan has %s.", name, strings.Join(names, ", "))
			continue
		}
		if len(m.Knobs[name]) == 0 {
			fail("knobs", "empty-value", "Empty list", "Knob %q has no values here. List those to try, out of %s.", name, strings.Join(k.ValueNames(), ", "))
		}
		for i, v := range m.Knobs[name] {
			switch {
			case k.Value(v) == nil:
				fail("knobs", "unknown-reference", "Unknown value", "Knob %q has no value %q; it has %s.", name, v, strings.Join(k.ValueNames(), ", "))
			case slices.Contains(m.Knobs[name][:i], v):
				fail("knobs", "duplicate-entry", "Duplicate value", "%q is already a value of %s. Remove one.", v, name)
			}
		}
	}
	for i, list := range [][]map[string]string{m.Exclude, m.Include} {
		attr := []string{"exclude", "include"}[i]
		for _, set := range list {
			for _, name := range slices.Sorted(maps.Keys(set)) {
				switch values, ok := m.Knobs[name]; {
				case !ok:
					fail(attr, "unknown-reference", "Unknown knob", "The matrix does not vary %q; it varies %s.", name, strings.Join(slices.Sorted(maps.Keys(m.Knobs)), ", "))
				case !slices.Contains(values, set[name]):
					fail(attr, "unknown-reference", "Unknown value", "The matrix does not try %s=%s; it tries %s.", name, set[name], strings.Join(values, ", "))
				}
			}
		}
	}
	if len(wrong) > 0 {
		return wrong
	}
	cells, _, err := p.MatrixCells(m)
	var many *design.TooManyError
	switch {
	case errors.As(err, &many):
		fail("design", "too-many-cells", "Too many cells", "The matrix has %.10g cells, more than the limit of %d. Set design = %q or %q, list fewer values, or exclude some.", many.Cells, design.MaxCells, design.Pairwise, design.OneAtATime)
	case err == nil && len(cells) == 0 && m.MaxLaunches > 0:
		fail("max_launches", "matrix", "max_launches is too low", "The baseline and one cell take %d launches each. Set max_launches to at least %d.", m.Launches, 2*m.Launches)
	case err == nil && len(cells) == 0:
		fail("knobs", "matrix", "Nothing to combine", "No cell differs from the baseline. List other values, or exclude fewer.")
	}
	return wrong
}
