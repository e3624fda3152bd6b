package plans

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// MatrixStep is the kind of step that measures combinations of knobs.
const MatrixStep = "matrix"

// Matrix is the content of such a step.
type Matrix struct {
	// Knobs are the values that are combined, by knob.
	Knobs map[string][]string `json:"knobs"`
	// Design is FullDesign or OneAtATime. Exclude and Include are combinations of values.
	Design  string              `json:"design"`
	Exclude []map[string]string `json:"exclude"`
	Include []map[string]string `json:"include"`
	// Launches is per cell.
	Launches int `json:"launches"`
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

// Designs of a matrix: which combinations of its values are tried.
const (
	FullDesign = "full"
	// OneAtATime has the baseline's values, and each other value by itself.
	OneAtATime = "one_at_a_time"
)

// maxCells is the maximum of cells in a matrix: each takes launches.
const maxCells = 1000

// MatrixCells are the cells of a matrix except the baseline. The error says that there
// are too many.
func (p *Plan) MatrixCells(m *Matrix) (cells []MatrixCell, err error) {
	tooMany := func(n float64) error {
		return fmt.Errorf("%.10g cells, more than the limit of %d", n, maxCells)
	}
	// Each combination has a value of every knob that is varied; first has the baseline's
	// where they are listed.
	defaults, first := p.DefaultKnobs(), map[string]string{}
	all, product := []map[string]string{{}}, 1.0
	for _, k := range p.Knobs {
		values, ok := m.Knobs[k.Name]
		switch {
		case !ok:
			continue
		case len(values) == 0:
			return nil, nil
		}
		first[k.Name] = values[0]
		if slices.Contains(values, defaults[k.Name]) {
			first[k.Name] = defaults[k.Name]
		}
		if product *= float64(len(values)); m.Design != OneAtATime && product <= maxCells {
			all = times(all, k.Name, values)
		}
	}
	switch {
	case m.Design == OneAtATime:
		all = []map[string]string{first}
		for _, k := range p.Knobs {
			all = append(all, times([]map[string]string{first}, k.Name, m.Knobs[k.Name])...)
		}
	case product > maxCells:
		return nil, tooMany(product)
	}
	for _, set := range m.Include {
		all = append(all, merged(first, set))
	}
	for _, c := range all {
		leaves := func(ex map[string]string) bool { return len(ex) > 0 && maps.Equal(merged(c, ex), c) }
		if slices.ContainsFunc(m.Exclude, leaves) {
			continue
		}
		cell := MatrixCell{Set: map[string]string{}}
		for knob, value := range c {
			if value != defaults[knob] {
				cell.Set[knob] = value
			}
		}
		cell.Name = p.SetName(cell.Set)
		if len(cell.Set) > 0 && !slices.ContainsFunc(cells, func(o MatrixCell) bool { return o.Name == cell.Name }) {
			cells = append(cells, cell)
		}
	}
	if len(cells) > maxCells {
		return nil, tooMany(float64(len(cells)))
	}
	return cells, nil
}

// times combines each set with each value of a knob.
func times(sets []map[string]string, knob string, values []string) (all []map[string]string) {
	for _, set := range sets {
		for _, v := range values {
			all = append(all, merged(set, map[string]string{knob: v}))
		}
	}
	return all
}

func merged(set, over map[string]string) map[string]string {
	both := maps.Clone(set)
	maps.Copy(both, over)
	return both
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
		fail("", "wrong-type", "Not a matrix",
			"knobs takes lists of values by knob, such as ‹{ moe_kernel = [\"marlin\", \"gemm\"] }›; exclude and "+
				"include take lists of combinations, such as ‹[{ moe_kernel = \"gemm\", activation = \"mxfp8\" }]›.")
		return wrong
	}
	if p.Baseline == nil {
		fail("", "missing-block", "Missing baseline",
			"Cells are the baseline with other knob values, but the plan has no baseline.")
		return wrong
	}
	names := Names(p.Knobs, func(k *Knob) string { return k.Name })
	for _, name := range slices.Sorted(maps.Keys(m.Knobs)) {
		k := Find(p.Knobs, func(k *Knob) bool { return k.Name == name })
		if k == nil {
			fail("knobs", "unknown-reference", "Unknown knob", "There is no knob %q; the plan has %s.", name,
				strings.Join(names, ", "))
			continue
		}
		if len(m.Knobs[name]) == 0 {
			fail("knobs", "empty-value", "Empty list", "Knob %q has no values here. List those to try, out of %s.",
				name, strings.Join(k.ValueNames(), ", "))
		}
		for i, v := range m.Knobs[name] {
			switch {
			case k.Value(v) == nil:
				fail("knobs", "unknown-reference", "Unknown value", "Knob %q has no value %q; it has %s.", name, v,
					strings.Join(k.ValueNames(), ", "))
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
					fail(attr, "unknown-reference", "Unknown knob", "The matrix does not vary %q; it varies %s.", name,
						strings.Join(slices.Sorted(maps.Keys(m.Knobs)), ", "))
				case !slices.Contains(values, set[name]):
					fail(attr, "unknown-reference", "Unknown value", "The matrix does not try %s=%s; it tries %s.",
						name, set[name], strings.Join(values, ", "))
				}
			}
		}
	}
	if len(wrong) > 0 {
		return wrong
	}
	switch cells, err := p.MatrixCells(m); {
	case err != nil:
		fail("design", "too-many-cells", "Too many cells",
			"The matrix has %v. Set ‹design = %q›, list fewer values, or exclude some.", err, OneAtATime)
	case len(cells) == 0:
		fail("knobs", "matrix", "Nothing to combine",
			"No cell differs from the baseline. List other values, or exclude fewer.")
	}
	return wrong
}
