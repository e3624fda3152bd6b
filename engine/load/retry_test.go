package load

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/openai"
)

func TestRetries(t *testing.T) {
	busy := func(status int, after time.Duration) error {
		return &openai.StatusError{Method: "POST", Path: "/v1/completions", Status: status, RetryAfter: after}
	}
	tests := []struct {
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
		{name: "longer than the limit", retries: 2, refuse: []error{busy(429, 9*second)}, limit: 10 * second, status: 429},
		{name: "within the limit", retries: 2, refuse: []error{busy(429, 8*second)}, limit: 10 * second, want: 1, at: 10 * second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func() Plan {
				return Plan{
					Cell: "chat", Requests: 1, OutputTokens: 5, Retries: tt.retries, RequestTimeout: tt.limit, MaxErrors: 1,
					Prompts: prompt.Prompts{Measured: numbered("m", 1)},
				}
			}, func() *clockwork {
				e, n := newClockwork(0), 0
				e.takes = func(r openai.Request) (time.Duration, error) {
					if n++; n <= len(tt.refuse) {
						return second, tt.refuse[n-1]
					}
					return second, nil
				}
				return e
			}, func(t *testing.T, e *clockwork, r Result, err error) {
				if err != nil || len(r.Samples) != 1 {
					t.Fatalf("%v, %+v", err, r.Samples)
				}
				s := r.Samples[0]
				if s.Retries != tt.want || s.Status != tt.status || s.Start != 0 || (s.Err == "") != (tt.status == 0) || len(e.sent) != tt.want+1 {
					t.Errorf("%d sent, %+v", len(e.sent), s)
				}
				if tt.status == 0 && (s.Events[0].At != tt.at || r.To != tt.at) {
					t.Errorf("answered at %v, to %v, want %v", s.Events[0].At, r.To, tt.at)
				}
				for _, sent := range e.sent {
					if left := sent.r.Timeouts.Total; tt.limit > 0 && left != tt.limit-sent.at {
						t.Errorf("sent at %v with a limit of %v", sent.at, left)
					}
				}
			})
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
		p := Plan{
			Cell: "chat", Requests: 2, OutputTokens: 5, Retries: 3, Prompts: prompt.Prompts{Measured: numbered("m", 2)},
			Pace: Pace{Concurrency: 2},
		}
		r, err := run(t.Context(), e, p, newTimerAlarm)
		if err == nil || !strings.Contains(err.Error(), "request 1") || time.Since(e.zero) != 2*second || r.Samples[0].Status != 429 {
			t.Errorf("%v after %v: %+v", err, time.Since(e.zero), r.Samples)
		}
	})
}
