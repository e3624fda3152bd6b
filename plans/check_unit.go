package plans

import (
	"fmt"
	"math"
)

// usualSize is what a unit is used for; numbers out of it were meant in another one.
type usualSize struct {
	low, high float64
	// below and above turn what was written into what was meant, in the units
	// of these names.
	below, above         float64
	belowName, aboveName string
}

// usuals by unit. The bounds are far out: a warning that is wrong costs trust.
var usuals = map[string]usualSize{
	"ms": {low: 1, below: 1000, belowName: "seconds"},
	"s":  {high: 10_000, above: 0.001, aboveName: "milliseconds"},
	"GB": {high: 4096, above: 1.0 / 1024, aboveName: "MB"},
}

// implausible says why a number is hardly meant in the unit of what it is
// compared with; empty where it may be.
func implausible(in *Input, limit float64) string {
	size := math.Abs(limit)
	if in.unitWord() == RatioUnit {
		word := string(in.Relation)
		if in.Stat == "cv" {
			word = "cv"
		}
		if size < 5 || in.Relation == Own && in.Stat != "cv" {
			return ""
		}
		return fmt.Sprintf("%s is a ratio: 0.10 is 10 %%, and %g is %g %%. Did you mean %g?", word, limit, limit*100, limit/100)
	}
	u, known := usuals[in.Unit]
	if !known || in.Cell == commandKind ||
		in.Relation == Delta || in.Stat == "std" || size == 0 {
		return "" // differences and spreads are of any size
	}
	low := u.low
	switch in.Metric {
	case "itl", "tpot":
		low /= 20 // tokens of a small model come fast
	case "schedule_lag", "queue", "engine_queue":
		low = 0 // hardly any is what one hopes for
	}
	switch {
	case size < low:
		return fmt.Sprintf("%s is in %s, and %g %s is hardly ever reached. Did you mean %s? Then write %g.", in.Path, in.Unit, limit, in.Unit, u.belowName, limit*u.below)
	case u.above > 0 && size > u.high:
		return fmt.Sprintf("%s is in %s, and %g %s is more than it will be. Did you mean %s? Then write %.4g.", in.Path, in.Unit, limit, in.Unit, u.aboveName, limit*u.above)
	}
	return ""
}
