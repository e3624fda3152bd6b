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
	way, by := "better", i.Ratio
	if by < 0 {
		way, by = "worse", -by
	}
	text := fmt.Sprintf("%s together are %s %s in %s than the product of their gains", verdict.And(i.Parts), strings.TrimPrefix(verdict.Percent(by, 1), "+"), way, i.Metric)
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
