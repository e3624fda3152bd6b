package plans

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// numberWritten is a sentence with the number that was written in quotes; empty where none
// was.
func numberWritten(sides ...*Operand) string {
	for _, o := range sides {
		text, ok := o.Constant.(string)
		if !ok {
			continue
		}
		if n, share, ok := numberIn(text); ok && share {
			return fmt.Sprintf(" Write %g, without quotes: ratios are fractions, and %[1]g is %s.", n, text)
		} else if ok {
			return fmt.Sprintf(" Write %g, without quotes.", n)
		}
	}
	return ""
}

// numberIn is the number that a text is, a fraction where it is per cent.
func numberIn(text string) (n float64, share, ok bool) {
	digits, share := strings.CutSuffix(strings.TrimSpace(text), "%")
	n, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if share {
		n = rounded(n / 100)
	}
	return n, share, err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
}
