package stats

import (
	"math"
	"testing"
)

// The bounds of Wilson's interval for 15 of 148 and of Newcombe's for 56 of 70 beside 48
// of 80, at 95%, are those that Newcombe's papers of 1998 print.
func TestShare(t *testing.T) {
	const z, many = 1.959964, math.MaxInt32
	near := func(got, want float64) bool { return math.Abs(got-want) < 5e-5 }
	if low, high := (Share{15, 148, many}).Bounds(z); !near(low, 0.0624) || !near(high, 0.1605) {
		t.Errorf("%v to %v", low, high)
	}
	if low, high := (Share{56, 70, many}).Excess(Share{48, 80, many}, z); !near(low, 0.0524) || !near(high, 0.3339) {
		t.Errorf("%v to %v", low, high)
	}
	if low, high := (Share{7, 8, 8}).Bounds(z); low != 0.875 || high != 0.875 {
		t.Errorf("all looked at: %v to %v", low, high)
	}
	few, _ := (Share{8, 8, many}).Bounds(z)
	if low, high := (Share{8, 8, 16}).Bounds(z); low <= few || high != 1 {
		t.Errorf("half looked at: %v to %v, a sample %v", low, high, few)
	}
	if low, high := (Share{}).Bounds(z); low != 0 || high != 1 {
		t.Errorf("none looked at: %v to %v", low, high)
	}
	if low, high := (Share{}).Excess(Share{1, 1, 1}, z); low != -1 || high != 1 {
		t.Errorf("none looked at: %v to %v", low, high)
	}
}
