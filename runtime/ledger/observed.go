package ledger

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// String is the value as messages and tables show it: words in quotes, a number
// with its unit.
func (o Observed) String() string {
	switch v := o.Value.(type) {
	case nil:
		return "not observed"
	case string:
		return strconv.Quote(v)
	case float64:
		text := strconv.FormatFloat(v, 'g', 6, 64)
		if v == math.Trunc(v) && math.Abs(v) < 1e15 {
			text = strconv.FormatFloat(v, 'f', -1, 64)
		}
		return strings.TrimSpace(text + " " + o.Unit)
	}
	return fmt.Sprint(o.Value)
}
