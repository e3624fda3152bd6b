// Package stress puts a running engine under load and judges how it held up: the order of
// requests, and the conditions that their answers must meet. engine/load sends, and
// engine/machine watches the memory.
package stress

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/mxflow/mxflow/engine/answers"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/load"
	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/machine"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/steps/launch"
	"github.com/mxflow/mxflow/steps/record"
)

const (
	// quietRequests of the level's lengths are sent one by one before all load: answers
	// under load are compared with theirs.
	quietRequests = 8
	contextOutput = 32
	// dying is how long after a broken request the engine's end may be noticed.
	dying = 500 * time.Millisecond
	// soakChunk is how many requests are prepared at a time for each stream of a soak.
	soakChunk = 16
	// leastSoak is enough for a request to be sent.
	leastSoak   = time.Millisecond
	memoryEvery = 25 * time.Millisecond
	// mostText bounds the answers that are kept, in bytes.
	mostText = 64 << 20
)

// Tape is everything that a level received from an engine, in order: what it is judged by.
type Tape struct {
	// Serves is the engine's maximum length, 0 if it does not report one, and GPUs are
	// its.
	Serves  int      `json:"serves,omitempty"`
	GPUs    []string `json:"gpus,omitempty"`
	Entries []Entry  `json:"entries"`
	// Samples are those of all entries, as far as they matter for judging, and Series the
	// memory readings. They are kept as separate files.
	Samples []measure.Sample `json:"-"`
	Series  []measure.Series `json:"-"`
	// Shown is what the log shows of a failure.
	Shown verdict.Reason `json:"shown,omitzero"`
}

// Entry is one batch of requests of a part.
type Entry struct {
	Part    string `json:"part"`
	Samples int    `json:"samples,omitempty"`
	// Unread is set if the texts of its answers are not kept, as there were too many.
	Unread bool `json:"unread,omitempty"`
	// Verdict and Why are the consequence of a failed request, or of a text that is not
	// kept.
	Verdict verdict.Verdict `json:"verdict,omitempty"`
	Why     verdict.Reason  `json:"why,omitzero"`
}

// part is requests that must all be answered.
type part struct {
	name string
	// n requests are sent, so many at once.
	n, at          int
	prompt, output []int
	// load is set if rules read its latencies, and steady if memory is followed; soaks has
	// batches follow each other for as long as the level soaks.
	load, steady, soaks bool
}

// quiet is the part before all load.
const quiet = "quiet"

func (c *Config) parts() []part {
	all := []part{{name: quiet, n: quietRequests, at: 1, prompt: c.Prompt, output: c.Output}}
	mixed := func(name string, n, at int, steady, soaks bool) {
		all = append(all, part{name, n, at, c.Prompt, c.Output, true, steady, soaks})
	}
	if c.Sequential > 0 {
		mixed("sequential", c.Sequential, 1, true, false)
	}
	last := 1
	for _, n := range c.Concurrency {
		last = n
		mixed(fmt.Sprintf("concurrency %d", n), n*c.PerStream, n, false, false)
	}
	for _, n := range c.Contexts {
		all = append(all, part{
			name: fmt.Sprintf("context %d", n), n: 1, at: 1, prompt: []int{n - contextOutput},
			output: []int{contextOutput},
		})
	}
	if c.Soak > 0 {
		mixed("soak", last*soakChunk, last, true, true)
	}
	return all
}

// tooLong is the finding that the engine serves fewer tokens than the level sends; nil if
// it does not.
func (c *Config) tooLong(serves int) *finding {
	if serves == 0 || c.longest() <= serves {
		return nil
	}
	return &finding{verdict.Fail, verdict.Say("stress.too_long",
		"the level sends requests of {tokens} tokens, but the engine serves {serves}: lower context_tokens, "+
			"or raise the engine's limit",
		verdict.Int("tokens", c.longest()), verdict.Int("serves", serves))}
}

// finding ends the level without a pass.
type finding struct {
	verdict verdict.Verdict
	why     verdict.Reason
}

func (f *finding) Error() string { return f.why.Key() }

func failure(part string, c code.Fact, args ...verdict.Arg) *finding {
	return &finding{verdict.Fail, verdict.New(c, args...).On(part)}
}

// soakTime is how long samples took: by the answers, so a tape has it too.
func soakTime(samples []measure.Sample) time.Duration {
	begun, over := time.Duration(math.MaxInt64), time.Duration(0)
	for _, s := range samples {
		begun, over = min(begun, s.Start), max(over, answerEnd(s))
	}
	return over - begun
}

// answerEnd is when the last event of an answer came.
func answerEnd(s measure.Sample) time.Duration { return s.Start + s.Events[len(s.Events)-1].At }

// Run sends the requests of the level, part by part, up to the first that does not pass,
// and returns the answers. An error means that the engine broke, which its launch's
// record explains.
func (c *Config) Run(ctx context.Context, st *launch.Started) (*Tape, error) {
	t := &Tape{}
	if len(st.Models) > 0 {
		t.Serves = st.Models[0].MaxLen
	}
	watched := st.Machine()
	watched.Zero = time.Now()
	if len(watched.GPUs) == 0 {
		watched.Every = memoryEvery
	}
	watch, err := machine.StartSampler(ctx, watched)
	if err != nil {
		return nil, err
	}
	defer watch.Stop()
	bad := c.tooLong(t.Serves)
	if bad == nil {
		s := &sender{Config: c, Started: st, tape: t, zero: watched.Zero, learned: &prompt.Knowledge{}}
		for _, p := range c.parts() {
			var all []measure.Sample
			for left := time.Duration(c.Soak); err == nil &&
				(all == nil || p.soaks && left > 0); left = time.Duration(c.Soak) - soakTime(all) {
				var samples []measure.Sample
				samples, err = s.batch(ctx, p, max(left, leastSoak))
				for _, one := range samples {
					// Hours of it: only what times need is kept.
					if n := len(one.Events); n > 0 {
						all = append(all, measure.Sample{Start: one.Start, Events: one.Events[n-1:]})
					}
				}
			}
		}
		if err != nil && !errors.As(err, &bad) {
			return nil, err
		}
	}
	if class, shown := st.Diagnosis(); class != "" && bad != nil {
		t.Shown = shown.Map(st.Lab.Redact.Text)
	}
	t.GPUs = watched.GPUs
	t.Series, _ = watch.Stop()
	return t, nil
}

type sender struct {
	*Config
	*launch.Started
	tape    *Tape
	zero    time.Time
	learned *prompt.Knowledge
	// quiet are the engine's answers before all load.
	quiet []measure.Sample
	text  int // bytes of all answers
}

// batch sends one batch of a part, and keeps what came back. The error is a *finding if the
// engine runs on.
func (s *sender) batch(ctx context.Context, p part, until time.Duration) ([]measure.Sample, error) {
	evenly := func(lengths []int) *prompt.Lengths {
		return &prompt.Lengths{Distribution: prompt.Uniform, Min: lengths[0], Max: lengths[len(lengths)-1]}
	}
	prompts, err := prompt.Build(ctx, s.Client, prompt.Spec{
		Cell: p.name, Draw: fmt.Sprintf("%s stress %d", s.Record.ID, len(s.tape.Entries)), API: s.API,
		CountTemplate: true,
		Lengths:       evenly(p.prompt), Outputs: evenly(p.output), Learned: s.learned, Requests: p.n,
		Timeouts: openai.Timeouts{Total: time.Duration(s.RequestTimeout), Stall: time.Duration(s.StallTimeout)},
	})
	var result load.Result
	if err == nil {
		pace := load.Pace{Concurrency: p.at}
		if p.soaks {
			pace.Duration = until
		}
		result, err = load.Run(ctx, s.Client, load.Plan{
			Cell: p.name, Prompts: prompts, Zero: s.zero, Pace: pace,
			Request: openai.Request{API: s.API, MaxTokens: 1, Timeouts: openai.Timeouts{
				Total: time.Duration(s.RequestTimeout), Stall: time.Duration(s.StallTimeout),
			}},
		})
	}
	e := s.keep(p.name, result.Samples)
	var bad *finding
	if err != nil {
		if err = s.failedRequest(ctx, p.name, err); errors.As(err, &bad) {
			e.Verdict, e.Why = bad.verdict, bad.why.Map(s.Lab.Redact.Text)
		}
		return result.Samples, err
	}
	if bad = s.checkAnswers(p.name, s.quiet, result.Samples, false); bad != nil {
		if e.Unread {
			e.Verdict, e.Why = bad.verdict, bad.why.Map(s.Lab.Redact.Text)
		}
		return result.Samples, bad
	}
	if s.quiet == nil {
		s.quiet = result.Samples
	}
	return result.Samples, nil
}

// keep adds samples to the tape, without what judging does not need.
func (s *sender) keep(part string, samples []measure.Sample) *Entry {
	for _, one := range samples {
		s.text += len(one.Text) + len(one.Reasoning) + len(one.Tools)
	}
	s.tape.Entries = append(s.tape.Entries, Entry{Part: part, Samples: len(samples), Unread: s.text > mostText})
	e := &s.tape.Entries[len(s.tape.Entries)-1]
	samples = slices.Clone(samples)
	for i := range samples {
		one := &samples[i]
		if n := len(one.Events); n > 0 {
			one.Events = []measure.Event{
				one.Events[max(0, slices.IndexFunc(one.Events, measure.Event.HasText))],
				one.Events[n-1],
			}
		}
		if e.Unread {
			one.Text, one.Reasoning, one.Tools = "", "", ""
		}
	}
	record.Redact(samples, s.Lab.Redact)
	s.tape.Samples = append(s.tape.Samples, samples...)
	return e
}

// failedRequest is the consequence of a failed request: the end of the engine, or a finding.
func (s *sender) failedRequest(ctx context.Context, part string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case <-s.Inst.Exited():
		return err
	case <-time.After(dying):
	}
	if class, _ := s.Diagnosis(); class.Blame() == kinds.ByPlan || class.Blame() == kinds.ByMachine {
		return err
	}
	if stuck, ok := errors.AsType[*openai.StallError](err); ok {
		return failure(part, code.Of("stress.stuck", "{subject}: a request is stuck: waited {limit} for {waiting}"),
			verdict.Text("waiting", stuck.Waiting), verdict.Dur("limit", stuck.Limit))
	}
	_, refused := errors.AsType[*openai.StatusError](err)
	if stream, ok := errors.AsType[*openai.StreamError](err); refused || ok && stream.Kind != openai.Broken {
		return failure(part, code.StressBroke, verdict.Line(err))
	}
	return err
}

// checkAnswers is the finding that answers are incomplete, or do not read like those before all
// load, which has none to compare with; nil if there is none.
func (c *Config) checkAnswers(part string, quiet, samples []measure.Sample, unread bool) *finding {
	unended := 0
	for _, s := range samples {
		if s.Err != "" || len(s.Events) == 0 || s.Finish == "" && s.OutputTokens < s.RequestedOutput {
			unended++
		}
	}
	switch {
	case unended > 0:
		return failure(part, code.StressUnended, verdict.Int("answers", unended), verdict.Int("of", len(samples)))
	case c.Coherence == "off" || unread:
		return nil
	case quiet == nil:
		found := answers.Incoherent(samples)
		if 2*len(found) <= len(samples) {
			return nil
		}
		f := failure(part, code.StressGarbage, verdict.Int("answers", len(found)), verdict.Int("of", len(samples)))
		f.why = f.why.From(record.FindingOf(found[0]))
		return f
	}
	inOne := func(samples []measure.Sample) []measure.Sample { // one cell, for comparison
		out := slices.Clone(samples)
		for i := range out {
			out[i].Workload = "stress"
		}
		return out
	}
	for _, signs := range answers.Signs(inOne(quiet), inOne(samples)) {
		if signs.Garbage == 0 {
			continue
		}
		f := failure(part, code.StressGarbage, verdict.Int("answers", signs.Garbage), verdict.Int("of", signs.Of))
		for _, one := range signs.Why {
			f.why.Causes = append(f.why.Causes, record.FindingOf(one))
		}
		return f
	}
	return nil
}

// errTape is a tape that ends before the level does.
var errTape = errors.New("answers of the engine are missing")

// Judge is the verdict on what a level received. found receives the numbers that rules can
// read. An error means that the tape is incomplete.
func (c *Config) Judge(t Tape, found func(name string, values ...float64)) (verdict.Verdict, []verdict.Reason, error) {
	bad := c.tooLong(t.Serves)
	var reasons []verdict.Reason
	var before, last, steady []measure.Sample
	entries, rest := t.Entries, t.Samples
	for _, p := range c.parts() {
		var samples []measure.Sample
		for bad == nil && (samples == nil || p.soaks && soakTime(samples) < time.Duration(c.Soak)) {
			if len(entries) == 0 || entries[0].Part != p.name || entries[0].Samples > len(rest) {
				return "", nil, errTape
			}
			e := entries[0]
			own := rest[:e.Samples]
			entries, rest = entries[1:], rest[e.Samples:]
			if bad = c.checkAnswers(p.name, before, own, e.Unread); e.Verdict != "" {
				bad = &finding{e.Verdict, e.Why}
			} else if len(own) == 0 {
				return "", nil, errTape
			}
			samples = append(samples, own...)
		}
		if bad != nil {
			break
		}
		if p.name == quiet {
			if before = samples; c.Coherence == "off" {
				reasons = append(reasons, verdict.Say("stress.unread",
					`no answer is checked for reading as text (coherence = "off")`).On(quiet))
			}
			continue
		}
		if p.load {
			last = samples
		}
		if p.steady {
			steady = samples
		}
		ttft, e2e := latencies(samples)
		reasons = append(reasons,
			verdict.Say("stress.served", "{subject}: {answered} of {requests|request|requests} answered ({causes})",
				verdict.Int("requests", len(samples)),
				verdict.Int("answered", len(e2e))).On(p.name).From(latency("ttft", ttft), latency("e2e", e2e)))
	}
	if bad != nil {
		if !t.Shown.IsZero() {
			bad.why = bad.why.From(append(slices.Clone(bad.why.Causes), t.Shown)...)
		}
		return bad.verdict, []verdict.Reason{bad.why}, nil
	}
	if len(entries) > 0 {
		return "", nil, fmt.Errorf("%w: %d groups of requests belong to no part", errTape, len(entries))
	}
	ttft, e2e := latencies(last)
	for metric, values := range sorted.All(map[string][]float64{"ttft": ttft, "e2e": e2e}) {
		s, ok := measure.SummaryOf(metric, values)
		if !ok {
			continue
		}
		found(metric, s.Stats["median"])
		if p99, enough := s.Stats["p99"]; enough {
			found(metric+"_p99", p99)
		}
	}
	v, why := c.memory(steady, t.Series, t.GPUs, found)
	if v != verdict.Pass {
		return v, why, nil
	}
	return v, append(reasons, why...), nil
}

// latencies are those of the first text and of the whole answer, in ms.
func latencies(samples []measure.Sample) (ttft, e2e []float64) {
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	for _, s := range samples {
		if s.Err != "" || len(s.Events) == 0 {
			continue
		}
		e2e = append(e2e, ms(answerEnd(s)-s.Start))
		if i := slices.IndexFunc(s.Events, measure.Event.HasText); i >= 0 {
			ttft = append(ttft, ms(s.Events[i].At))
		}
	}
	return ttft, e2e
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
