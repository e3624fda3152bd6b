package record

import (
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

// TestCalibratedAgain: a calibration that was not good enough, also one that was for a
// wider limit, is made again for the next launch.
func TestCalibratedAgain(t *testing.T) {
	of := func(p99 float64) measure.Calibration {
		return measure.Calibration{Streams: 4, Rate: 400, Requests: 4, Events: 400, Delivered: 1, TTFTp50: 0.1, TTFTp99: p99, ITLp50: 0.1, ITLp99: 0.2}
	}
	for p99, want := range map[float64]bool{0.5: true, 12: false, 80: false} {
		c := Calibrator{known: map[int]measure.Calibration{4: of(p99)}}
		if _, ok := c.within(4, 10*time.Millisecond); ok != want {
			t.Errorf("p99 of %v ms: known %v, want %v", p99, ok, want)
		}
		if _, ok := c.within(8, 10*time.Millisecond); ok {
			t.Error("8 streams are known by 4")
		}
	}
}
