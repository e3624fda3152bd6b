package mock

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

// Errors are how far a client's times are from the server's, as absolute
// differences in ms, in ascending order.
type Errors struct {
	// TTFT has a value a request: the client's time to the first text against the
	// time from the arrival of the request to the send of that text. As in every
	// metric, the client's time counts from the schedule in an open loop.
	TTFT []float64
	// ITL has a value for each two events: the client's gap against the server's.
	ITL []float64
	// Requests and Events were compared. ClientSpan and ServerSpan are the times
	// from the first to the last event, summed over requests, and Gaps how many
	// gaps between events these hold.
	Requests, Events, Gaps int
	ClientSpan, ServerSpan time.Duration
}

// Compare finds for each sample the truth whose ID name gives, and compares
// them event by event. It is an error when a sample failed, has no truth, or
// has other events than were sent: nothing is left out of the account.
func Compare(samples []measure.Sample, truths []Truth, name func(measure.Sample) string) (Errors, error) {
	byID := make(map[string]Truth, len(truths))
	for _, t := range truths {
		byID[t.ID] = t
	}
	var e Errors
	for _, s := range samples {
		id := name(s)
		t, ok := byID[id]
		switch {
		case s.Err != "":
			return Errors{}, fmt.Errorf("request %q failed: %s", id, s.Err)
		case !ok:
			return Errors{}, fmt.Errorf("the mock server knows of no request %q", id)
		}
		lag := time.Duration(0)
		if s.OpenLoop {
			lag = s.Start - s.Scheduled
		}
		if err := e.add(s.Events, lag, t); err != nil {
			return Errors{}, fmt.Errorf("request %q: %w", id, err)
		}
	}
	slices.Sort(e.TTFT)
	slices.Sort(e.ITL)
	return e, nil
}

// add compares one answer, whose request was sent lag after it should have been.
func (e *Errors) add(events []measure.Event, lag time.Duration, t Truth) error {
	i := 0
	var first, before time.Duration
	for _, seen := range events {
		if seen.Kind != measure.KindText {
			continue
		}
		switch {
		case i >= len(t.Sent):
			return fmt.Errorf("the client saw more than the %d events that were sent", len(t.Sent))
		case i == 0:
			first = seen.At
			e.TTFT = append(e.TTFT, off(lag+seen.At-t.TTFT()))
		default:
			e.ITL = append(e.ITL, off(seen.At-before-time.Duration(t.Sent[i]-t.Sent[i-1])))
		}
		before = seen.At
		i++
	}
	if i != len(t.Sent) || i == 0 {
		return fmt.Errorf("the client saw %d events of %d that were sent", i, len(t.Sent))
	}
	e.Requests++
	e.Events += i
	e.Gaps += i - 1
	e.ClientSpan += before - first
	e.ServerSpan += time.Duration(t.Sent[i-1] - t.Sent[0])
	return nil
}

func off(d time.Duration) float64 { return math.Abs(float64(d)) / float64(time.Millisecond) }
