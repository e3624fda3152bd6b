package verdict

import (
	"fmt"
	"math"
	"strconv"
)

// Percent writes a relative change as a percentage with its sign, as every part of
// mxflow shows it: "+38.2 %", "-3.0 %".
func Percent(x float64, decimals int) string {
	if 100*math.Abs(x) >= 1e7 {
		return fmt.Sprintf("%+.*e %%", decimals, 100*x)
	}
	s := fmt.Sprintf("%+.*f", decimals, 100*x)
	if zero, err := strconv.ParseFloat(s, 64); err == nil && zero == 0 {
		s = fmt.Sprintf("%+.*f", decimals, 0.0) // no −0.0
	}
	return s + " %"
}
