package plans

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
)

// combining is a plan with knobs a, b and so on, and a matrix of all their values: as many
// as given, v0 being the baseline's.
func combining(values ...int) (*Plan, *Matrix) {
	p, m := &Plan{Baseline: &Baseline{}}, &Matrix{Design: FullDesign, Knobs: map[string][]string{}}
	for i, n := range values {
		k := &Knob{Name: string(rune('a' + i)), Default: "v0"}
		for v := range n {
			k.Values = append(k.Values, &KnobValue{Name: fmt.Sprint("v", v)})
		}
		p.Knobs = append(p.Knobs, k)
		m.Knobs[k.Name] = k.ValueNames()
	}
	return p, m
}

func cellNames(t *testing.T, p *Plan, m *Matrix) []string {
	t.Helper()
	cells := must.Get(p.MatrixCells(m))(t)
	return Names(cells, func(c MatrixCell) string { return c.Name })
}

func TestMatrixCells(t *testing.T) {
	p, m := combining(3, 2)
	if got := cellNames(t, p, m); !slices.Equal(got, []string{"b=v1", "a=v1", "a=v1+b=v1", "a=v2", "a=v2+b=v1"}) {
		t.Errorf("full: %v", got)
	}
	m.Design = OneAtATime
	if got := cellNames(t, p, m); !slices.Equal(got, []string{"a=v1", "a=v2", "b=v1"}) {
		t.Errorf("one at a time: %v", got)
	}
	// Without the baseline's value, the first one stands for it.
	m.Knobs["a"] = []string{"v2", "v1"}
	if got := cellNames(t, p, m); !slices.Equal(got, []string{"a=v2", "a=v1", "a=v2+b=v1"}) {
		t.Errorf("one at a time, without the baseline's value: %v", got)
	}
	m.Knobs["b"] = nil
	if got := cellNames(t, p, m); len(got) > 0 {
		t.Errorf("a knob without values: %v", got)
	}
}

func TestExcludeAndInclude(t *testing.T) {
	for _, d := range []string{FullDesign, OneAtATime} {
		p, m := combining(3, 3, 2)
		m.Design = d
		m.Exclude = []map[string]string{{"a": "v1", "b": "v1"}, {"a": "v2"}, {}}
		m.Include = []map[string]string{{"a": "v1", "b": "v2", "c": "v1"}, {"a": "v2"}}
		got := cellNames(t, p, m)
		for _, name := range got {
			set, _ := SetOf(name)
			if set["a"] == "v2" || maps.Equal(set, map[string]string{"a": "v1", "b": "v1"}) || strings.HasPrefix(name, "a=v1+b=v1+") {
				t.Errorf("%s: %s is excluded", d, name)
			}
		}
		if !slices.Contains(got, "a=v1+b=v2+c=v1") {
			t.Errorf("%s: what was included is not there: %v", d, got)
		}
	}
}

func TestTooManyCells(t *testing.T) {
	p, m := combining(slices.Repeat([]int{10}, 9)...)
	if _, err := p.MatrixCells(m); err == nil || !strings.Contains(err.Error(), "1000000000 cells") {
		t.Errorf("10^9 cells: %v", err)
	}
}
