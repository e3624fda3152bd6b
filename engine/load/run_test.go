package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/internal/testing/must"
)

func TestClosedLoop(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Plan)
		takes  map[string]time.Duration // 1 s if not given
		want   string
	}{
		{"one at a time", func(*Plan) {}, nil, "w0@0s w1@1s m0@2s m1@3s m2@4s"},
		{"two", func(p *Plan) { p.Pace.Concurrency = 2 }, nil, "w0@0s w1@1s m0@2s m1@2s m2@3s"},
		{"two on a warm engine", func(p *Plan) {
			p.Pace.Concurrency, p.Fresh = 2, false
		}, nil, "w0@0s w1@0s m0@1s m1@1s m2@2s"},
		{"a slow one keeps its place", func(p *Plan) {
			p.Pace.Concurrency, p.Prompts.Warmup, p.Fresh = 2, nil, false
		}, map[string]time.Duration{"m0": 5 * second}, "m0@0s m1@0s m2@1s"},
		{"more places than requests", func(p *Plan) {
			p.Pace.Concurrency, p.Fresh = 100, false
		}, nil, "w0@0s w1@0s m0@1s m1@1s m2@1s"},
		{"fresh without warm-up", func(p *Plan) {
			p.Pace.Concurrency, p.Prompts.Warmup = 3, nil
		}, nil, "m0@0s m1@1s m2@1s"},
		{"for 1.5 s", func(p *Plan) { p.Pace.Duration = 1500 * time.Millisecond }, nil, "w0@0s w1@1s m0@2s m1@3s"},
		{"for a time that ends as an answer does", func(p *Plan) {
			p.Pace.Duration = second
		}, nil, "w0@0s w1@1s m0@2s"},
	} {
		synctest.Test(t, func(t *testing.T) {
			p, e := plan(), newClockwork(0)
			tt.change(&p)
			e.takes = func(r openai.Request) (time.Duration, error) { return cmp.Or(tt.takes[r.Prompt], second), nil }
			r, err := e.sends(t, p)
			if got := e.inOrder(); err != nil || got != tt.want {
				t.Errorf("%s: %s, %v\nwant %s", tt.name, got, err, tt.want)
			}
			for _, s := range r.Samples {
				if s.OpenLoop || s.Scheduled != s.Due || s.Start != s.Due || s.Err != "" {
					t.Errorf("%s: %+v", tt.name, s)
				}
			}
		})
	}
}

// A sample describes the request that was sent.
func TestSamplesSayWhatWasSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var progress []int
		p, e := plan(), newClockwork(second)
		q := &p.Request
		q.TopP, q.MinP, q.TopK, q.RepetitionPenalty, q.Temperature = 0.9, 0.1, 40, 1.1, 0.7
		p.Prompts.Measured[1].Output = 3
		p.Progress = func(done int) { progress = append(progress, done) }
		r, err := e.sends(t, p)
		must.Do(t, err)
		for i, s := range e.sent {
			want := p.Request
			want.Prompt, want.ContinuousUsage, want.MaxTokens = s.r.Prompt, true, []int{8, 8, 8, 3, 8}[i]
			if i == 0 {
				want.Timeouts = openai.Timeouts{
					Total: 10 * time.Minute, First: 10 * time.Minute,
					Stall: 10 * time.Minute,
				}
			}
			sent := s.r
			sent.Ended, sent.Heard = nil, nil
			if !reflect.DeepEqual(sent, want) {
				t.Errorf("request %d: %+v", i, s.r)
			}
			got, at := r.Samples[i], time.Duration(i)*second
			if got.Warmup != (i < 2) || got.RequestedOutput != want.MaxTokens || got.RequestedPrompt != 10 {
				t.Errorf("sample %d: %+v", i, got)
			}
			if got.Start != at || got.Due != at {
				t.Errorf("sample %d was due at %v, and sent at %v", i, got.Due, got.Start)
			}
			if got.Sent != got.Sent.Round(0) {
				t.Error("a monotonic reading is left in Sent")
			}
		}
		if r.From != 2*second || r.To != 5*second || !slices.Equal(progress, []int{1, 2, 3, 4, 5}) {
			t.Errorf("measured from %v to %v, progress %v", r.From, r.To, progress)
		}
	})
}

type streamFunc func(ctx context.Context, r openai.Request) (measure.Sample, error)

func (f streamFunc) Stream(ctx context.Context, r openai.Request) (measure.Sample, error) {
	return f(ctx, r)
}

func TestRunRefuses(t *testing.T) {
	for name, change := range map[string]func(*Plan){
		"no cell":    func(p *Plan) { p.Cell = "" },
		"no prompts": func(p *Plan) { p.Prompts.Measured = nil },
		"no output":  func(p *Plan) { p.Request.MaxTokens = 0 },
		"a pace":     func(p *Plan) { p.Pace.Concurrency = -1 },
		"a rate":     func(p *Plan) { p.Pace = Pace{Arrival: Poisson} },
	} {
		p := plan()
		change(&p)
		sent := 0
		if _, err := Run(t.Context(), streamFunc(func(context.Context, openai.Request) (measure.Sample, error) {
			sent++
			return measure.Sample{}, nil
		}), p); err == nil || sent > 0 {
			t.Errorf("%s: sent %d, error %v", name, sent, err)
		}
	}
}

// times are "scheduled/due/start" of the measured requests, in ms.
func times(r Result) string {
	var b strings.Builder
	for _, s := range r.Samples {
		if !s.Warmup && !s.Context {
			fmt.Fprintf(&b, "%d/%d/%d ", (s.Scheduled - r.From).Milliseconds(), (s.Due - r.From).Milliseconds(),
				(s.Start - r.From).Milliseconds())
		}
	}
	return strings.TrimSpace(b.String())
}

func TestOpenLoop(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Plan)
		want   string
		most   int
	}{
		{
			"slow answers delay nothing", func(*Plan) {},
			"0/0/0 500/500/500 1000/1000/1000 1500/1500/1500 2000/2000/2000",
			4,
		},
		// Answers take 1.9 s: places are free again at 1.9, 2.4, 3.8 s.
		{"a cap holds back", func(p *Plan) {
			p.Pace.MaxConcurrency = 2
		}, "0/0/0 500/500/500 1000/1900/1900 1500/2400/2400 2000/3800/3800", 2},
		{"what was scheduled in time is sent", func(p *Plan) {
			p.Pace.MaxConcurrency, p.Pace.Duration = 2, 1100*time.Millisecond
		}, "0/0/0 500/500/500 1000/1900/1900", 2},
		{"a fresh engine", func(p *Plan) {
			p.Fresh = true
		}, "0/0/0 2400/2400/2400 2900/2900/2900 3400/3400/3400 3900/3900/3900", 4},
	} {
		synctest.Test(t, func(t *testing.T) {
			p, e := plan(), newClockwork(1900*time.Millisecond)
			p.Fresh, p.Prompts = false, prompt.Prompts{Measured: numbered("m", 5)}
			p.Pace = Pace{Arrival: Constant, Rate: 2}
			tt.change(&p)
			r, err := e.sends(t, p)
			if got := times(r); err != nil || got != tt.want || e.most != tt.most {
				t.Errorf("%s: %s, %d at once, %v\nwant %s, %d at once", tt.name, got, e.most, err, tt.want, tt.most)
			}
			for _, s := range r.Samples {
				if !s.OpenLoop {
					t.Errorf("%s: %+v", tt.name, s)
				}
			}
		})
	}
}

// A trace is sent as recorded: a later turn after the answer before it, after the pause that the user made, and not
// before the time at which it was recorded.
func TestRecordedTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, e := plan(), newClockwork(2*second)
		talk := prompt.Prompt{Text: "a0", At: second, Shared: 7, Next: &prompt.Prompt{
			Text: "a1", At: second, After: second / 2, Next: &prompt.Prompt{Text: "a2", At: 9 * second, Alone: true},
		}}
		p.Prompts = prompt.Prompts{Warmup: numbered("w", 1), Measured: []prompt.Prompt{
			{Text: "m0"}, talk, {Text: "m2", At: 1250 * time.Millisecond},
		}}
		p.Pace = Pace{Arrival: Recorded}
		r, err := e.sends(t, p)
		must.Do(t, err)
		const want = "w0@0s m0@2s a0@3s m2@3.25s a0<a0>a1@5.5s a2@11s"
		if got := e.inOrder(); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
		for _, s := range r.Samples {
			first := s.Turn == 0 && s.Index == 1
			if s.Start != s.Due || s.Due != s.Scheduled || s.OpenLoop == s.Warmup || first != (s.SharedTokens == 7) {
				t.Errorf("%+v", s)
			}
		}
	})
}

// A probe's warm-ups are its first arrivals, and what is not answered when it has drained fails.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, e := plan(), newClockwork(second)
		p.Fresh, p.MaxErrors, p.Pace = false, 3, Pace{Arrival: Constant, Rate: 2, Ramp: true, Drain: 3 * second}
		e.takes = func(r openai.Request) (time.Duration, error) {
			return map[string]time.Duration{"m0": 4 * second, "m1": time.Hour}[r.Prompt], nil
		}
		r, err := e.sends(t, p)
		must.Do(t, err)
		const want = "w0@0s w1@500ms m0@1s m1@1.5s m2@2s"
		if got, took := e.inOrder(), time.Since(e.zero); got != want || took != 5*second {
			t.Errorf("%s, which took %v", got, took)
		}
		for _, s := range r.Samples {
			if cut := s.Index == 1 && !s.Warmup; cut != (s.Err == ErrUndrained.Error()) || !cut && s.Err != "" {
				t.Errorf("%+v", s)
			}
		}
	})
}

// The requests of a random process go out exactly when it says, whatever the answers do, and warm-ups
// before it go out a few at a time.
func TestOpenLoopKeepsItsSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 300
		pace := Pace{Arrival: Poisson, Rate: 100, Seed: 9}
		at, _ := pace.arrivals(n)
		e := newClockwork(100 * time.Millisecond)
		r, err := e.sends(t, Plan{
			Cell: "chat", Prompts: prompt.Prompts{Warmup: numbered("w", 10), Measured: numbered("m", n)},
			Request: openai.Request{MaxTokens: 4}, Pace: pace, Fresh: true,
		})
		if err != nil || len(r.Samples) != n+10 || r.Samples[0].OpenLoop {
			t.Fatalf("%d samples, %v", len(r.Samples), err)
		}
		for i, s := range r.Samples[10:] {
			if s.Index != i || s.Scheduled-r.From != at[i] || s.Due != s.Scheduled || s.Start != s.Due {
				t.Fatalf("request %d at %v: %+v", i, at[i], s)
			}
		}
		for i, s := range e.sent[:10] {
			if s.inFlight > max(1, min(i, 4)) || s.at == 0 && i > 0 {
				t.Errorf("warm-up %d with %d in flight at %v", i, s.inFlight, s.at)
			}
		}
	})
}

// Whoever reads late finds the events of a stream in one piece: each answer says how late
// the client was meanwhile, also if that lies between two of the delays that are recorded.
func TestAnswersSayHowLateTheyWereRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		zero := time.Now()
		p := plan()
		p.Prompts.Warmup = nil
		// It wakes late at one time, as the whole client does while another program has its processor.
		r, err := run(t.Context(), newClockwork(second), p, func(ctx context.Context, at time.Time) bool {
			from := zero.Add(1501 * time.Millisecond)
			if to := from.Add(6 * time.Millisecond); at.After(from) && at.Before(to) {
				at = to
			}
			return timerUntil(ctx, at)
		})
		if err != nil || len(r.Samples) != 3 {
			t.Fatal(err, len(r.Samples))
		}
		for i, want := range []time.Duration{0, 5 * time.Millisecond, 0} {
			if got := r.Samples[i].Late; got != want {
				t.Errorf("answer %d was read %v late, want %v", i, got, want)
			}
		}
		if len(r.Delay.Value) < 290 || slices.Max(r.Delay.Value) > 5 {
			t.Errorf("%d delays, the longest %v ms", len(r.Delay.Value), slices.Max(r.Delay.Value))
		}
	})
}

// On the real clock, sleeping never ends early, and ends when cancelled.
func TestSleepUntil(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	for name, sleep := range map[string]sleeper{"kernel": sleepUntil, "timer": timerUntil} {
		for _, d := range []time.Duration{
			-time.Second, 0, time.Microsecond, 3 * time.Millisecond,
			12345 * time.Microsecond,
		} {
			at := time.Now().Add(d)
			if !sleep(ctx, at) || time.Now().Before(at) {
				t.Errorf("%s: woken before %v were over", name, d)
			}
		}
		done := make(chan bool)
		go func() { done <- sleep(ctx, time.Now().Add(time.Hour)) }()
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
		Cell: "chat", Prompts: prompt.Prompts{Measured: numbered("m", 50)}, Request: openai.Request{MaxTokens: 1},
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

func TestFailuresEndTheRun(t *testing.T) {
	broken := errors.New("engine died")
	for _, tt := range []struct {
		name, failing          string
		concurrency, maxErrors int
		want                   string // the error
		samples                int
		failed                 []int // of the samples
		to                     time.Duration
	}{
		{"a request", "m1", 0, 0, "cell chat, request 1", 4, []int{3}, 3500 * time.Millisecond},
		{"a warm-up", "w1", 0, 0, "warm-up 1", 2, []int{1}, 0},
		// Requests in flight are cancelled, and say so.
		{"one of three", "m1", 3, 0, "request 1", 5, []int{2, 3, 4}, 2500 * time.Millisecond},
		{"one that may fail", "m1", 0, 1, "", 5, []int{3}, 4500 * time.Millisecond},
		{"one more than may", "m0 m1", 0, 1, "request 1", 4, []int{2, 3}, 3 * second},
	} {
		synctest.Test(t, func(t *testing.T) {
			p, e := plan(), newClockwork(0)
			p.Pace.Concurrency, p.MaxErrors = tt.concurrency, tt.maxErrors
			e.takes = func(r openai.Request) (time.Duration, error) {
				if slices.Contains(strings.Fields(tt.failing), r.Prompt) {
					return second / 2, broken
				}
				return second, nil
			}
			r, err := e.sends(t, p)
			if errors.Is(err, broken) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v", tt.name, err)
			}
			if len(r.Samples) != tt.samples || e.inFlight != 0 || tt.to > 0 && r.To != tt.to || tt.to == 0 &&
				r.From != r.To {
				t.Errorf("%s: %d samples, %d in flight, to %v after %s", tt.name, len(r.Samples), e.inFlight,
					r.To, e.order())
			}
			for i, s := range r.Samples {
				if (s.Err != "") != slices.Contains(tt.failed, i) {
					t.Errorf("%s: sample %d says %q", tt.name, i, s.Err)
				}
			}
		})
	}
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
			r, err := run(ctx, e, p, timerUntil)
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

func TestRetries(t *testing.T) {
	busy := func(status int, after time.Duration) error {
		return &openai.StatusError{Method: "POST", Path: "/v1/completions", Status: status, RetryAfter: after}
	}
	for _, tt := range []struct {
		name    string
		retries int
		refuse  []error // in order, each after 1 s
		limit   time.Duration
		want    int           // retries made
		at      time.Duration // of the event, since the first send
		status  int
	}{
		{name: "not put off", retries: 2, at: second},
		{name: "once", retries: 2, refuse: []error{busy(429, 3*second)}, want: 1, at: 5 * second},
		{name: "twice", retries: 2, refuse: []error{busy(503, 3*second), busy(429, second)}, want: 2, at: 7 * second},
		{name: "too often", retries: 1, refuse: []error{busy(503, second), busy(429, second)}, want: 1, status: 429},
		{name: "never allowed", refuse: []error{busy(503, second)}, status: 503},
		{name: "not asked to", retries: 2, refuse: []error{busy(503, 0)}, status: 503},
		{name: "another status", retries: 2, refuse: []error{busy(500, second)}, status: 500},
		{
			name: "longer than the limit", retries: 2, refuse: []error{busy(429, 9*second)},
			limit: 10 * second, status: 429,
		},
		{
			name: "within the limit", retries: 2, refuse: []error{busy(429, 8*second)}, limit: 10 * second, want: 1,
			at: 10 * second,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			e := newClockwork(second)
			e.takes = func(openai.Request) (time.Duration, error) {
				if n := len(e.sent); n <= len(tt.refuse) {
					return second, tt.refuse[n-1]
				}
				return second, nil
			}
			r, err := e.sends(t, Plan{
				Cell: "chat", Retries: tt.retries, MaxErrors: 1, Prompts: prompt.Prompts{Measured: numbered("m", 1)},
				Request: openai.Request{MaxTokens: 5, Timeouts: openai.Timeouts{Total: tt.limit}},
			})
			if err != nil || len(r.Samples) != 1 {
				t.Fatalf("%s: %v, %+v", tt.name, err, r.Samples)
			}
			s := r.Samples[0]
			if s.Retries != tt.want || s.Status != tt.status || s.Start != 0 || (s.Err == "") != (tt.status == 0) ||
				len(e.sent) != tt.want+1 {
				t.Errorf("%s: %d sent, %+v", tt.name, len(e.sent), s)
			}
			if tt.status == 0 && (s.Events[0].At != tt.at || r.To != tt.at) {
				t.Errorf("%s: answered at %v, to %v, want %v", tt.name, s.Events[0].At, r.To, tt.at)
			}
			for _, sent := range e.sent {
				if left := sent.r.Timeouts.Total; tt.limit > 0 && left != tt.limit-sent.at {
					t.Errorf("%s: sent at %v with a limit of %v", tt.name, sent.at, left)
				}
			}
		})
	}
	// A wait is cancelled like a request.
	synctest.Test(t, func(t *testing.T) {
		e := newClockwork(0)
		e.takes = func(r openai.Request) (time.Duration, error) {
			if r.Prompt == "m0" {
				return second, busy(429, time.Hour)
			}
			return 2 * second, errors.New("engine died")
		}
		r, err := e.sends(t, Plan{
			Cell: "chat", Request: openai.Request{MaxTokens: 5}, Retries: 3, Pace: Pace{Concurrency: 2},
			Prompts: prompt.Prompts{Measured: numbered("m", 2)},
		})
		if err == nil || !strings.Contains(err.Error(), "request 1") || time.Since(e.zero) != 2*second ||
			r.Samples[0].Status != 429 {
			t.Errorf("%v after %v: %+v", err, time.Since(e.zero), r.Samples)
		}
	})
}

// Requests that the client itself sent again are counted together with those that the engine deferred.
func TestRequestsThatTheClientSentAgain(t *testing.T) {
	resends := func(_ context.Context, r openai.Request) (measure.Sample, error) {
		return measure.Sample{
			Sent: time.Now(), RequestedOutput: r.MaxTokens, Retries: 1,
			Events: []measure.Event{{Kind: measure.KindText}},
		}, nil
	}
	p := Plan{Cell: "chat", Request: openai.Request{MaxTokens: 1}, Prompts: prompt.Prompts{Measured: numbered("m", 1)}}
	got, err := Run(t.Context(), streamFunc(resends), p)
	if err != nil || len(got.Samples) != 1 || got.Samples[0].Retries != 1 {
		t.Errorf("%v, %+v", err, got.Samples)
	}
}

const second = time.Second

func numbered(prefix string, n int) []prompt.Prompt {
	prompts := make([]prompt.Prompt, n)
	for i := range prompts {
		prompts[i] = prompt.Prompt{Text: fmt.Sprint(prefix, i), Tokens: 10}
	}
	return prompts
}

func plan() Plan {
	return Plan{
		Cell: "chat", Prompts: prompt.Prompts{Warmup: numbered("w", 2), Measured: numbered("m", 3)},
		Request: openai.Request{
			MaxTokens: 8, IgnoreEOS: true,
			Timeouts: openai.Timeouts{Total: time.Minute, Stall: time.Second},
		},
		Fresh: true, FirstTimeout: 10 * time.Minute,
	}
}

// sending is one request as an engine saw it.
type sending struct {
	at       time.Duration
	inFlight int // with this one
	r        openai.Request
}

// clockwork is an engine in a bubble of fake time: every answer is one event after takes, and may fail.
type clockwork struct {
	takes func(r openai.Request) (time.Duration, error)
	// answer changes the sample of an answer, if set.
	answer func(r openai.Request, s *measure.Sample)

	mu             sync.Mutex
	zero           time.Time
	inFlight, most int
	sent           []sending
}

func newClockwork(takes time.Duration) *clockwork {
	return &clockwork{zero: time.Now(), takes: func(openai.Request) (time.Duration, error) { return takes, nil }}
}

func (e *clockwork) Stream(ctx context.Context, r openai.Request) (measure.Sample, error) {
	e.mu.Lock()
	e.inFlight++
	e.most = max(e.most, e.inFlight)
	e.sent = append(e.sent, sending{time.Since(e.zero), e.inFlight, r})
	takes, err := e.takes(r)
	e.mu.Unlock()
	s := measure.Sample{
		Sent: time.Now(), PromptTokens: -1, OutputTokens: r.MaxTokens, CachedTokens: -1,
		Text: "<" + r.Prompt + ">",
	}
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		err = ctx.Err()
	}
	e.mu.Lock()
	e.inFlight--
	e.mu.Unlock()
	if err != nil {
		return s, err
	}
	s.Events = []measure.Event{{At: takes, Kind: measure.KindText, Tokens: r.MaxTokens}}
	if e.answer != nil {
		e.answer(r, &s)
	}
	return s, nil
}

// order is what was sent and when, such as "w0@0s w1@1s".
func (e *clockwork) order() string {
	var b strings.Builder
	for _, s := range e.sent {
		fmt.Fprintf(&b, "%s@%v ", s.r.Prompt, s.at)
	}
	return strings.TrimSpace(b.String())
}

// sends runs a plan against the engine, in a bubble of fake time.
func (e *clockwork) sends(t *testing.T, p Plan) (Result, error) {
	return run(t.Context(), e, p, timerUntil)
}

// inOrder is order, of what was sent at the same time by name.
func (e *clockwork) inOrder() string {
	slices.SortStableFunc(e.sent, func(a, b sending) int {
		return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.r.Prompt, b.r.Prompt))
	})
	return e.order()
}

// deferring answers at once, and returns an answer only when all have ended.
type deferring struct {
	ended chan struct{}
	all   int
}

func (d *deferring) Stream(_ context.Context, r openai.Request) (measure.Sample, error) {
	s := measure.Sample{Sent: time.Now(), Events: []measure.Event{{At: time.Millisecond}}}
	r.Ended()
	d.ended <- struct{}{}
	for len(d.ended) < d.all {
		time.Sleep(time.Millisecond)
	}
	return s, nil
}

// A slot is free, and a request counted, at the end of its answer: decoding it comes later.
func TestSlotIsFreeBeforeDecoding(t *testing.T) {
	p := plan()
	p.Prompts.Warmup, p.Fresh, p.Pace.Concurrency = nil, false, 1
	all := len(p.Prompts.Measured)
	done := 0
	p.Progress = func(n int) { done = n }
	r, err := Run(t.Context(), &deferring{make(chan struct{}, all), all}, p)
	if err != nil || len(r.Samples) != all || done != all {
		t.Errorf("%d samples of %d, %d counted, %v", len(r.Samples), all, done, err)
	}
}

// holding is an engine whose answers are decoded when they are released.
type holding struct {
	sent     atomic.Int32
	before   int32 // how many were sent before that
	released chan struct{}
}

func (h *holding) Hold() func() {
	return func() { h.before = h.sent.Load(); close(h.released) }
}

func (h *holding) Stream(_ context.Context, r openai.Request) (measure.Sample, error) {
	h.sent.Add(1)
	s := measure.Sample{Sent: time.Now(), Events: []measure.Event{{At: time.Millisecond}}}
	r.Ended()
	<-h.released
	return s, nil
}

// Nothing is decoded while requests are to be sent at their time.
func TestSendsBeforeDecoding(t *testing.T) {
	p := plan()
	p.Prompts.Warmup, p.Fresh = nil, false
	p.Pace = Pace{Arrival: Constant, Rate: 2000, MaxConcurrency: 1} // each end lets the next one go
	all := len(p.Prompts.Measured)
	h := &holding{released: make(chan struct{})}
	r, err := Run(t.Context(), h, p)
	if err != nil || len(r.Samples) != all || int(h.before) < all-1 { // the last may just be sent
		t.Errorf("%d samples of %d, %d sent before any was decoded, %v", len(r.Samples), all, h.before, err)
	}
}
