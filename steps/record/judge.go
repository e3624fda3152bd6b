package record

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"time"

	"github.com/mxflow/mxflow/engine/answers"
	"github.com/mxflow/mxflow/engine/limit"
	"github.com/mxflow/mxflow/engine/load"
	"github.com/mxflow/mxflow/engine/load/prompt"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

const (
	// templateShare of a prompt may be cached beyond what is known to be common to all:
	// the fixed start of a chat template.
	templateShare = 0.05
	// recomputedShare of a context may be computed again although it was cached: caches
	// hold whole blocks.
	recomputedShare = 0.25
)

// judge finds reasons for the numbers not to count, and notes on them.
func (r *recording) judge() {
	r.taken.addDisturbances()
	for _, c := range r.counting() {
		r.checkClientDelay(c)
	}
	for _, c := range together(r.counting()) {
		r.checkReading(c)
		r.checkBuffering(c)
		r.checkCache(c)
		r.checkPromptLengths(c)
		r.checkLength(c)
		// Answers that were not computed.
		most := r.Kind.MostEvents()
		f := load.TooFast(c.samples, most)
		if float64(f.Requests) > fastShare*float64(f.Of) && (f.Requests > 1 || f.Of == 1) {
			r.invalid(c.fact(code.TooFast, verdict.Int("requests", f.Requests), verdict.Int("of", f.Of),
				verdict.Num("highest", f.Highest, "events/s"), verdict.Num("most", most, "events/s")))
		}
		r.checkPossible(c)
		if c.run.ByEvents {
			r.note(c.fact(code.Of("answers.by_events",
				// only the client counted the tokens
				"tokens of {subject} were counted as stream events, as the engine does not count them")))
		}
		r.checkCounts(c)
		for _, f := range answers.Incoherent(c.samples) { // answers that are not text
			r.taken.Incoherent = append(r.taken.Incoherent, FindingOf(f).On(f.Cell))
		}
	}
	r.taken.Disturbed = disturbed(r.taken.Invalid)
}

// counting are the sent cells without the probes in which the client was late, if others count.
func (r *recording) counting() []sentCell {
	return slices.DeleteFunc(slices.Clone(r.sent), func(c sentCell) bool {
		p := c.run.Probe
		return p != nil && p.Late && measure.Capacity(r.taken.Cells, p.Of).Lowest > 0
	})
}

// together has the probes of a search as one cell, with the requests of all: what is wrong with
// answers is said once.
func together(sent []sentCell) (all []sentCell) {
	for _, c := range sent {
		n := -1
		if p := c.run.Probe; p != nil {
			c.cell.Address = p.Of
			n = slices.IndexFunc(all, func(o sentCell) bool { return o.cell.Address == p.Of })
		}
		if n < 0 {
			all = append(all, c)
			continue
		}
		all[n].samples = slices.Concat(all[n].samples, c.samples)
		all[n].run.ByEvents = all[n].run.ByEvents || c.run.ByEvents
	}
	return all
}

// disturbing are the reasons not to count that lie with the machine or the client, at that
// moment, and not with the engine: such a launch is made again.
var disturbing = []code.Fact{
	code.GPUSlowed, code.GPUNeighbours, code.ClockWandered, code.ReadingsDamaged, code.SentLate, code.WokenLate,
	code.ReadLate, code.HeldBack,
}

// disturbed reports whether there are reasons, and all of them are disturbances: what else
// is wrong with a launch does not depend on a quiet machine.
func disturbed(why []verdict.Reason) bool {
	return len(why) > 0 && !slices.ContainsFunc(why, func(r verdict.Reason) bool { return !r.AnyOf(disturbing...) })
}

// slowdowns are what slows a GPU down, by the driver's name.
var slowdowns = map[string]string{
	"sw_thermal_slowdown": "software thermal slowdown", "hw_thermal_slowdown": "hardware thermal slowdown",
	"hw_power_brake_slowdown": "power brake", "hw_slowdown": "hardware slowdown",
}

func (r *recording) invalid(why verdict.Reason) { r.taken.Invalid = append(r.taken.Invalid, why) }

func (r *recording) note(what verdict.Reason) { r.taken.Notes = append(r.taken.Notes, what) }

func (c sentCell) fact(what code.Fact, args ...verdict.Arg) verdict.Reason {
	return verdict.New(what, args...).On(c.cell.Address)
}

func (r *recording) checkClientDelay(c sentCell) {
	limit := r.Kind.Lag(c.w.MaxLag)
	l, woken := c.late(limit)
	if l.Late {
		r.invalid(c.fact(code.SentLate, verdict.Millis("max", l.Max), verdict.Millis("p99", l.P99),
			verdict.Dur("limit", limit)))
	}
	if woken.Late {
		r.invalid(c.fact(code.WokenLate, verdict.Millis("max", woken.Max), verdict.Millis("p99", woken.P99),
			verdict.Dur("limit", limit)))
	}
}

// checkReading looks for answers that the client read late.
func (r *recording) checkReading(c sentCell) {
	if l := load.ReadLate(c.samples); l.Over > 0 {
		tell := r.note
		if l.Late {
			tell = r.invalid
		}
		tell(c.fact(code.ReadLate, verdict.Int("requests", l.Over), verdict.Int("of", l.Of),
			verdict.Millis("max", l.Max)))
	}
}

// checkCache looks for prompts that were not computed, and for contexts that were.
func (r *recording) checkCache(c sentCell) {
	found, recomputed := load.Caching(c.samples, c.run.Prompts.Template, c.w.SystemTokens)
	if c.run.Trace != nil {
		if found = load.CachingTrace(c.samples, c.run.Prompts.Template); c.run.Trace.Texts > 0 {
			return // what texts have in common is not known
		}
	}
	switch {
	case found.Worst > templateShare:
		r.invalid(c.fact(code.FromCache, verdict.Int("requests", found.Requests), verdict.Int("of", found.Of),
			verdict.Int("tokens", found.Tokens)))
	case found.Requests > 0:
		r.note(c.fact(code.Of("prompts.template_cached",
			"{requests} of {of} requests of {subject} had a few cached tokens, as from a fixed chat template"),
			verdict.Int("requests", found.Requests), verdict.Int("of", found.Of)))
	case found.Unknown > 0:
		// The engine does not report per request how much of the prompt was cached, so its own
		// counters are checked. If contexts are cached on purpose these are counted too, and
		// nothing follows from a hit.
		template := 0.0 // the chat template's share of the shortest prompt
		for _, s := range c.samples {
			if s.Measured() && s.PromptTokens > 0 {
				template = max(template, float64(c.run.Prompts.Template)/float64(s.PromptTokens))
			}
		}
		hits, known := r.taken.Metrics[c.cell.Address+".prefix_hit_rate"].Stats["median"]
		switch {
		case known && !cachesOnPurpose(c.w) && hits > templateShare+template:
			r.invalid(c.fact(code.PrefixHits, verdict.Num("share", hits, "share")))
		case known && hits <= templateShare:
		case r.Kind.Ask.CachedTokens != "":
			r.note(c.fact(code.Of("prompts.cache_unknown",
				"unknown for {unknown} of {of} requests of {subject} whether a cache answered the prompt: start the "+
					"engine with {flag}"),
				verdict.Int("unknown", found.Unknown), verdict.Int("of", found.Of),
				verdict.Text("flag", r.Kind.Ask.CachedTokens)))
		}
	}
	if !c.w.DepthCached || c.cell.Depth == 0 {
		return
	}
	switch found = recomputed; {
	case found.Worst > recomputedShare:
		r.invalid(c.fact(code.ContextLost, verdict.Int("requests", found.Requests), verdict.Int("of", found.Of),
			verdict.Int("tokens", found.Tokens)))
	case found.Unknown > 0:
		r.note(c.fact(code.Of("context.unknown",
			"unknown for {unknown} of {of} requests of {subject} whether they found their context in the "+
				"engine's prefix cache"),
			verdict.Int("unknown", found.Unknown), verdict.Int("of", found.Of)))
	}
}

// checkPromptLengths compares the requested lengths with the actual ones.
func (r *recording) checkPromptLengths(c sentCell) {
	// With ignore_eos, an engine that stops early did less work than the one it is compared
	// with.
	requests, of, tokens := 0, 0, 0
	for s := range measure.Answered(c.samples) {
		of++
		if missing := s.RequestedOutput - max(s.OutputTokens, 0); missing > 0 {
			requests, tokens = requests+1, tokens+missing
		}
	}
	if requests > 0 && c.w.IgnoreEOS {
		r.note(c.fact(code.Of("answers.short",
			"{requests} of {of} answers of {subject} were shorter than requested, by {tokens} tokens in all"),
			verdict.Int("requests", requests), verdict.Int("of", of), verdict.Int("tokens", tokens)))
	}
	d := load.Deviating(c.samples)
	method := verdict.Text("method", c.run.Prompts.Method)
	if d.Unknown > 0 {
		r.note(c.fact(code.Of("prompts.length_unknown",
			"prompt length unknown for {unknown} of {of} requests of {subject}: the engine reported none, or an "+
				"impossible one (counted by: {method})"),
			verdict.Int("unknown", d.Unknown), verdict.Int("of", d.Of), method))
	}
	switch {
	case d.Requests == 0:
	case c.run.Prompts.Own && c.run.Prompts.Verified && d.Far > 0:
		args := []verdict.Arg{
			verdict.Int("requests", d.Far), verdict.Int("of", d.Of),
			verdict.Int("sent", c.cell.Prompt), verdict.Int("most", d.Most), method,
		}
		if d.Least != d.Most {
			args = append(args, verdict.Int("least", d.Least))
		}
		r.invalid(c.fact(code.LengthCounted, args...))
	default:
		args := []verdict.Arg{verdict.Int("most", d.Most), method}
		if d.Least != d.Most {
			args = append(args, verdict.Int("least", d.Least))
		}
		if c.cell.Prompt > 0 {
			args = append(args, verdict.Int("want", c.cell.Prompt))
		}
		r.note(c.fact(code.Of("prompts.length_other",
			"prompts of {subject} were {least?{least} to }{most} tokens long instead of {want}{want!what was "+
				"requested} (counted by: {method})"),
			args...))
	}
}

// checkCounts notes if a server's counts contradict what it sent, which counts for nothing if
// that leaves no numbers.
func (r *recording) checkCounts(c sentCell) {
	unusable, of, why := 0, 0, error(nil)
	for s := range measure.Answered(c.samples) {
		of++
		if _, err := measure.Derive(s); err != nil {
			unusable, why = unusable+1, err
		}
	}
	if float64(unusable) > heldShare*float64(of) {
		r.invalid(c.fact(code.Unusable, verdict.Int("requests", unusable), verdict.Int("of", of), verdict.Err(why)))
	}
	n, example := 0, measure.Sample{}
	for _, s := range c.samples {
		if !s.Measured() || s.Doubts == "" {
			continue
		}
		if n++; n == 1 {
			example = s
		}
	}
	if n > 0 {
		r.note(c.fact(code.Of("answers.doubtful",
			"{answers|answer|answers} of {subject} doubtful (e.g. request {request}): {doubts}"),
			verdict.Int("answers", n), verdict.Int("request", example.Index), verdict.Text("doubts", example.Doubts)))
	}
}

// FindingOf is a finding in answers, without the cell, which its reader knows.
func FindingOf(f answers.Finding) verdict.Reason {
	example := []verdict.Arg{verdict.Int("request", f.Request.Index), verdict.Text("excerpt", f.Excerpt)}
	if f.Request.Turn > 0 {
		example = append(example, verdict.Int("turn", f.Request.Turn))
	}
	if f.Code == answers.Circles {
		example = append(example, verdict.Int("answers", f.Count), verdict.Int("of", f.Of),
			verdict.Int("reverse", f.Reverse))
		return verdict.Say("answers.circles",
			"{answers} of {of} answers loop or are empty where the parent's do not, {reverse} the other way "+
				"round, e.g. request {request}{turn?, turn {turn}}{causes?: {causes}} ({excerpt:q})",
			example...).From(SignOf(f.Sign))
	}
	return verdict.New(code.AnswerGarbage, example...).From(SignOf(f.Sign))
}

var signs = map[answers.Code]code.Fact{
	answers.Empty:      code.Of("text.empty", "empty"),
	answers.OnlyBroken: code.Of("text.only_broken", "nothing but replacement characters"),
	answers.Broken:     code.Of("text.broken", "{count} of {of} characters are replacement, control or private ones"),
	answers.NotNumbers: code.Of("text.not_numbers", "{count} of {of} words are NaN or infinite"),
	answers.OneWord:    code.Of("text.one_word", "{text:q} is {count} of {of} words"),
	answers.Repeated:   code.Of("text.repeated", "{text:q} over and over"),
	answers.TooEven:    code.Of("text.too_even", "character entropy of {bits:3} bits, less than any text has"),
	answers.TooRandom:  code.Of("text.too_random", "character entropy of {bits:3} bits, more than any text has"),
}

// SignOf is a sign in a text that sound text does not have.
func SignOf(s answers.Sign) verdict.Reason {
	var args []verdict.Arg
	if s.Of > 0 {
		args = append(args, verdict.Int("count", s.Count), verdict.Int("of", s.Of))
	}
	switch s.Code {
	case answers.OneWord, answers.Repeated:
		args = append(args, verdict.Text("text", s.Text))
	case answers.TooEven, answers.TooRandom:
		args = append(args, verdict.Num("bits", s.Value, "count"))
	}
	if s.FromStart {
		args = append(args, verdict.Text("from_start", "yes"))
	}
	f := signs[s.Code]
	return verdict.Say(f.Kind, f.Text+"{from_start?, from its beginning}", args...)
}

// heldShare of the answers may come in one piece, or be unusable, before a cell does not
// count: so few do not move medians, and each is named.
const heldShare = 0.1

// checkBuffering looks for answers that were not streamed as they were generated.
func (r *recording) checkBuffering(c sentCell) {
	found := load.FindBuffered(c.samples, r.Kind.Lag(c.w.MaxLag))
	// Short answers may come in one piece within that lag. If most did, medians of tg and
	// itl are the client's; a workload that declares max_lag accepts that.
	if all := load.FindBuffered(c.samples, 0); c.w.MaxLag == 0 && 2*all.Requests > all.Of {
		found = all
	}
	if found.Requests == 0 {
		return
	}
	tell := r.note
	if float64(found.Requests) > heldShare*float64(found.Of) {
		tell = r.invalid
	}
	tell(c.fact(code.HeldBack, verdict.Int("requests", found.Requests), verdict.Int("of", found.Of),
		verdict.Millis("longest", found.Longest)))
}

// overlongRoom is how many tokens more than requested an answer may have, and
// overlongShare how many of those: some servers also count the end of the text, or the
// last draft of a speculative decoder.
const (
	overlongRoom  = 2
	overlongShare = 0.05
)

// checkLength looks for answers with more tokens than requested. A server that ignores the
// limit did other work than the one it is compared with, and one that miscounts did less
// than it reports: both look fast.
func (r *recording) checkLength(c sentCell) {
	requests, of, most, asked := 0, 0, 0, 0
	for _, s := range c.samples {
		if !s.Measured() || s.Err != "" {
			continue
		}
		of++
		n := s.OutputTokens
		for _, e := range s.Events {
			n = max(n, e.Tokens)
		}
		if s.RequestedOutput < 1 ||
			n <= s.RequestedOutput+max(overlongRoom, int(overlongShare*float64(s.RequestedOutput))) {
			continue
		}
		requests++
		if n > most {
			most, asked = n, s.RequestedOutput
		}
	}
	if requests > 0 {
		r.invalid(c.fact(code.Overlong, verdict.Int("requests", requests), verdict.Int("of", of),
			verdict.Int("most", most), verdict.Int("asked", asked)))
	}
}

// bound reports for each cell what the machine allows. It runs when all are measured, as
// which GPUs the engine used is seen meanwhile.
func (r *recording) bound() {
	if r.Limit == nil {
		return
	}
	var names []string
	for _, uuid := range usedGPUs(r.Machine.GPUs, r.taken.Series) {
		names = append(names, r.Limit.GPUs[uuid])
	}
	machine, err := limit.Of(names)
	if err != nil || len(names) == 0 {
		return
	}
	for i := range r.sent {
		c := &r.sent[i]
		var tokens []float64 // that precede an answer, by the engine's counts
		for _, s := range c.samples {
			if s.Measured() && s.Err == "" && s.PromptTokens > 0 {
				tokens = append(tokens, float64(s.PromptTokens))
			}
		}
		before := float64(c.cell.Prompt + c.cell.Depth)
		if len(tokens) > 0 {
			slices.Sort(tokens)
			before = measure.Quantile(tokens, 0.5)
		}
		l := r.Limit.Model.Limit(machine, max(c.cell.Concurrency, 1), before)
		if l == nil {
			continue
		}
		l.Source = r.Limit.Source
		if c.w.Arrival != "" {
			l.Requests, l.StepGB = 0, 0 // an open loop has whatever concurrency results
		}
		c.run.Limit, r.taken.Cells[i].Limit = l, l
	}
}

// checkPossible looks for speeds that no machine of this kind can have.
func (r *recording) checkPossible(c sentCell) {
	l := c.run.Limit
	if most := l.MostSteps(); most > 0 {
		shortest := time.Duration(float64(time.Second) / most)
		if steps, known := stepRate(c.samples, shortest); known && steps > most {
			r.invalid(c.fact(code.DecodeBeyond, verdict.Num("steps", steps, "steps/s"),
				verdict.Num("most", most, "steps/s"),
				verdict.Num("least", l.LeastGB, "GB"), verdict.Num("bandwidth", l.BandwidthGBs, "GB/s"),
				verdict.Num("room", l.Room-1, "share"),
				verdict.Text("machine", l.Machine)))
		}
	}
	pp, known := r.taken.Metrics[c.cell.Address+".pp"].Stats["median"]
	if most := l.MostPrompt(); known && most > 0 && pp > most {
		r.invalid(c.fact(code.PrefillBeyond, verdict.Num("value", pp, "tok/s"), verdict.Num("most", most, "tok/s"),
			verdict.Num("each", l.PromptGFLOP, "GFLOP"), verdict.Num("rate", l.MostTFLOPs, "TFLOP/s"),
			verdict.Num("room", l.Room-1, "share"),
			verdict.Text("machine", l.Machine)))
	}
	if share, known := r.taken.Metrics[c.cell.Address+".tg_of_limit"].Stats["mean"]; known && share > 1 {
		r.note(c.fact(code.Of("work.above_formats",
			"{subject}: decode is faster than {bandwidth:4} allows in the formats of config.json: the engine "+
				"reads smaller formats than that names, decodes several tokens at once, or does less work"),
			verdict.Num("bandwidth", l.BandwidthGBs, "GB/s")))
	}
}

// mark keeps, for each prompt, the properties that its answer is checked against later:
// how much text it is, and how it differs from others.
func mark(samples []measure.Sample, sent prompt.Prompts) {
	for i := range samples {
		s := &samples[i]
		all := sent.Measured
		if s.Warmup {
			all = sent.Warmup
		}
		if s.Index >= len(all) || s.Turn > 0 || s.Context {
			continue
		}
		p := all[s.Index]
		digest := sha256.New()
		texts := []string{p.System, p.Context} // all prompts of a launch share the first
		for _, m := range p.Before {
			texts = append(texts, m.Content)
		}
		for _, text := range append(texts, p.Text) {
			s.PromptBytes += len(text)
			_, _ = io.WriteString(digest, text) // a hash accepts everything
		}
		s.PromptSum = hex.EncodeToString(digest.Sum(nil)[:8])
	}
}

// fastShare of the answers may come faster than a stream can: a client that is not
// scheduled for a moment finds several events at once. One of several shows nothing.
const fastShare = 0.1

var workFound = map[answers.WorkCode]code.Fact{
	answers.PromptText: code.Of("work.prompt_text",
		"{subject}: a prompt token of {one} covers {value:2} of text, one of {other} {other_value:2}: {one} "+
			"counts other tokens than it was sent"),
	answers.AnswerText: code.Of("work.answer_text",
		"{subject}: a generated token of {one} covers {value:2} of visible text, one of {other} {other_value:2}: "+
			"{one} counts tokens that it did not send, or sends pieces of tokens"),
	answers.PromptCount: code.Of("work.prompt_count",
		"{subject}: {one} counts {value:3} prompt tokens for each one by the tokenizer of {other}, {other} "+
			"itself {other_value:3}: {one} counts other tokens than it was sent"),
	answers.AnswerCount: code.Of("work.answer_count",
		"{subject}: {one} counts {value:3} answer tokens for each one by the tokenizer of {other}, {other} "+
			"itself {other_value:3}: {one} counts tokens that it did not send, or sends pieces of tokens"),
}

// WorkOf is how two arms differ that were to do the same work.
func WorkOf(f answers.WorkDifference, one, other string) verdict.Reason {
	unit := "bytes"
	switch f.Code {
	case answers.PromptCount, answers.AnswerCount:
		unit = "count"
	case answers.AnswerText:
		unit = "characters"
	}
	return verdict.New(workFound[f.Code], verdict.Text("one", one), verdict.Num("value", f.Candidate, unit),
		verdict.Text("other", other), verdict.Num("other_value", f.Parent, unit)).On(f.Cell)
}
