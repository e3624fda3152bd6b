package gpu

import (
	"fmt"
	"strconv"
	"strings"
)

// reasons are the bits of clocks_event_reasons.active, from NVML's header.
var reasons = []struct {
	bit  uint64
	word string
}{
	{1, "idle"},
	{2, "application clocks"},
	{4, "software power cap"},
	{8, "hardware slowdown"},
	{16, "sync boost"},
	{32, "software thermal slowdown"},
	{64, "hardware thermal slowdown"},
	{128, "power brake"},
	{256, "display clocks"},
}

// Throttled says what keeps the clocks down now, in words. ok is false where the
// driver does not tell; none with ok means that nothing does.
func (g GPU) Throttled() (words []string, ok bool) {
	mask, ok := g.Throttle()
	if !ok {
		return nil, false
	}
	return reasonsIn(mask), true
}

// Throttle is the driver's bit mask of what keeps the clocks down now; false
// where it does not tell.
func (g GPU) Throttle() (uint64, bool) {
	mask, err := strconv.ParseUint(strings.TrimPrefix(g.Values["clocks_event_reasons.active"], "0x"), 16, 64)
	return mask, err == nil
}

// reasonsIn are the bits of such a mask in words.
func reasonsIn(mask uint64) (words []string) {
	for _, r := range reasons {
		if mask&r.bit != 0 {
			words = append(words, r.word)
		}
		mask &^= r.bit
	}
	if mask != 0 {
		words = append(words, fmt.Sprintf("reason 0x%x", mask))
	}
	return words
}
