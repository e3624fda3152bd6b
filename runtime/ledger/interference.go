package ledger

import (
	"fmt"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
)

// Says is the comparison as a sentence: "kv_cache and moe together are 12.0 %
// worse in chat.tg than the product of their gains (interval -18.0 % to -6.0 %):
// they interfere".
func (i Interference) Says() string {
	names := strings.Join(i.Parts, ", ")
	if n := len(i.Parts); n > 1 {
		names = strings.Join(i.Parts[:n-1], ", ") + " and " + i.Parts[n-1]
	}
	way, by := "better", i.Ratio
	if by < 0 {
		way, by = "worse", -by
	}
	text := fmt.Sprintf("%s together are %.1f %% %s in %s than the product of their gains", names, 100*by, way, i.Metric)
	if i.Low == nil || i.High == nil {
		return text + ", without an interval: whether they interfere is open"
	}
	text += fmt.Sprintf(" (interval %s to %s): ", verdict.Percent(*i.Low, 1), verdict.Percent(*i.High, 1))
	switch {
	case *i.High < 0:
		return text + "they interfere"
	case *i.Low > 0:
		return text + "they help each other"
	}
	return text + "no interaction is shown"
}
