package plans

import (
	"math"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

func (f *body) number(name string, fallback, least, most float64) float64 {
	v, ok := f.value(name)
	if !ok {
		return fallback
	}
	n, ok := f.asNumber(v, f.at(name), name, least, most)
	if !ok {
		return fallback
	}
	return n
}

func (f *body) asNumber(v cty.Value, at hcl.Range, name string, least, most float64) (float64, bool) {
	if v.IsNull() || v.Type() != cty.Number {
		f.l.fail(at, "Wrong type for "+name, "%s takes a number; this is %s.", name, describe(v))
		return 0, false
	}
	n, _ := v.AsBigFloat().Float64()
	if n < least || n > most {
		f.l.fail(at, "Invalid "+name, "%s is between %v and %v; this is %v.", name, least, most, n)
		return 0, false
	}
	return n, true
}

func (f *body) whole(name string, fallback, least, most int) int {
	v, ok := f.value(name)
	if !ok {
		return fallback
	}
	n, ok := f.asWhole(v, f.at(name), name, least, most)
	if !ok {
		return fallback
	}
	return n
}

func (f *body) asWhole(v cty.Value, at hcl.Range, name string, least, most int) (int, bool) {
	if v.IsNull() || v.Type() != cty.Number {
		f.l.fail(at, "Wrong type for "+name, "%s takes a whole number; this is %s.", name, describe(v))
		return 0, false
	}
	n, _ := v.AsBigFloat().Float64()
	if n != math.Trunc(n) || n < float64(least) || n > float64(most) {
		f.l.fail(at, "Invalid "+name, "%s is a whole number between %d and %d; this is %v.", name, least, most, n)
		return 0, false
	}
	return int(n), true
}

// maxElements bounds lists of numbers: each element makes cells.
const maxElements = 64

// wholes is one whole number, or a list of different ones.
func (f *body) wholes(name string, least, most int) (ns []int, list bool) {
	return oneOrMany(f, name, "a whole number", func(v cty.Value, at hcl.Range) (int, bool) {
		return f.asWhole(v, at, name, least, most)
	})
}

// numbers is wholes for numbers that may have a fraction.
func (f *body) numbers(name string, least, most float64) (ns []float64, list bool) {
	return oneOrMany(f, name, "a number", func(v cty.Value, at hcl.Range) (float64, bool) {
		return f.asNumber(v, at, name, least, most)
	})
}

// oneOrMany reads one number, or a list of different ones.
func oneOrMany[T int | float64](f *body, name, kind string, read func(cty.Value, hcl.Range) (T, bool)) (ns []T, list bool) {
	v, ok := f.value(name)
	if !ok {
		return nil, false
	}
	if v.Type() == cty.Number {
		n, ok := read(v, f.at(name))
		if !ok {
			return nil, false
		}
		return []T{n}, false
	}
	elems, ok := f.l.elements(f.attrs[name].Expr, v)
	switch {
	case !ok:
		f.wrongType(name, kind+", or a list of them", v)
		return nil, false
	case len(elems) == 0:
		f.l.fail(f.at(name), "Empty "+name, "The list is empty. Give it at least one number.")
	case len(elems) > maxElements:
		f.l.fail(f.at(name), "Too many values in "+name, "A list has up to %d numbers.", maxElements)
		return nil, true
	}
	seen := map[T]bool{}
	for _, e := range elems {
		n, ok := read(e.v, e.at)
		if ok && seen[n] {
			f.l.fail(e.at, "Duplicate value in "+name, "%v is in the list already. Remove one.", n)
		}
		if ok && !seen[n] {
			seen[n] = true
			ns = append(ns, n)
		}
	}
	return ns, true
}

func (f *body) duration(name string, fallback time.Duration) time.Duration {
	v, ok := f.value(name)
	if !ok {
		return fallback
	}
	d, ok := f.l.asDuration(v, f.at(name), name)
	if !ok {
		return fallback
	}
	return d
}

func (l *evalScope) asDuration(v cty.Value, at hcl.Range, name string) (time.Duration, bool) {
	if v.Type() != cty.String || v.IsNull() {
		l.fail(at, "Wrong type for "+name, `%s takes a duration in quotes, such as "30s" or "15m"; this is %s.`, name, describe(v))
		return 0, false
	}
	d, err := time.ParseDuration(v.AsString())
	if err != nil || d <= 0 {
		l.fail(at, "Invalid duration", `%s takes a positive duration such as "90s", "15m" or "1h30m"; this is %q.`, name, v.AsString())
		return 0, false
	}
	return d, true
}
