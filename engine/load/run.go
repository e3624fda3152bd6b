package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
)

// Result is the result of a run of one cell.
type Result struct {
	// Samples are all requests in the order in which they were due.
	Samples []measure.Sample
	// From is when the first measured request was due and To when the last one had ended,
	// since Plan.Zero. Both are the same if none was sent.
	From, To time.Duration
	// Delay is measure.ClientDelay over the run.
	Delay measure.Series
}

// Run sends a plan's requests at its pace: warm-ups, then the measured ones. The first
// request of a fresh engine goes alone, whichever it is, because kernels may be compiled
// for it; a measured phase that starts with it continues at its pace after its answer.
//
// A request that fails beyond MaxErrors ends the run, because an engine that has failed
// is not the one to be measured. Then the error names the request and wraps the
// Streamer's error; what is in flight is cancelled, and the result holds everything so
// far, failed and cancelled requests with their Err set. When ctx ends, its error is
// returned. Nothing is left running.
func Run(ctx context.Context, engine Streamer, p Plan) (Result, error) {
	return run(ctx, engine, p, sleepUntil)
}

// sleeper is sleepUntil, or its substitute on a test's clock.
type sleeper func(context.Context, time.Time) bool

func run(ctx context.Context, engine Streamer, p Plan, sleep sleeper) (Result, error) {
	if err := p.check(); err != nil {
		return Result{}, err
	}
	if p.Zero.IsZero() {
		p.Zero = time.Now()
	}
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &runner{parent: ctx, ctx: inner, cancel: cancel, engine: engine, plan: p, sleep: sleep, fresh: p.Fresh}

	var delay delays
	var watching sync.WaitGroup
	watched, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWatching()
	watching.Go(func() { delay = watchDelay(watched, sleep, p.Zero) })
	err := r.all()
	stopWatching()
	watching.Wait()
	if err != nil {
		return Result{}, err
	}

	slices.SortStableFunc(r.samples, func(a, b measure.Sample) int {
		return cmp.Or(cmp.Compare(a.Due, b.Due), cmp.Compare(a.Index, b.Index), cmp.Compare(a.Turn, b.Turn))
	})
	for i := range r.samples {
		if s := &r.samples[i]; len(s.Events) > 0 {
			s.Late = delay.most(s.Start, s.Start+s.Events[len(s.Events)-1].At)
		}
	}
	result := Result{Samples: r.samples, From: r.from, To: r.to, Delay: delay.every}
	if !r.measuring {
		result.From = time.Since(p.Zero)
		result.To = result.From
	}
	return result, r.err
}

type runner struct {
	parent, ctx context.Context
	cancel      context.CancelCauseFunc
	engine      Streamer
	plan        Plan
	sleep       sleeper
	// fresh is set until the first request of a fresh engine is sent.
	fresh bool

	mu      sync.Mutex
	samples []measure.Sample
	// from and to are Result's, once a measured request was sent.
	from, to  time.Duration
	measuring bool
	// end is when a Duration ends, once it has started.
	end time.Time
	// draining is how long answers may take once all is sent; 0 is no limit.
	draining     time.Duration
	done, failed int
	err          error
}

// stopped reports whether nothing more may be sent, and records ctx's error if that is
// why.
func (r *runner) stopped() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.parent.Err(); err != nil && r.err == nil {
		r.err = err
	}
	return r.err != nil
}

// since is a time on the recording's clock.
func (r *runner) since(t time.Time) time.Duration { return t.Sub(r.plan.Zero) }

// warmAtOnce is how many warm-ups, and contexts to be cached, of an open loop are in
// flight: enough for an engine to meet several at once. By the schedule they would take
// as long as the measured phase.
const warmAtOnce = 4

// job is one conversation of a cell.
type job struct {
	prompt *prompt.Prompt
	index  int
	warmup bool
	// context sends its context alone instead of the conversation. first is set for the
	// first of a fresh engine, while nothing else is in flight.
	context, first bool
}

func jobs(prompts []prompt.Prompt, warmup bool) []job {
	list := make([]job, len(prompts))
	for i := range prompts {
		list[i] = job{prompt: &prompts[i], index: i, warmup: warmup}
	}
	return list
}

// all sends the whole plan, phase by phase; each waits for all its answers.
//
//	closed loop: warm-ups → measured
//	open loop:   warm-ups → contexts → measured, by schedule
//	with a ramp: contexts → warm-ups and measured, by one schedule
func (r *runner) all() error {
	p := r.plan
	warm, measured := jobs(p.Prompts.Warmup, true), jobs(p.Prompts.Measured, false)
	atOnce := max(p.Pace.Concurrency, 1)
	var schedule []time.Duration
	if p.Pace.Ramp {
		warm, measured = nil, append(warm, measured...)
	}
	if p.Pace.Open() {
		var err error
		if schedule, err = p.schedule(len(measured)); err != nil {
			return fmt.Errorf("cell %s: %w", p.Cell, err)
		}
		measured, atOnce = measured[:len(schedule)], warmAtOnce
		if most := p.Pace.MaxConcurrency; most > 0 {
			atOnce = min(atOnce, most)
		}
	}
	r.closed(warm, atOnce)
	if p.Pace.Open() {
		r.contexts(measured, atOnce)
	}
	if p.Begin != nil {
		p.Begin()
	}
	if p.Pace.Open() {
		r.draining = p.Pace.Drain
		r.send(measured, p.Pace.MaxConcurrency, schedule)
	} else {
		r.closed(measured, atOnce)
	}
	return nil
}

// closed keeps n conversations in flight, in rounds if contexts are cached first.
func (r *runner) closed(list []job, atOnce int) {
	if !r.plan.CacheContext {
		r.send(list, atOnce, nil)
		return
	}
	for round := range slices.Chunk(list, atOnce) {
		if !r.sendingOver() {
			r.contexts(round, atOnce)
			r.send(round, atOnce, nil)
		}
	}
}

// contexts puts the contexts of conversations into the engine's cache.
func (r *runner) contexts(list []job, atOnce int) {
	var with []job
	for _, j := range list {
		if r.plan.CacheContext && j.prompt.Context != "" {
			j.context = true
			with = append(with, j)
		}
	}
	r.send(with, atOnce, nil)
}

// send sends conversations in order, at most atOnce at a time (0 is unlimited), each as
// long after the start as schedule has it, or without one as soon as there is room. It
// returns when all are answered.
func (r *runner) send(list []job, atOnce int, schedule []time.Duration) {
	if r.fresh && len(list) > 0 {
		// The second comes as long after the answer as it would have come after the first.
		r.fresh = false
		list[0].first = true
		r.send(list[:1], 1, schedule[:min(1, len(schedule))])
		list, schedule = list[1:], schedule[min(1, len(schedule)):]
	}
	begin := time.Now()
	// places holds, for each free place, since when it is free.
	var places chan time.Time
	if atOnce > 0 {
		places = make(chan time.Time, min(atOnce, len(list)))
		for range cap(places) {
			places <- begin
		}
	}
	var flying sync.WaitGroup
	defer flying.Wait()
	ctx := r.ctx
	if limit := r.draining; limit > 0 && schedule != nil && !(len(list) == 1 && list[0].first) {
		var cut context.CancelCauseFunc
		ctx, cut = context.WithCancelCause(ctx)
		defer cut(nil)
		defer func() {
			timer := time.AfterFunc(limit, func() { cut(ErrUndrained) })
			defer timer.Stop()
			flying.Wait()
		}()
	}
	if keeper, ok := r.engine.(interface{ Hold() (release func()) }); ok && schedule != nil {
		defer keeper.Hold()() // decoding one would delay the next send
	}
	for i, j := range list {
		var scheduled, free time.Time
		if schedule != nil {
			scheduled = begin.Add(schedule[i])
			r.sleep(r.ctx, scheduled)
		}
		if places != nil {
			select {
			case free = <-places:
			case <-r.ctx.Done():
			}
		}
		if schedule == nil {
			scheduled = free
		}
		if r.stopped() || r.closedLoopOver(j, schedule == nil) {
			return
		}
		due := scheduled
		if free.After(due) {
			due = free
		}
		leave := func() {}
		if places != nil {
			leave = sync.OnceFunc(func() { places <- time.Now() })
		}
		flying.Go(func() {
			r.talk(ctx, j, scheduled, due, leave)
			leave()
		})
	}
}

// closedLoopOver reports whether the time of a closed loop is over, which starts with its first
// measured request that does not go alone.
func (r *runner) closedLoopOver(j job, closed bool) bool {
	if j.warmup || j.context || j.first || r.plan.Pace.Duration == 0 {
		return false
	}
	r.mu.Lock()
	if r.end.IsZero() {
		r.end = time.Now().Add(r.plan.Pace.Duration)
	}
	r.mu.Unlock()
	return closed && r.sendingOver()
}

// sendingOver reports whether the time in which requests are sent has passed.
func (r *runner) sendingOver() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.end.IsZero() && !time.Now().Before(r.end)
}

// talk sends the requests of one conversation, each after the answer to the previous one: the
// user has no think time but that of a trace, and sends nothing before it did there. It calls
// leave at the end of the last answer, which is decoded later, when that disturbs no other.
func (r *runner) talk(ctx context.Context, j job, scheduled, due time.Time, leave func()) {
	var said history
	prompt := j.prompt
	began := scheduled.Add(-prompt.At) // of the trace
	if j.context {
		prompt = prompt.ContextAlone()
	}
	for turn := 0; prompt != nil; turn++ {
		request := r.plan.request(prompt, j.first && turn == 0)
		said.ask(prompt, &request)
		count := sync.OnceFunc(r.count)
		if prompt.Next == nil {
			request.Ended = func() { count(); leave() }
		}
		s, ended, err := r.ask(ctx, request)
		s.Workload, s.Index, s.Warmup, s.Context, s.Turn = r.plan.Cell, j.index, j.warmup, j.context, turn
		s.OpenLoop = r.plan.Pace.Open() && !j.warmup && !j.context
		s.Scheduled, s.Due = r.since(scheduled), r.since(due)
		s.RequestedOutput, s.RequestedPrompt = request.MaxTokens, prompt.Tokens
		s.ContextTokens, s.SharedTokens = said.context(prompt, turn, s), prompt.Shared
		if !r.keep(s, r.since(ended), err) {
			return
		}
		count()
		if prompt.Next == nil || r.stopped() || r.closedLoopOver(j, true) {
			return
		}
		said.answered(prompt, request, s)
		prompt = prompt.Next
		scheduled = ended.Add(prompt.After)
		if at := began.Add(prompt.At); prompt.At > 0 && at.After(scheduled) {
			scheduled = at
		}
		if due = scheduled; scheduled.After(ended) && !r.sleep(r.ctx, scheduled) {
			return
		}
	}
}

// ask sends a request until it is answered or no longer deferred. Times in the sample are
// since the first send; ended is when the last event came, or when the request failed.
func (r *runner) ask(ctx context.Context, request openai.Request) (s measure.Sample, ended time.Time, err error) {
	limits := request.Timeouts
	var sent, start, wall time.Time
	retries := 0
	for ; ; retries++ {
		start = time.Now()
		s, err = r.engine.Stream(ctx, request)
		ended = time.Now()
		// The client's own reading if Sent has a monotonic one: building a long request takes
		// time that its events do not include.
		if s.Sent != s.Sent.Round(0) { //nolint:staticcheck // the very reading is asked for
			start = s.Sent
		}
		if retries == 0 {
			sent, wall = start, s.Sent.Round(0)
		}
		// It is sent again if what its limits leave, counted from the first send, allows it.
		pause := PutOff(err)
		used := time.Since(sent) + pause
		over := func(limit time.Duration) bool { return limit > 0 && used >= limit }
		if pause == 0 || retries == r.plan.Retries || over(limits.Total) || over(limits.First) {
			break
		}
		request.Timeouts.Total, request.Timeouts.First = max(0, limits.Total-used), max(0, limits.First-used)
		if !timerUntil(ctx, time.Now().Add(pause)) {
			break
		}
	}
	if err != nil && context.Cause(ctx) == ErrUndrained { //nolint:errorlint // our own value
		err = ErrUndrained
	}
	for i := range s.Events {
		s.Events[i].At += start.Sub(sent)
	}
	s.Start, s.Sent, s.Retries = r.since(sent), wall, s.Retries+retries
	if err == nil && s.Err != "" {
		err = errors.New(s.Err)
	}
	if err != nil {
		s.Err = err.Error()
		if status, ok := errors.AsType[*openai.StatusError](err); ok {
			s.Status = status.Status
		}
	} else if n := len(s.Events); n > 0 {
		ended = sent.Add(s.Events[n-1].At)
	}
	return s, ended, err
}

// keep adds one request. It reports whether its conversation may continue.
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
	return true
}

func (r *runner) count() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done++
	if r.plan.Progress != nil {
		r.plan.Progress(r.done)
	}
}

// name is a request's name in messages: "request 3", "context of warm-up 0", "request 3,
// turn 1".
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

// PutOff is how long an engine asks to wait before a request is sent again; 0 for any
// other error. Without a time to wait, sending again would be guessing.
func PutOff(err error) time.Duration {
	var status *openai.StatusError
	if !errors.As(err, &status) {
		return 0
	}
	switch status.Status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return max(status.RetryAfter, 0)
	}
	return 0
}

// Turn is the request that a conversation sends after these answers to its earlier ones;
// ok is false if it does not go on.
func (p Plan) Turn(prompt *prompt.Prompt, answers []measure.Sample) (r openai.Request, ok bool) {
	var said history
	for turn := 0; prompt != nil; turn++ {
		r = p.request(prompt, false)
		if said.ask(prompt, &r); turn == len(answers) {
			return r, true
		}
		said.answered(prompt, r, answers[turn])
		prompt = prompt.Next
	}
	return r, false
}

// history is what precedes the next prompt of a conversation.
type history struct {
	// messages is the history in a chat, text in a completion, where everything is one
	// growing text.
	messages []openai.Message
	text     string
	// tokens is its total length, by the server's counts if it counts.
	tokens int
}

// ask puts the history and a prompt into a request.
func (h *history) ask(p *prompt.Prompt, r *openai.Request) {
	if p.Alone {
		*h = history{}
	}
	p.Fill(r)
	if r.API == openai.Chat {
		// A separate slice: the previous request may still be read.
		r.Before = append(h.messages[:len(h.messages):len(h.messages)], r.Before...)
		return
	}
	r.Prompt = h.text + r.Prompt
}

// answered adds a request and its answer to the history. Reasoning is left out, as
// templates leave it out of earlier turns.
func (h *history) answered(p *prompt.Prompt, r openai.Request, s measure.Sample) {
	if r.API == openai.Chat {
		h.messages = append(r.Before[:len(r.Before):len(r.Before)],
			openai.Message{Role: "user", Content: r.Prompt}, openai.Message{Role: "assistant", Content: s.Text})
	} else {
		h.text = r.Prompt + s.Text
	}
	output, prompt := s.OutputTokens, s.PromptTokens
	if output < 0 {
		output = s.RequestedOutput
	}
	if prompt < 0 {
		prompt = s.ContextTokens + p.Tokens
	}
	h.tokens = prompt + output
}

// context is the number of tokens before a prompt, which are not counted as its own.
// After other messages it is the server's total minus the prompt itself, since only the
// server knows how much of an answer its template keeps; if either is unknown it is the
// sum over prompts and answers.
func (h *history) context(p *prompt.Prompt, turn int, s measure.Sample) int {
	switch {
	case (turn == 0 || p.Alone) && len(p.Before) == 0:
		return p.ContextTokens
	case p.Tokens > 0 && s.PromptTokens >= p.Tokens:
		return s.PromptTokens - p.Tokens
	}
	return max(h.tokens, p.ContextTokens)
}
