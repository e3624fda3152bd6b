package mock

import (
	"fmt"
	"math"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

// leastDelivered is the share of the planned events a second below which the
// client, or the machine, cannot keep up.
const leastDelivered = 0.95

// Verdict says why a calibration is not good enough for measurements whose
// times may be off by limit; empty when it is.
func Verdict(c measure.Calibration, limit time.Duration) (why string) {
	most := float64(limit) / float64(time.Millisecond)
	if limit <= 0 {
		return fmt.Sprintf("a limit of %v for the client's own error allows nothing: declare one above 0", limit)
	}
	if c.Requests < 1 || c.Events < 1 || c.Events < c.Requests {
		return fmt.Sprintf("the client was not calibrated: %d requests and %d events were compared", c.Requests, c.Events)
	}
	at := fmt.Sprintf("with %d streams of %.4g events/s", c.Streams, c.Rate)
	if !(c.Delivered >= leastDelivered) || math.IsInf(c.Delivered, 0) { // NaN fails as well
		return fmt.Sprintf("%s only %.3g %% of the planned events arrived in time: this machine is too busy or too slow "+
			"to watch so many; lower the concurrency, or measure from another machine", at, 100*c.Delivered)
	}
	for _, one := range []struct {
		name     string
		p50, p99 float64
	}{{"TTFT", c.TTFTp50, c.TTFTp99}, {"ITL", c.ITLp50, c.ITLp99}} {
		if !(one.p50 >= 0 && one.p99 >= 0) {
			return fmt.Sprintf("the client's own error of %s is not known (%v, %v ms)", one.name, one.p50, one.p99)
		}
		if one.p99 > most {
			return fmt.Sprintf("%s the client's own error of %s is %.3g ms (p99; median %.3g ms), and %.3g ms are allowed: "+
				"end what else runs on this machine, lower the concurrency, or allow more", at, one.name, one.p99, one.p50, most)
		}
	}
	return ""
}
