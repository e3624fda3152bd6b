package load

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
)

// times are "scheduled/due/start" of the measured requests, in ms.
func times(r Result) string {
	var b strings.Builder
	for _, s := range r.Samples {
		if !s.Warmup && !s.Context {
			fmt.Fprintf(&b, "%d/%d/%d ", (s.Scheduled - r.From).Milliseconds(), (s.Due - r.From).Milliseconds(), (s.Start - r.From).Milliseconds())
		}
	}
	return strings.TrimSpace(b.String())
}

func TestOpenLoop(t *testing.T) {
	traced := func(p *Plan, at ...time.Duration) {
		p.Pace.Arrival = Trace
		for i := range at {
			p.Prompts.Measured[i].At = at[i]
		}
	}
	tests := []struct {
		name   string
		change func(*Plan)
		want   string
		most   int
	}{
		{"slow answers delay nothing", func(p *Plan) {}, "0/0/0 500/500/500 1000/1000/1000 1500/1500/1500 2000/2000/2000", 4},
		// Answers take 1.9 s: places are free again at 1.9, 2.4, 3.8 s.
		{"a cap holds back", func(p *Plan) { p.Pace.MaxConcurrency = 2 }, "0/0/0 500/500/500 1000/1900/1900 1500/2400/2400 2000/3800/3800", 2},
		{"what was scheduled in time is sent", func(p *Plan) { p.Pace.MaxConcurrency, p.Pace.Duration = 2, 1100*time.Millisecond }, "0/0/0 500/500/500 1000/1900/1900", 2},
		{"a trace", func(p *Plan) { traced(p, second, second, 4*second, 4*second, 9*second) }, "0/0/0 0/0/0 3000/3000/3000 3000/3000/3000 8000/8000/8000", 2},
		{"a fresh engine", func(p *Plan) { p.Fresh = true }, "0/0/0 2400/2400/2400 2900/2900/2900 3400/3400/3400 3900/3900/3900", 4},
		{
			"a fresh engine and a trace", func(p *Plan) { p.Fresh = true; traced(p, second, 2*second, 2*second, 2*second, 3*second) },
			"0/0/0 2900/2900/2900 2900/2900/2900 2900/2900/2900 3900/3900/3900", 4,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func() Plan {
				p := plan()
				p.Warmup, p.Requests, p.Fresh = 0, 5, false
				p.Prompts.Measured = numbered("m", 5)
				p.Pace = Pace{Arrival: Constant, Rate: 2}
				tt.change(&p)
				return p
			}, func() *clockwork { return newClockwork(1900 * time.Millisecond) }, func(t *testing.T, e *clockwork, r Result, err error) {
				if got := times(r); err != nil || got != tt.want || e.most != tt.most {
					t.Errorf("%s, %d at once, %v\nwant %s, %d at once", got, e.most, err, tt.want, tt.most)
				}
				for _, s := range r.Samples {
					if !s.OpenLoop {
						t.Errorf("%+v", s)
					}
				}
			})
		})
	}
}

// The requests of a random process go out exactly when it says, whatever the
// answers do, and warm-ups before it go a few at a time.
func TestOpenLoopKeepsItsSchedule(t *testing.T) {
	const n = 300
	pace := Pace{Arrival: Gamma, Rate: 50, RateTo: 200, Burstiness: 0.4, Seed: 9}
	inBubble(t, func() Plan {
		return Plan{
			Cell: "chat", Prompts: prompt.Prompts{Warmup: numbered("w", 10), Measured: numbered("m", n)},
			Warmup: 10, Requests: n, OutputTokens: 4, Pace: pace, Fresh: true,
		}
	}, func() *clockwork { return newClockwork(100 * time.Millisecond) }, func(t *testing.T, e *clockwork, r Result, err error) {
		at, _ := pace.arrivals(n)
		if err != nil || len(r.Samples) != n+10 {
			t.Fatalf("%d samples, %v", len(r.Samples), err)
		}
		for i, s := range r.Samples[10:] {
			if s.Index != i || s.Scheduled-r.From != at[i] || s.Due != s.Scheduled || s.Start != s.Due {
				t.Fatalf("request %d at %v: %+v", i, at[i], s)
			}
		}
		for i, s := range e.sent[:10] {
			want := min(i, 4)
			if i == 0 {
				want = 1
			}
			if s.inFlight > max(want, 1) || s.at == 0 && i > 0 {
				t.Errorf("warm-up %d with %d in flight at %v", i, s.inFlight, s.at)
			}
		}
		if r.Samples[0].OpenLoop {
			t.Error("warm-ups have no schedule")
		}
	})
}

// Thousands of requests at once are this package's smallest worry, and it sees
// that its clock was late.
func TestManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 2000
		e := newClockwork(second)
		p := Plan{
			Cell: "chat", Prompts: prompt.Prompts{Measured: numbered("m", 3*n)}, Requests: 3 * n, OutputTokens: 1,
			Pace: Pace{Concurrency: n},
		}
		r, err := run(t.Context(), e, p, newTimerAlarm)
		if err != nil || e.most != n || len(r.Samples) != 3*n || r.To-r.From != 3*second {
			t.Errorf("%v: %d at once, %d samples, %v", err, e.most, len(r.Samples), r.To-r.From)
		}
		if d := r.Delay; d.Name != measure.ClientDelay || len(d.At) < 290 || len(d.Value) != len(d.At) || d.At[0] != 10*time.Millisecond {
			t.Errorf("%d readings of the client's delay", len(d.At))
		}
	})
}

// The kernel's alarm on the real clock: never early, and woken when cancelled.
func TestAlarm(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	for name, a := range map[string]alarm{"kernel": newAlarm(ctx), "timer": newTimerAlarm(ctx)} {
		for _, d := range []time.Duration{-time.Second, 0, time.Microsecond, 3 * time.Millisecond, 12345 * time.Microsecond} {
			at := time.Now().Add(d)
			if !a.until(at) || time.Now().Before(at) {
				t.Errorf("%s: woken before %v were over", name, d)
			}
		}
		defer a.close()
		done := make(chan bool)
		go func() { done <- a.until(time.Now().Add(time.Hour)) }()
		defer func() {
			if <-done {
				t.Errorf("%s: an hour has passed", name)
			}
		}()
	}
	cancel()
}

// Over the real clock and the real alarm, requests are sent after they are due.
func TestOpenLoopOnTheRealClock(t *testing.T) {
	p := Plan{
		Cell: "chat", Prompts: prompt.Prompts{Measured: numbered("m", 50)}, Requests: 50, OutputTokens: 1,
		Pace: Pace{Arrival: Poisson, Rate: 500}, Zero: time.Now().Add(-time.Hour),
	}
	r, err := Run(t.Context(), streamFunc(func(_ context.Context, r openai.Request) (measure.Sample, error) {
		return measure.Sample{Sent: time.Now(), Events: []measure.Event{{At: 1}}}, nil
	}), p)
	if err != nil || len(r.Samples) != 50 || r.From < time.Hour || r.To < r.From {
		t.Fatalf("%v, %d samples from %v to %v", err, len(r.Samples), r.From, r.To)
	}
	for _, s := range r.Samples {
		if s.Start < s.Due || s.Due != s.Scheduled {
			t.Errorf("%+v", s)
		}
	}
	for _, late := range r.Delay.Value {
		if late < 0 || math.IsNaN(late) {
			t.Errorf("woken %v ms late", late)
		}
	}
}
