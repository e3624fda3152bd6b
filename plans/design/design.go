// Package design chooses which combinations of factors are tried: all, a covering array
// of strength 2, or one factor at a time, with combinations that are left out and others
// that are added. It is only combinatorics: it knows nothing about knobs, engines or
// plans, and the same input gives the same design.
package design

import (
	"fmt"
	"slices"
)

// Factor has several values, the first of which is its default.
type Factor struct {
	Name   string
	Values []string
}

// Cell is a combination: the index of a value per factor.
type Cell []int

// Kind is which combinations are tried.
type Kind string

const (
	// Full is the product of all factors.
	Full Kind = "full"
	// Pairwise has every pair of values of two factors in at least one cell: a covering
	// array of strength 2.
	Pairwise Kind = "pairwise"
	// OneAtATime has the defaults, and each other value by itself.
	OneAtATime Kind = "one_at_a_time"
)

// Kinds are all of them.
var Kinds = []string{string(Full), string(Pairwise), string(OneAtATime)}

// MaxCells is the maximum of cells in a design: each takes launches.
const MaxCells = 1000

// Design is the requested design.
type Design struct {
	Kind    Kind
	Factors []Factor
	// Exclude are combinations of some factors' values, by factor and value, of which no
	// cell may have all. Include are cells that are always there; factors that they do
	// not name are at their default.
	Exclude, Include []map[string]string
}

// TooManyError is the error of a design with more cells than MaxCells. Cells is how many
// there are, before any is left out.
type TooManyError struct{ Cells float64 }

func (e *TooManyError) Error() string {
	return fmt.Sprintf("%.4g cells, more than the limit of %d", e.Cells, MaxCells)
}

// Product is the number of combinations, before any is left out.
func (d *Design) Product() float64 {
	n := 1.0
	for _, f := range d.Factors {
		n *= float64(len(f.Values))
	}
	return n
}

// Cells are the cells of the design, the defaults first and the others so that each
// covers as many new pairs of values as it can: a prefix of them is the most informative
// for so many launches. The error is a *TooManyError.
func (d *Design) Cells() ([]Cell, error) {
	if slices.ContainsFunc(d.Factors, func(f Factor) bool { return len(f.Values) == 0 }) {
		return nil, nil // not even a first one
	}
	defaults := make(Cell, len(d.Factors))
	kind := d.Kind
	if len(d.Factors) == 1 {
		kind = OneAtATime // there is no pair to cover
	}
	var cells []Cell
	add := func(c Cell) {
		if !d.excluded(c) && !slices.ContainsFunc(cells, func(o Cell) bool { return slices.Equal(o, c) }) {
			cells = append(cells, slices.Clone(c))
		}
	}
	add(defaults)
	switch kind {
	case OneAtATime:
		for f := range d.Factors {
			for v := 1; v < len(d.Factors[f].Values); v++ {
				c := slices.Clone(defaults)
				c[f] = v
				add(c)
			}
		}
	case Pairwise:
		for _, c := range d.pairwise() {
			add(c)
		}
	default:
		if n := d.Product(); n > MaxCells {
			return nil, &TooManyError{n}
		}
		c := slices.Clone(defaults)
		for more := true; more; more = d.next(c) {
			add(c)
		}
	}
	for _, in := range d.Include {
		add(d.cell(in))
	}
	if len(cells) > MaxCells {
		return nil, &TooManyError{float64(len(cells))}
	}
	return d.ordered(cells), nil
}

// cell is the cell of some factors' values.
func (d *Design) cell(of map[string]string) Cell {
	c := make(Cell, len(d.Factors))
	for f, factor := range d.Factors {
		if v, ok := of[factor.Name]; ok {
			c[f] = max(0, slices.Index(factor.Values, v))
		}
	}
	return c
}

// next counts up; false after the last.
func (d *Design) next(c Cell) bool {
	for f := len(c) - 1; f >= 0; f-- {
		if c[f]++; c[f] < len(d.Factors[f].Values) {
			return true
		}
		c[f] = 0
	}
	return false
}

// excluded reports whether a cell has all of an excluded combination. Values below 0 are
// not chosen yet.
func (d *Design) excluded(c Cell) bool {
	return slices.ContainsFunc(d.Exclude, func(ex map[string]string) bool {
		for f, factor := range d.Factors {
			want, named := ex[factor.Name]
			if named && (c[f] < 0 || factor.Values[c[f]] != want) {
				return false
			}
		}
		return len(ex) > 0
	})
}

// ordered orders the cells after the first so that each brings as many new pairs of
// values as it can; of equals, the one with fewer values off their default comes first.
func (d *Design) ordered(cells []Cell) []Cell {
	seen := newPairs(d.Factors)
	var out []Cell
	for rest := slices.Clone(cells); len(rest) > 0; {
		at, most, least := 0, -1, 0
		for i, c := range rest {
			if len(out) == 0 {
				break // the defaults
			}
			if n, off := seen.fresh(c), c.off(); n > most || n == most && off < least {
				at, most, least = i, n, off
			}
		}
		seen.take(rest[at])
		out = append(out, rest[at])
		rest = slices.Delete(rest, at, at+1)
	}
	return out
}

// off is how many factors are not at their default.
func (c Cell) off() (n int) {
	for _, v := range c {
		if v != 0 {
			n++
		}
	}
	return n
}
