package load

import (
	"errors"
	"fmt"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
)

// talk sends the requests of one conversation, each when the one before it has
// been answered: the user takes no time to think.
func (r *runner) talk(j job, scheduled, due time.Time) {
	var said history
	prompt := j.prompt
	if j.context {
		alone, _ := prompt.ContextAlone()
		alone.Output, alone.Asked = 1, alone.Tokens
		prompt = &alone
	}
	for turn := 0; prompt != nil; turn++ {
		request := r.plan.request(prompt, r.takeFirst())
		said.ask(prompt, &request)
		s, ended, err := r.ask(request)
		s.Workload, s.Index, s.Warmup, s.Context, s.Turn = r.plan.Cell, j.index, j.warmup, j.context, turn
		s.OpenLoop = r.plan.Pace.Open() && !j.warmup && !j.context
		s.Scheduled, s.Due = r.since(scheduled), r.since(due)
		s.RequestedOutput, s.RequestedPrompt = request.MaxTokens, prompt.Asked
		s.ContextTokens = said.context(prompt, turn, s)
		if !r.keep(s, r.since(ended), err) {
			return
		}
		if prompt.Next == nil || r.stopped() || r.over(j, true) {
			return
		}
		said.answered(prompt, request, s)
		prompt = prompt.Next
		scheduled, due = ended, ended
	}
}

// ask sends a request until it is answered or not put off any more. Times in the
// sample are since the first send; ended is when the last event came, or when
// the request had failed.
func (r *runner) ask(request openai.Request) (s measure.Sample, ended time.Time, err error) {
	limits := request.Timeouts
	var sent, wall time.Time
	for retries := 0; ; retries++ {
		before := time.Now()
		s, err = r.engine.Stream(r.ctx, request)
		now := time.Now()
		start := startOf(s, before)
		if retries == 0 {
			sent, wall = start, s.Sent.Round(0)
		}
		if err != nil && retries < r.plan.Retries && r.wait(err, limits, sent, &request.Timeouts) {
			continue
		}
		shift := start.Sub(sent)
		for i := range s.Events {
			s.Events[i].At += shift
		}
		s.Start, s.Sent, s.Retries = r.since(sent), wall, s.Retries+retries
		if err == nil && s.Err != "" {
			err = errors.New(s.Err)
		}
		ended = now
		if err != nil {
			s.Err = err.Error()
			var status *openai.StatusError
			if errors.As(err, &status) {
				s.Status = status.Status
			}
		} else if n := len(s.Events); n > 0 {
			ended = sent.Add(s.Events[n-1].At)
		}
		return s, ended, err
	}
}

// startOf is the send of a request on the monotonic clock: the client's own
// reading where Sent has one, since building a long request takes time that its
// events do not count, and otherwise the moment before it was asked.
func startOf(s measure.Sample, before time.Time) time.Time {
	if monotonic := s.Sent != s.Sent.Round(0); monotonic { //nolint:staticcheck // the very reading is asked for
		return s.Sent
	}
	return before
}

// keep takes in one request. It reports whether its conversation may go on.
func (r *runner) keep(s measure.Sample, ended time.Duration, err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.samples = append(r.samples, s)
	if s.Measured() {
		if !r.measuring {
			r.measuring, r.from, r.to = true, s.Due, ended
		}
		r.from, r.to = min(r.from, s.Due), max(r.to, ended)
	}
	if err != nil {
		r.failed++
		switch {
		case r.err != nil: // what was cancelled because of it
		case r.parent.Err() != nil:
			r.err = r.parent.Err()
		case r.failed > r.plan.MaxErrors:
			r.err = fmt.Errorf("cell %s, %s: %w", s.Workload, name(s), err)
			r.cancel(r.err)
		}
		return false
	}
	r.done++
	if r.plan.Progress != nil {
		r.plan.Progress(Progress{Cell: r.plan.Cell, Done: r.done, Total: r.total, Sample: s})
	}
	return true
}

// name is what a request is called in messages: "request 3", "context of
// warm-up 0", "request 3, turn 1".
func name(s measure.Sample) string {
	word := fmt.Sprintf("request %d", s.Index)
	if s.Warmup {
		word = fmt.Sprintf("warm-up %d", s.Index)
	}
	switch {
	case s.Context:
		return "context of " + word
	case s.Turn > 0:
		return fmt.Sprintf("%s, turn %d", word, s.Turn)
	}
	return word
}
