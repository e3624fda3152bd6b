package load

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
)

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
		Request: openai.Request{MaxTokens: 8, IgnoreEOS: true, Timeouts: openai.Timeouts{Total: time.Minute, Stall: time.Second}},
		Fresh:   true, FirstTimeout: 10 * time.Minute,
	}
}

// sending is one request as an engine saw it.
type sending struct {
	at       time.Duration
	inFlight int // with this one
	r        openai.Request
}

// clockwork is an engine in a bubble of fake time: every answer is one event after takes,
// and may fail.
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
	s := measure.Sample{Sent: time.Now(), PromptTokens: -1, OutputTokens: r.MaxTokens, CachedTokens: -1, Text: "<" + r.Prompt + ">"}
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

// inBubble runs a plan against an engine on a fake clock.
func inBubble(t *testing.T, p func() Plan, engine func() *clockwork, check func(t *testing.T, e *clockwork, r Result, err error)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e := engine()
		r, err := run(t.Context(), e, p(), timerUntil)
		check(t, e, r, err)
	})
}
