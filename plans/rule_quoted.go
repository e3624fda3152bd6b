package plans

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// numberWritten is a sentence with the number that was written in quotes; empty where none
// was.
func numberWritten(left, right *Operand) string {
	text, ok := left.Constant.(string)
	other := right
	if !ok {
		text, ok = right.Constant.(string)
		other = left
	}
	n, percent, number := numberIn(text)
	switch {
	case !ok || !number:
		return ""
	case percent && isShare(other.Unit):
		return fmt.Sprintf(" Write %g, without quotes: ratios are fractions, and %[1]g is %s.", n, text)
	case percent:
		in := ""
		if other.Unit != "" {
			in = fmt.Sprintf(", or write a number in %s", other.Unit)
		}
		return fmt.Sprintf(" %s of what? Compare a .gain or a .change with %g, without quotes%s.", text, n, in)
	}
	return fmt.Sprintf(" Write %g, without quotes.", n)
}

// isShare reports whether numbers of a unit may be told in per cent.
func isShare(unit string) bool { return unit == RatioUnit || unit == "share" }

// numberIn is the number that a text is, a fraction where it is per cent.
func numberIn(text string) (n float64, share, ok bool) {
	digits, share := strings.CutSuffix(strings.TrimSpace(text), "%")
	n, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if share {
		n = rounded(n / 100)
	}
	return n, share, err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
}
