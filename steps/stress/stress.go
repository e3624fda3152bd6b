// Package stress puts a running engine under load and judges how it held up. It decides
// what is sent, in which order, and what must hold; engine/load sends, and
// engine/telemetry watches the memory.
package stress

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/load"
	"github.com/mxflow/mxflow/engine/load/coherence"
	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/observe"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/engine/telemetry"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/steps/launch"
	"github.com/mxflow/mxflow/steps/record"
)

const (
	// quietRequests of the level's lengths are sent one by one before all load: answers
	// under load are compared with theirs. probes are requests of one length; the fastest
	// after load is compared with their median before it.
	quietRequests, probes    = 8, 5
	probePrompt, probeOutput = 64, 16
	// cancelledOutput is much longer than probeOutput, so an answer is cut before its
	// end.
	cancelledOutput = 8 * probeOutput
	contextOutput   = 32
	// atLeast is the slowdown that a request after load is always allowed.
	atLeast = 100 * time.Millisecond
	// settleEvery is how often the engine is polled for remaining cancelled requests.
	settleEvery = 50 * time.Millisecond
	// dying is how long after a broken request the engine's end may be noticed.
	dying = 500 * time.Millisecond
	// soakChunk is how many requests are prepared at a time for each stream of a soak.
	soakChunk = 16
	// leastSoak is enough for a request to be sent.
	leastSoak = time.Millisecond
	// memoryEvery is how often memory is read.
	memoryEvery = 25 * time.Millisecond
)

// Run sends what the level asks for, part by part, up to the first that does not pass, and
// returns what came back. An error means that the engine broke, which its launch's record
// explains.
func (c *Config) Run(ctx context.Context, st *launch.Started) (*Tape, error) {
	t := &Tape{}
	if models, err := st.Client.Models(ctx); err == nil {
		t.Serves = models[0].MaxLen
	}
	watched := st.Machine()
	watched.Zero = time.Now()
	if len(watched.GPUs) == 0 {
		watched.Every = memoryEvery
	}
	watch, err := telemetry.Start(ctx, watched)
	if err != nil {
		return nil, err
	}
	defer watch.Stop()
	r := &run{Config: c, Started: st, tape: t, zero: watched.Zero, learned: &prompt.Knowledge{}}
	var bad *finding
	if err := r.parts(ctx); err != nil && !errors.As(err, &bad) {
		return nil, err
	}
	if class, shown := st.Diagnosis(); class != "" && bad != nil && bad.verdict == verdict.Fail {
		t.Shown = shown.Map(st.Lab.Redact.Text)
	}
	t.GPUs = watched.GPUs
	t.Series, _ = watch.Stop()
	return t, nil
}

// Judge goes through what a level received. found receives the numbers that rules can read.
// An error means that the tape is incomplete.
func (c *Config) Judge(t Tape, found func(name string, values ...float64)) (verdict.Verdict, []verdict.Reason, error) {
	t.played, t.at, t.taken = true, 0, 0
	r := &run{Config: c, tape: &t, found: found}
	var bad *finding
	switch err := r.parts(context.Background()); {
	case errors.As(err, &bad) && !t.Shown.IsZero():
		return bad.verdict, []verdict.Reason{bad.why.From(append(slices.Clone(bad.why.Causes), t.Shown)...)}, nil
	case bad != nil:
		return bad.verdict, []verdict.Reason{bad.why}, nil
	case err != nil:
		return "", nil, err
	}
	r.finds()
	v, why := r.memory(t.Series, t.GPUs)
	if v != verdict.Pass {
		return v, why, nil
	}
	if t.at < len(t.Entries) {
		return "", nil, fmt.Errorf("%w: %d of %d groups of requests belong to no part", errTape, len(t.Entries)-t.at, len(t.Entries))
	}
	return v, append(r.reasons, why...), nil
}

// parts goes through all parts, with an engine or a tape of one.
func (r *run) parts(ctx context.Context) error {
	if serves := r.tape.Serves; serves > 0 && r.longest() > serves {
		return &finding{verdict.Fail, verdict.Say("stress.too_long",
			"the level sends requests of {tokens} tokens, but the engine serves {serves}: lower context_tokens, "+
				"or raise the engine's limit",
			verdict.Int("tokens", r.longest()), verdict.Int("serves", serves))}
	}
	for _, part := range []func(context.Context) error{r.calm, r.sequence, r.ramp, r.contexts, r.cancels, r.burst, r.soak} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// finding ends the level without a pass.
type finding struct {
	verdict verdict.Verdict
	why     verdict.Reason
}

func (f *finding) Error() string { return f.why.Key() }

// fails is a finding that fails the level.
func fails(part string, c code.Fact, args ...verdict.Arg) *finding {
	return &finding{verdict.Fail, verdict.New(c, args...).On(part)}
}

// run is a level in progress.
type run struct {
	*Config
	*launch.Started
	tape    *Tape
	found   func(name string, values ...float64)
	zero    time.Time
	learned *prompt.Knowledge
	// sets counts the sets of prompts made: each has its own texts.
	sets int
	// before is how long a single request took, and quiet the engine's answers, before
	// all load; running is how many requests it then reported as running, -1 if it does
	// not. notFinite is the counter for that if it was NaN or infinite, else empty.
	before    time.Duration
	quiet     []measure.Sample
	running   float64
	notFinite string
	// steady are the requests during which memory is followed.
	steady []measure.Sample
	// last are those of the last of sequence, ramp and soak.
	last []measure.Sample
	// slowdown is the largest factor by which a single request took longer afterwards.
	slowdown float64
	// slopes are those of memory, by their names in rules.
	slopes  map[string][]float64
	reasons []verdict.Reason
}

// sent is how a part's requests are sent.
type sent struct {
	part   string
	n, at  int
	prompt []int
	output []int
	// warmup requests go first, and until ends the part before all n are sent.
	warmup int
	until  time.Duration
	// exact enforces the requested length of answers, if the engine supports it.
	exact bool
	// forgiving continues after failed requests.
	forgiving bool
	engine    load.Streamer
}

// send makes prompts and sends them.
func (r *run) send(ctx context.Context, s sent) (result load.Result, err error) {
	if r.tape.played {
		return r.tape.play()
	}
	r.tape.begin(s.part)
	defer func() { r.tape.keep(result.Samples, r.Lab.Redact) }()
	r.sets++
	spec := prompt.Spec{
		Cell: s.part, Draw: fmt.Sprintf("%s stress %d", r.Record.ID, r.sets), API: r.API, CountTemplate: true,
		Lengths: evenly(s.prompt), Outputs: evenly(s.output), Learned: r.learned, Requests: s.n, Warmup: s.warmup,
		Timeouts: openai.Timeouts{Total: time.Duration(r.RequestTimeout), Stall: time.Duration(r.StallTimeout)},
	}
	prompts, err := prompt.Build(ctx, r.Client, spec)
	if err != nil {
		return load.Result{}, err
	}
	p := load.Plan{
		Cell: s.part, Prompts: prompts, Requests: s.n, Warmup: s.warmup, Zero: r.zero, API: r.API, OutputTokens: 1, IgnoreEOS: s.exact && r.Kind.Ask.IgnoreEOS,
		Pace: load.Pace{Concurrency: s.at, Duration: s.until}, RequestTimeout: time.Duration(r.RequestTimeout), StallTimeout: time.Duration(r.StallTimeout),
	}
	if s.forgiving {
		p.MaxErrors = s.n
	}
	if s.engine == nil {
		s.engine = r.Client
	}
	return load.Run(ctx, s.engine, p)
}

func evenly(lengths []int) *prompt.Lengths {
	return &prompt.Lengths{Distribution: prompt.Uniform, Min: lengths[0], Max: lengths[len(lengths)-1]}
}

// load sends requests that must all be answered, and checks their answers.
func (r *run) load(ctx context.Context, s sent) ([]measure.Sample, error) {
	result, err := r.send(ctx, s)
	if err != nil {
		return nil, r.broke(ctx, s.part, err)
	}
	err = r.sound(s.part, result.Samples)
	if bad, ok := errors.AsType[*finding](err); ok && r.tape.last().Unread {
		r.tape.last().Verdict, r.tape.last().Why = bad.verdict, bad.why
	}
	return result.Samples, err
}

// broke is the consequence of a failed request: the end of the engine, or a finding.
func (r *run) broke(ctx context.Context, part string, err error) error {
	if r.tape.played {
		return err
	}
	err = r.breach(ctx, part, err)
	if found, ok := errors.AsType[*finding](err); ok {
		r.tape.last().Verdict, r.tape.last().Why = found.verdict, found.why.Map(r.Lab.Redact.Text)
	}
	return err
}

// breach is the finding for a failed request to a running engine.
func (r *run) breach(ctx context.Context, part string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case <-r.Inst.Exited():
		return err
	case <-time.After(dying):
	}
	if class, _ := r.Diagnosis(); class != "" && class.Blame() != kinds.ByEngine {
		return err
	}
	if stuck, ok := errors.AsType[*openai.StallError](err); ok {
		return fails(part, code.Of("stress.stuck", "{subject}: a request is stuck: waited {limit} for {waiting}"),
			verdict.Text("waiting", stuck.Waiting), verdict.Dur("limit", stuck.Limit))
	}
	if _, ok := errors.AsType[*openai.StatusError](err); ok {
		return fails(part, code.StressBroke, verdict.Line(err))
	}
	if s, ok := errors.AsType[*openai.StreamError](err); ok && s.Kind != openai.Broken {
		return fails(part, code.StressBroke, verdict.Line(err))
	}
	return err
}

// sound checks whether answers are complete and read like those before all load.
func (r *run) sound(part string, samples []measure.Sample) error {
	unended, of := 0, 0
	for _, s := range samples {
		if of++; s.Err != "" || len(s.Events) == 0 || s.Finish == "" && s.OutputTokens < s.RequestedOutput {
			unended++
		}
	}
	if unended > 0 {
		return fails(part, code.StressUnended, verdict.Int("answers", unended), verdict.Int("of", of))
	}
	if r.Coherence == "off" || r.tape.played && r.tape.last().Unread {
		return nil
	}
	if r.quiet == nil {
		found := coherence.Incoherent(samples)
		if 2*len(found) <= len(samples) {
			return nil
		}
		f := fails(part, code.StressGarbage, verdict.Int("answers", len(found)), verdict.Int("of", len(samples)))
		f.why = f.why.From(record.FindingOf(found[0]))
		return f
	}
	for _, c := range coherence.Signs(inOne(r.quiet), inOne(samples)) {
		if c.Garbage == 0 {
			continue
		}
		f := fails(part, code.StressGarbage, verdict.Int("answers", c.Garbage), verdict.Int("of", c.Of))
		for _, one := range c.Why {
			f.why.Causes = append(f.why.Causes, record.FindingOf(one))
		}
		return f
	}
	return nil
}

// inOne are samples as of one cell, for comparison.
func inOne(samples []measure.Sample) []measure.Sample {
	out := slices.Clone(samples)
	for i := range out {
		out[i].Workload = "stress"
	}
	return out
}

// calm takes the reference for everything that follows.
func (r *run) calm(ctx context.Context) (err error) {
	samples, err := r.load(ctx, r.mixed("quiet", quietRequests, 1))
	if err != nil {
		return err
	}
	r.quiet = samples
	if r.Coherence == "off" {
		r.say("quiet", code.Of("stress.unread", `no answer is checked for reading as text (coherence = "off")`))
	}
	took, err := r.probe(ctx, "quiet", 1)
	if err != nil {
		return err
	}
	r.before = took[len(took)/2]
	r.running = r.settled(ctx, 0)
	return nil
}

// mixed are requests of the level's lengths.
func (r *run) mixed(part string, n, at int) sent {
	return sent{part: part, n: n, at: at, prompt: r.Prompt, output: r.Output}
}

// probe is how long single requests of one length take, fastest first.
func (r *run) probe(ctx context.Context, part string, warmup int) ([]time.Duration, error) {
	result, err := r.send(ctx, sent{part: part, n: probes, at: 1, prompt: []int{probePrompt}, output: []int{probeOutput}, warmup: warmup, exact: true})
	if err != nil {
		return nil, r.broke(ctx, part, err)
	}
	var took []time.Duration
	for _, s := range result.Samples {
		if s.Measured() && s.Err == "" && len(s.Events) > 0 {
			took = append(took, ended(s)-s.Start)
		}
	}
	if len(took) < probes {
		return nil, fails(part, code.StressUnended, verdict.Int("answers", probes-len(took)), verdict.Int("of", probes))
	}
	slices.Sort(took)
	return took, nil
}

// ended is when the last event of an answer came.
func ended(s measure.Sample) time.Duration { return s.Start + s.Events[len(s.Events)-1].At }

// recovered checks whether a single request is answered as fast as before all load.
func (r *run) recovered(ctx context.Context, part string) error {
	took, err := r.probe(ctx, part, 0)
	if err != nil {
		return err
	}
	r.slowdown = max(r.slowdown, float64(took[0])/float64(r.before))
	args := []verdict.Arg{verdict.Millis("before", r.before), verdict.Millis("after", took[0]), verdict.Num("limit", r.MaxSlowdown, "times")}
	if limit := max(time.Duration(r.MaxSlowdown*float64(r.before)), r.before+atLeast); took[0] > limit {
		return fails(part, code.Of("stress.slower",
			"{subject}: a lone request takes {after} after it, {before} before (allowed: {limit})"),
			args...)
	}
	r.say(part, code.Of("stress.recovered", "{subject}: a lone request takes {after} after it, {before} before"),
		args...)
	return nil
}

func (r *run) say(part string, c code.Fact, args ...verdict.Arg) {
	r.reasons = append(r.reasons, verdict.New(c, args...).On(part))
}

// served reports what was answered, and how fast.
func (r *run) served(part string, samples []measure.Sample) {
	first, whole := latencies(samples)
	why := verdict.Say("stress.served", "{subject}: {answered} of {requests|request|requests} answered ({causes})",
		verdict.Int("requests", len(samples)), verdict.Int("answered", len(whole))).On(part)
	r.reasons = append(r.reasons, why.From(latency("ttft", first), latency("e2e", whole)))
}

// latencies are those of the first text and of the whole answer, in ms.
func latencies(samples []measure.Sample) (ttft, e2e []float64) {
	for _, s := range samples {
		if s.Err != "" || len(s.Events) == 0 {
			continue
		}
		e2e = append(e2e, ms(ended(s)-s.Start))
		if i := slices.IndexFunc(s.Events, measure.Event.HasText); i >= 0 {
			ttft = append(ttft, ms(s.Events[i].At))
		}
	}
	return ttft, e2e
}

// finds reports the numbers that rules can read of the last requests kept in flight.
func (r *run) finds() {
	ttft, e2e := latencies(r.last)
	for metric, values := range map[string][]float64{"ttft": ttft, "e2e": e2e} {
		s, ok := measure.SummaryOf(metric, values)
		if !ok {
			continue
		}
		r.found(metric, s.Stats["median"])
		if p99, enough := s.Stats["p99"]; enough {
			r.found(metric+"_p99", p99)
		}
	}
	if r.slowdown > 0 {
		r.found("slowdown", r.slowdown)
	}
}

// latency is a metric of requests under load; nothing if there is no value.
func latency(metric string, values []float64) verdict.Reason {
	s, ok := measure.SummaryOf(metric, values)
	if !ok {
		return verdict.Reason{}
	}
	args := []verdict.Arg{verdict.Num("median", s.Stats["median"], "ms"), verdict.Num("most", s.Stats["max"], "ms")}
	if p99, enough := s.Stats["p99"]; enough {
		args = append(args, verdict.Num("p99", p99, "ms"))
	}
	return verdict.Say("stress.latency", "{subject} median {median}, {p99?p99 {p99}}{p99!max {most}}",
		args...).On(metric)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (r *run) sequence(ctx context.Context) error {
	if r.Sequential == 0 {
		return nil
	}
	samples, err := r.load(ctx, r.mixed("sequential", r.Sequential, 1))
	if err != nil {
		return err
	}
	r.steady, r.last = samples, samples
	r.served("sequential", samples)
	return nil
}

func (r *run) ramp(ctx context.Context) error {
	for _, n := range r.Concurrency {
		part := fmt.Sprintf("concurrency %d", n)
		samples, err := r.load(ctx, r.mixed(part, n*r.PerStream, n))
		if err != nil {
			return err
		}
		r.last = samples
		r.served(part, samples)
	}
	return nil
}

func (r *run) contexts(ctx context.Context) error {
	for _, n := range r.Contexts {
		part := fmt.Sprintf("context %d", n)
		samples, err := r.load(ctx, sent{part: part, n: 1, at: 1, prompt: []int{n - contextOutput}, output: []int{contextOutput}})
		if err != nil {
			return err
		}
		r.served(part, samples)
	}
	return nil
}

func (r *run) cancels(ctx context.Context) error {
	const part = "cancel"
	if r.Cancel == 0 {
		return nil
	}
	at := slices.Max(append(r.Concurrency, 4))
	sending, stop := context.WithCancel(ctx)
	defer stop()
	c := &cutter{whole: r.before, of: r.Cancel, first: first{part: part, stop: stop}}
	if r.Started != nil {
		c.engine = r.Client
	}
	_, err := r.send(sending, sent{
		part: part, n: r.Cancel, at: min(at, r.Cancel), prompt: []int{probePrompt}, output: []int{cancelledOutput}, exact: true, forgiving: true, engine: c,
	})
	if err = c.or(err); err != nil {
		return r.broke(ctx, part, err)
	}
	r.tape.counted(&c.cut, &c.streaming)
	if c.streaming == 0 {
		// Nothing was cut during its answer, so nothing is shown.
		return &finding{verdict.Inconclusive, verdict.Say("stress.uncut",
			"{subject}: {cut} of {requests|request|requests} cancelled, none in mid-answer: cancel more",
			verdict.Int("requests", r.Cancel), verdict.Int("cut", c.cut)).On(part)}
	}
	switch now := r.settled(ctx, r.running); {
	case r.notFinite != "":
		return &finding{verdict.Inconclusive, verdict.Say("stress.not_finite",
			"{subject}: the engine's count of running requests ({metric}) is NaN or infinite, so it is unknown "+
				"whether cancelled ones ended",
			verdict.Text("metric", r.notFinite)).On(part)}
	case r.running >= 0 && now < 0: // it reported this before, and no longer does
		return &finding{verdict.Inconclusive, verdict.Say("stress.uncounted",
			"{subject}: the engine no longer reports how many requests are running, so it is unknown whether "+
				"cancelled ones ended").On(part)}
	case r.running >= 0 && !(now <= r.running):
		return fails(part, code.Of("stress.running",
			"{subject}: the engine still reports {running} running {within} after they were cancelled, {before} "+
				"before"),
			verdict.Num("running", now, "count"), verdict.Num("before", r.running, "count"), verdict.Dur("within", time.Duration(r.StallTimeout)))
	}
	args := []verdict.Arg{verdict.Int("requests", r.Cancel), verdict.Int("cut", c.cut), verdict.Int("streaming", c.streaming)}
	if r.running >= 0 {
		args = append(args, verdict.Num("running", r.running, "count"))
	}
	r.say(part, code.Of("stress.cancelled",
		"{subject}: {cut} of {requests|request|requests} cancelled, {streaming} in mid-answer{running?; the "+
			"engine reports {running} running}"),
		args...)
	return r.recovered(ctx, part)
}

// cutter cancels each request at its own time, from half to four times what whole takes:
// some are still being read then, others are being answered.
type cutter struct {
	first
	engine load.Streamer
	whole  time.Duration
	of     int
	sent   atomic.Int64
	// cut requests were cancelled, streaming of them after their first token.
	cut, streaming int
}

var errCut = errors.New("cancelled on purpose")

func (c *cutter) Stream(ctx context.Context, q openai.Request) (measure.Sample, error) {
	share := 0.5 + 3.5*float64(c.sent.Add(1)-1)/float64(c.of)
	ctx, cancel := context.WithTimeoutCause(ctx, time.Duration(share*float64(c.whole)), errCut)
	defer cancel()
	s, err := c.engine.Stream(ctx, q)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
	case errors.Is(context.Cause(ctx), errCut):
		c.cut++
		if slices.ContainsFunc(s.Events, measure.Event.HasText) {
			c.streaming++
		}
	default:
		c.failed(err)
	}
	return s, err
}

// settled is how many requests the engine reports as running, once they are no more than
// before or the time limit is over; -1 if it does not report them, or once reported no
// number.
func (r *run) settled(ctx context.Context, before float64) (n float64) {
	if r.tape.played {
		r.tape.at++
		r.notFinite = r.tape.last().NotFinite
		return r.tape.last().Running
	}
	r.tape.begin("settled")
	defer func() { r.tape.last().Running, r.tape.last().NotFinite = n, r.notFinite }()
	names := r.Kind.Metrics.Names["running"]
	if r.Kind.Metrics.Path == "" || len(names) == 0 || r.notFinite != "" {
		return -1
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(r.StallTimeout))
	defer cancel()
	tick := time.NewTicker(settleEvery)
	defer tick.Stop()
	last := -1.0
	for {
		seen := observe.All(ctx, r.Inst, r.Kind.Metrics.Path, []kinds.Pattern{{Name: "running", Type: kinds.TypeNumber, Metric: names}})
		if r.notFinite = seen[0].NotFinite; r.notFinite != "" {
			return -1
		}
		if n, ok := seen[0].Value.(float64); ok && seen[0].Missing == "" {
			if last = n; n <= before {
				return n
			}
		}
		select {
		case <-ctx.Done():
			return last
		case <-tick.C:
		}
	}
}

func (r *run) burst(ctx context.Context) error {
	const part = "burst"
	if r.Burst == 0 {
		return nil
	}
	s := r.mixed(part, r.Burst, r.Burst)
	sending, stop := context.WithCancel(ctx)
	defer stop()
	refused := &refuser{first: first{part: part, stop: stop}}
	if r.Started != nil {
		refused.engine = r.Client
	}
	s.engine, s.forgiving = refused, true
	result, err := r.send(sending, s)
	if err = refused.or(err); err != nil {
		return r.broke(ctx, part, err)
	}
	r.tape.counted(&refused.n)
	answered := slices.DeleteFunc(slices.Clone(result.Samples), func(s measure.Sample) bool { return s.Err != "" })
	if len(answered) == 0 {
		return fails(part, code.Of("stress.refused",
			"{subject}: all {requests} requests were refused with 429 or 503"),
			verdict.Int("requests", r.Burst))
	}
	if err := r.sound(part, answered); err != nil {
		return err
	}
	r.served(part, result.Samples)
	if refused.n > 0 {
		r.say(part, code.Of("stress.turned_away",
			"{subject}: {refused} of {requests|request|requests} refused with 429 or 503"),
			verdict.Int("requests", r.Burst), verdict.Int("refused", refused.n))
	}
	return r.recovered(ctx, part)
}

// refuser tells requests that an engine refuses as overloaded from other failures.
type refuser struct {
	first
	engine load.Streamer
	n      int
}

func (f *refuser) Stream(ctx context.Context, q openai.Request) (measure.Sample, error) {
	s, err := f.engine.Stream(ctx, q)
	if err == nil {
		return s, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	status, refused := errors.AsType[*openai.StatusError](err)
	switch {
	case refused && (status.Status == http.StatusTooManyRequests || status.Status == http.StatusServiceUnavailable):
		f.n++
	default:
		f.failed(err)
	}
	return s, err
}

// first is the first failure of requests some of which may fail. It stops the others,
// which might wait for as long as a request may take.
type first struct {
	part string
	stop func()

	mu    sync.Mutex
	broke error
}

func (f *first) failed(err error) {
	if f.broke == nil {
		f.broke = fmt.Errorf("cell %s: %w", f.part, err)
		f.stop()
	}
}

// or is the first failure, or else the error with which sending ended.
func (f *first) or(err error) error {
	if f.broke != nil {
		return f.broke
	}
	return err
}

func (r *run) soak(ctx context.Context) error {
	const part = "soak"
	if r.Soak == 0 {
		return nil
	}
	at := 1
	if n := len(r.Concurrency); n > 0 {
		at = r.Concurrency[n-1]
	}
	var all []measure.Sample
	// The duration is taken from the answers, so a tape has it too.
	begun, over := time.Duration(math.MaxInt64), time.Duration(0)
	for left := time.Duration(r.Soak); left > 0; left = time.Duration(r.Soak) - (over - begun) {
		s := r.mixed(part, at*soakChunk, at)
		s.until = max(left, leastSoak)
		samples, err := r.load(ctx, s)
		if err != nil {
			return err
		}
		for _, s := range samples {
			// Hours of it: only what latencies need is kept.
			first := max(0, slices.IndexFunc(s.Events, measure.Event.HasText))
			all = append(all, measure.Sample{Start: s.Start, Events: []measure.Event{s.Events[first], s.Events[len(s.Events)-1]}})
			begun, over = min(begun, s.Start), max(over, ended(s))
		}
	}
	r.steady, r.last = all, all
	r.served(part, all)
	return nil
}
