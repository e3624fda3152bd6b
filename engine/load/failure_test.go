package load

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
)

func TestFailuresEndTheRun(t *testing.T) {
	broken := errors.New("engine died")
	failing := func(names ...string) func() *clockwork {
		return func() *clockwork {
			e := newClockwork(0)
			e.takes = func(r openai.Request) (time.Duration, error) {
				if slices.Contains(names, r.Prompt) {
					return second / 2, broken
				}
				return second, nil
			}
			return e
		}
	}
	inBubble(t, plan, failing("m1"), func(t *testing.T, e *clockwork, r Result, err error) {
		if !errors.Is(err, broken) || !strings.Contains(err.Error(), "cell chat, request 1") {
			t.Errorf("error %v", err)
		}
		if len(r.Samples) != 4 || r.Samples[3].Err != "engine died" || r.Samples[3].Index != 1 || r.To != 3500*time.Millisecond {
			t.Errorf("%+v", r)
		}
	})
	inBubble(t, plan, failing("w1"), func(t *testing.T, e *clockwork, r Result, err error) {
		if err == nil || !strings.Contains(err.Error(), "warm-up 1") || len(e.sent) != 2 || r.From != r.To {
			t.Errorf("%v after %s", err, e.order())
		}
	})
	// What is in flight is cancelled, and says so.
	inBubble(t, func() Plan {
		p := plan()
		p.Pace.Concurrency = 3
		return p
	}, failing("m1"), func(t *testing.T, e *clockwork, r Result, err error) {
		if !errors.Is(err, broken) || len(r.Samples) != 5 || e.inFlight != 0 {
			t.Errorf("%v, %d samples, %d in flight", err, len(r.Samples), e.inFlight)
		}
		for _, s := range r.Samples[2:] {
			if s.Err == "" {
				t.Errorf("request %d is said to be whole", s.Index)
			}
		}
	})
	// Some may fail, and are kept.
	some := func() Plan {
		p := plan()
		p.MaxErrors = 1
		return p
	}
	inBubble(t, some, failing("m1"), func(t *testing.T, e *clockwork, r Result, err error) {
		if err != nil || len(r.Samples) != 5 || r.Samples[3].Err == "" || r.Samples[4].Err != "" {
			t.Errorf("%v, %+v", err, r.Samples)
		}
	})
	inBubble(t, some, failing("m0", "m1"), func(t *testing.T, e *clockwork, r Result, err error) {
		if !errors.Is(err, broken) || len(r.Samples) != 4 {
			t.Errorf("%v, %d samples", err, len(r.Samples))
		}
	})
}

func TestCancelled(t *testing.T) {
	for _, open := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			p := plan()
			p.Pace.Concurrency = 2
			if open {
				p.Pace = Pace{Arrival: Constant, Rate: 0.1}
			}
			e := newClockwork(3 * second)
			time.AfterFunc(7*second, cancel)
			r, err := run(ctx, e, p, newTimerAlarm)
			if !errors.Is(err, context.Canceled) || e.inFlight != 0 || time.Since(e.zero) != 7*second {
				t.Errorf("open %v: %v after %v with %d in flight", open, err, time.Since(e.zero), e.inFlight)
			}
			want := map[bool]int{false: 4, true: 3}[open]
			if len(r.Samples) != want {
				t.Errorf("open %v: %d samples, want %d", open, len(r.Samples), want)
			}
		})
	}
	// Between two requests.
	ctx, cancel := context.WithCancel(t.Context())
	r, err := Run(ctx, streamFunc(func(context.Context, openai.Request) (measure.Sample, error) {
		cancel()
		return measure.Sample{}, nil
	}), plan())
	if !errors.Is(err, context.Canceled) || len(r.Samples) != 1 {
		t.Errorf("cancelled: %d samples, %v", len(r.Samples), err)
	}
}
