package steps

import (
	"maps"
	"math"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// disjoint reports whether the parts change each knob once, and all of them make
// the stack of the baseline.
func disjoint(root, stack map[string]string, parts []part) bool {
	made := maps.Clone(root)
	changed := map[string]bool{}
	for _, p := range parts {
		for knob, value := range p.set {
			if changed[knob] {
				return false
			}
			changed[knob], made[knob] = true, value
		}
	}
	return maps.Equal(made, stack)
}

// telescopes reports whether each part was measured on exactly the parts before
// it, in some order: (a/1) · (ab/a) is ab, whatever a and b do to each other.
func telescopes(root map[string]string, parts []part) bool {
	at, left := maps.Clone(root), len(parts)
	used := make([]bool, len(parts))
	for moved := true; moved; {
		moved = false
		for i, p := range parts {
			if !used[i] && maps.Equal(p.parent[0].Knobs, at) {
				maps.Copy(at, p.set)
				used[i], moved = true, true
				left--
			}
		}
	}
	return left == 0
}

// contrast sums gains in logs. Each launch stands in it once with all the weight
// that it has in them: parts that were measured in one session share its baseline.
type contrast struct {
	address string
	sign    float64
	arms    map[armKey]*armSum
	order   []armKey
	works   map[string]bool
}

// armKey tells the launches of one variant in one session from others.
type armKey struct{ session, variant string }

type armSum struct {
	at map[string]int
	stats.Weighted
}

func newContrast(in *plans.Input) *contrast {
	c := &contrast{address: gates.Address(in), sign: 1, arms: map[armKey]*armSum{}, works: map[string]bool{}}
	if in.Better == string(measure.Lower) {
		c.sign = -1
	}
	return c
}

// gain adds weight times the gain of one arm over another, and returns it: the
// logarithm of how many times better it is. It is false where a launch has no
// number above zero.
func (c *contrast) gain(over, under []*ledger.Launch, weight float64) (float64, bool) {
	a, ok := c.add(over, weight)
	b, also := c.add(under, -weight)
	return a - b, ok && also
}

func (c *contrast) add(launches []*ledger.Launch, weight float64) (mean float64, ok bool) {
	for _, l := range launches {
		v := l.Metrics[c.address].Stats["median"]
		if !(v > 0) || math.IsInf(v, 0) {
			return 0, false
		}
		x := c.sign * math.Log(v)
		mean += x / float64(len(launches))
		c.works[l.Work] = true
		key := armKey{l.Session, l.VariantKey}
		sum := c.arms[key]
		if sum == nil {
			sum = &armSum{at: map[string]int{}}
			c.arms[key] = sum
			c.order = append(c.order, key)
		}
		i, known := sum.at[l.ID]
		if !known {
			i = len(sum.Values)
			sum.at[l.ID] = i
			sum.Values, sum.Weights = append(sum.Values, x), append(sum.Weights, 0)
		}
		sum.Weights[i] += weight / float64(len(launches))
	}
	return mean, len(launches) > 0
}

// oneWork reports whether all launches were sent the same, and on one machine:
// gains under another load are other gains.
func (c *contrast) oneWork() bool { return len(c.works) == 1 }

func (c *contrast) weighted() (all []stats.Weighted) {
	for _, key := range c.order {
		all = append(all, c.arms[key].Weighted)
	}
	return all
}
