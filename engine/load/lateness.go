package load

import (
	"slices"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

// Lateness is how much later the measuring client did things than it meant to.
type Lateness struct {
	// Over so many of Of were later than the limit.
	Over, Of int
	// P99 is the 99th percentile by the estimator of all other percentiles, which
	// among fewer than about 70 values is the largest; Max the largest.
	P99, Max time.Duration
	// Late says that P99 is beyond the limit, and not by a single value: the
	// machine hiccups once in a while, and a client that cannot keep up is late
	// again and again. It is false for no values at all: then nothing is known, and
	// Of is 0.
	Late bool
}

// Lag is how late the client sent the measured requests of an open loop, failed
// ones included, after they were due: the schedule and the cap on concurrency
// would have let them go, and the client did not. A closed loop has no
// schedule to lag behind; there Delayed tells a client that cannot keep up.
func Lag(samples []measure.Sample, limit time.Duration) Lateness {
	var late []float64
	for _, s := range samples {
		if s.OpenLoop && s.Measured() {
			late = append(late, float64(s.Start-s.Due))
		}
	}
	return lateness(late, limit)
}

// Delayed is how much later the client was woken than it asked to be, between
// two times on the recording's clock, by the series measure.ClientDelay.
func Delayed(delay measure.Series, from, to, limit time.Duration) Lateness {
	var late []float64
	for i, at := range delay.At {
		if at >= from && at <= to {
			late = append(late, delay.Value[i]*float64(time.Millisecond))
		}
	}
	return lateness(late, limit)
}

func lateness(late []float64, limit time.Duration) Lateness {
	found := Lateness{Of: len(late)}
	if found.Of == 0 {
		return found
	}
	slices.Sort(late)
	for _, l := range late {
		if l > float64(limit) {
			found.Over++
		}
	}
	found.P99 = time.Duration(measure.Quantile(late, 0.99))
	found.Max = time.Duration(late[len(late)-1])
	found.Late = found.P99 > limit && found.Over > 1
	return found
}
