package plans

import "slices"

// remaining is what is left of a quantity's values, and who left it.
type remaining struct {
	interval
	// lower and upper are the conditions behind its ends; nil where the quantity has
	// no other values.
	lower, upper *fact
	// only is the condition with the fewest words that it may be, and except those
	// with words that it may not be.
	only   *fact
	except []*fact
}

// clash is two conditions that no value of a quantity satisfies.
type clash struct {
	here *fact
	// there is nil where no value satisfies the first by itself.
	there *fact
	// point is set where one value does, which no test can show.
	point bool
}

// narrow leaves the values that satisfy one condition more. Where there are none
// nothing changes.
func (left *remaining) narrow(f *fact) *clash {
	if f.words != nil {
		return left.spell(f)
	}
	now := left.meets(f.holds)
	switch {
	case now.empty() && left.meets(f.holds.above()).empty():
		return &clash{here: f, there: left.upper}
	case now.empty():
		return &clash{here: f, there: left.lower}
	case !f.leaf.Claim.Tested() || !now.point():
	case now.low == f.holds.low:
		return &clash{here: f, there: left.upper, point: true}
	default:
		return &clash{here: f, there: left.lower, point: true}
	}
	if now.low != left.low || now.openLow != left.openLow {
		left.lower = f
	}
	if now.high != left.high || now.openHigh != left.openHigh {
		left.upper = f
	}
	left.interval = now
	return nil
}

// spell is narrow for words. It finds two conditions that exclude each other, and
// not three that do so only together.
func (left *remaining) spell(f *fact) *clash {
	if f.without {
		if left.only != nil && within(left.only.words, f.words) {
			return &clash{here: f, there: left.only}
		}
		if !slices.ContainsFunc(left.except, func(known *fact) bool { return within(f.words, known.words) }) {
			left.except = append(slices.Clip(left.except), f)
		}
		return nil
	}
	for _, other := range left.except {
		if within(f.words, other.words) {
			return &clash{here: f, there: other}
		}
	}
	switch {
	case left.only == nil || within(f.words, left.only.words):
		left.only = f
	case !slices.ContainsFunc(f.words, func(w string) bool { return slices.Contains(left.only.words, w) }):
		return &clash{here: f, there: left.only}
	}
	return nil
}

func within(words, all []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(all, w) })
}
