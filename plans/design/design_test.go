package design

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

func factors(levels ...int) (list []Factor) {
	for f, n := range levels {
		factor := Factor{Name: fmt.Sprint("k", f)}
		for v := range n {
			factor.Values = append(factor.Values, fmt.Sprint("v", v))
		}
		list = append(list, factor)
	}
	return list
}

// TestPairwiseCovers: every allowed pair is in a cell, every excluded pair in none, and
// there are no more cells than public tools make
// (https://www.pairwise.org/efficiency.html has 14 for six of these: 9 to 11, 15 to 23,
// 10 to 18, 180 to 245, 29 to 49, 21 to 33).
func TestPairwiseCovers(t *testing.T) {
	for _, c := range []struct {
		levels []int
		most   int
	}{
		{slices.Repeat([]int{3}, 4), 9},
		{slices.Repeat([]int{3}, 13), 20},
		{slices.Repeat([]int{2}, 100), 16},
		{slices.Repeat([]int{10}, 20), 231},
		{slices.Concat(slices.Repeat([]int{4}, 15), slices.Repeat([]int{3}, 17), slices.Repeat([]int{2}, 29)), 41},
		{slices.Concat([]int{4}, slices.Repeat([]int{3}, 39), slices.Repeat([]int{2}, 35)), 33},
		{slices.Repeat([]int{4}, 12), 31},
		{[]int{5, 2, 2}, 10},
		{[]int{4}, 4},
		{nil, 1},
	} {
		d := &Design{Kind: Pairwise, Factors: factors(c.levels...)}
		cells, err := d.Cells()
		if err != nil {
			t.Fatal(err)
		}
		open := newPairs(d.Factors)
		for _, cell := range cells {
			open.take(cell)
		}
		t.Logf("%v: %d cells", c.levels, len(cells))
		if open.n > 0 || len(cells) > c.most || cells[0].off() != 0 {
			t.Errorf("%v: %d pairs open after %d cells (at most %d), from %v", c.levels, open.n, len(cells), c.most, cells[0])
		}
	}
}

func TestExcludeAndInclude(t *testing.T) {
	for _, kind := range Kinds {
		d := &Design{
			Kind: Kind(kind), Factors: factors(3, 3, 2),
			Exclude: []map[string]string{{"k0": "v1", "k1": "v1"}, {"k0": "v2"}, {}},
			Include: []map[string]string{{"k0": "v1", "k1": "v2", "k2": "v1"}, {"k0": "v2"}},
		}
		cells, err := d.Cells()
		if err != nil {
			t.Fatal(err)
		}
		open, had := newPairs(d.Factors), false
		for _, c := range cells {
			if c[0] == 2 || c[0] == 1 && c[1] == 1 {
				t.Errorf("%s: %v is excluded", kind, c)
			}
			had = had || slices.Equal(c, Cell{1, 2, 1})
			open.take(c)
		}
		if !had {
			t.Errorf("%s: what was included is not there: %v", kind, cells)
		}
		// Of 21 pairs the value v2 of k0 has 5, and one more is excluded.
		if kind != string(OneAtATime) && open.n != 6 {
			t.Errorf("%s: %d pairs are in no cell, want 6: %v", kind, open.n, cells)
		}
	}
}

func TestDesigns(t *testing.T) {
	d := &Design{Kind: OneAtATime, Factors: factors(3, 2)}
	one, _ := d.Cells()
	if len(one) != 4 || slices.ContainsFunc(one, func(c Cell) bool { return c.off() > 1 }) {
		t.Errorf("one at a time: %v", one)
	}
	d.Kind = Full
	all, _ := d.Cells()
	if len(all) != 6 || all[0].off() != 0 || all[1].off() != 1 || all[5].off() != 2 {
		t.Errorf("full, the most informative first: %v", all)
	}
	huge := &Design{Kind: Full, Factors: factors(slices.Repeat([]int{10}, 9)...)}
	var many *TooManyError
	if _, err := huge.Cells(); !errors.As(err, &many) || many.Cells != 1e9 {
		t.Errorf("10^9 cells: %v", err)
	}
}

// TestFactorWithoutValues: there is no cell, not even one of the other factors.
func TestFactorWithoutValues(t *testing.T) {
	for _, kind := range []Kind{Full, Pairwise, OneAtATime} {
		for _, n := range [][]int{{0}, {2, 0}, {0, 3}} {
			d := &Design{Kind: kind, Factors: factors(n...)}
			d.Exclude = []map[string]string{{d.Factors[0].Name: "x"}}
			d.Include = d.Exclude
			if cells, err := d.Cells(); len(cells) > 0 || err != nil {
				t.Errorf("%s %v: %v, %v", kind, n, cells, err)
			}
		}
	}
}

// TestSame: a design is part of a plan's meaning, so it is the same each time.
func TestSame(t *testing.T) {
	d := &Design{Kind: Pairwise, Factors: factors(4, 3, 3, 2)}
	first, _ := d.Cells()
	again, _ := d.Cells()
	if !slices.EqualFunc(first, again, func(a, b Cell) bool { return slices.Equal(a, b) }) {
		t.Error("two designs of one plan")
	}
}

func BenchmarkPairwise(b *testing.B) {
	d := &Design{Kind: Pairwise, Factors: factors(slices.Repeat([]int{4}, 12)...)}
	for b.Loop() {
		if _, err := d.Cells(); err != nil {
			b.Fatal(err)
		}
	}
}
