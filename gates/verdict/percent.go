package verdict

import (
	"fmt"
	"math"
)

// leastPercent is the least that gets more digits than were asked for: what is less
// is rounding, or the resolution of a clock.
const leastPercent = 1e-4

// Percent writes a relative change as a percentage with its sign, as every part of
// mxflow shows it: "+38.2 %", "-3.0 %". A small one has the digits that show which way
// it goes: "-0.03 %". No quantity loses more than all of it, so that what lies below
// -100 % is a gain of one of which less is better, and says how much more there is.
func Percent(x float64, decimals int) string {
	if x < -1 {
		return percent(x, decimals) + fmt.Sprintf(" (%.3g times as much)", 1-x)
	}
	return percent(x, decimals)
}

func percent(x float64, decimals int) string {
	a := 100 * math.Abs(x)
	if a >= 1e7 {
		return fmt.Sprintf("%+.*e %%", decimals, 100*x)
	}
	for a >= leastPercent && readsZero(a, decimals) {
		decimals++
	}
	if readsZero(a, decimals) {
		x = 0 // no −0.0
	}
	return fmt.Sprintf("%+.*f %%", decimals, 100*x)
}

// readsZero reports whether nothing of a number is seen in so many decimals; a half
// may be rounded either way.
func readsZero(a float64, decimals int) bool { return a <= 0.5*math.Pow10(-decimals) }
