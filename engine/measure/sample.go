// Package measure defines raw samples as the client saw them, the catalogue of metrics,
// and how each metric is derived from samples. It is a leaf: standard library only, no
// clock, no I/O, so every stored number can be recomputed from stored samples.
package measure

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Kind is what an event of a stream carried.
type Kind uint8

const (
	// KindOther is a data event without generated text: the role chunk of a
	// chat, an empty delta.
	KindOther Kind = iota
	// KindText carried generated text of the answer.
	KindText
	// KindReasoning carried generated text of the reasoning.
	KindReasoning
	// KindUsage carried token counts and no text.
	KindUsage
	// KindDone is the end marker `data: [DONE]`.
	KindDone
	// KindTool carried generated text of a tool call: its name or arguments.
	KindTool
	// KindBlank carried generated text without visible characters (spaces, line breaks,
	// zero-width characters), before the first with some.
	KindBlank
)

// Event is one stream event as the client saw it.
type Event struct {
	// At is the monotonic time since the request was sent.
	At   time.Duration `parquet:"at_ns"`
	Kind Kind          `parquet:"kind"`
	// Tokens is the server's count of completion tokens generated up to and including
	// this event; -1 if the event has none.
	Tokens int `parquet:"tokens"`
	// Bytes is the length of the generated text it carried.
	Bytes int `parquet:"bytes"`
}

// TokenSource is where the number of output tokens comes from.
type TokenSource string

const (
	// SourceContinuousUsage: the server counted in every event.
	SourceContinuousUsage TokenSource = "continuous_usage"
	// SourceUsage: the server counted once, at the end.
	SourceUsage TokenSource = "usage"
	// SourceEvents: the server counted nothing, so text events were counted. A fallback,
	// named in the result, since an event may hold many tokens.
	SourceEvents TokenSource = "events"
)

// Sample is one request as seen by the client. It is kept raw: every metric is
// derived from samples and can be derived again. Its fields are the columns of the raw
// samples that are kept, one row a request (runtime/store).
type Sample struct {
	// Workload is the address of the cell that was sent: "chat", "chat.o32".
	Workload string `parquet:"workload,dict"`
	// Index is the ordinal of the request within its cell and launch, from 0; warm-up
	// requests are counted separately.
	Index int `parquet:"index"`
	// Warmup requests are kept but never measured.
	Warmup bool `parquet:"warmup"`
	// Context marks a request that only put a context into the engine's cache for the
	// next request; it is kept and never measured.
	Context bool `parquet:"context"`
	// Turn is the position of the request in its conversation, from 0.
	Turn int `parquet:"turn"`
	// Scheduled, Due and Start are on the monotonic clock of the launch's recording, with
	// its zero. Scheduled is when the request should have been sent: in an open loop by
	// the arrival process, in a closed loop when its slot became free. Due is when it
	// could be sent: later than Scheduled if a concurrency cap held it back. Start is
	// when it was sent. All three are 0 where that is unknown.
	Scheduled time.Duration `parquet:"scheduled_ns"`
	Due       time.Duration `parquet:"due_ns"`
	Start     time.Duration `parquet:"start_ns"`
	// OpenLoop is set if latencies count from Scheduled instead of Start, so a slow
	// engine cannot hide the requests that it kept waiting (coordinated omission).
	OpenLoop bool `parquet:"open_loop"`
	// Retries is how often the request was sent again because the engine asked for that
	// (429 or 503 with Retry-After) or closed a kept connection before answering; the
	// times of Events are since the first send. Status is the HTTP status that a request
	// failed with, else 0.
	Retries int `parquet:"retries"`
	Status  int `parquet:"status"`
	// Sent is the wall clock at the send, to align samples with logs. It is never
	// subtracted from another time: if a client leaves its monotonic reading in it,
	// engine/load derives Start from that and removes it.
	Sent time.Time `parquet:"sent_ns,optional,timestamp(nanosecond)"`
	// Late is how much later than it could have the client read at most while the answer
	// came, as far as noticed: it finds at once what arrived meanwhile. 0 if the workload
	// accepts as much.
	Late time.Duration `parquet:"late_ns"`
	// Events are the stream events in order of arrival.
	Events []Event `parquet:"events,list"`
	// PromptTokens and OutputTokens are the server's counts; -1 if unknown.
	PromptTokens int `parquet:"prompt_tokens"`
	OutputTokens int `parquet:"output_tokens"`
	// CachedTokens is how much of the prompt the server reports as cached; -1 if it does
	// not.
	CachedTokens int `parquet:"cached_tokens"`
	// RequestedOutput is the requested number of output tokens, RequestedPrompt that of
	// prompt tokens without ContextTokens, which precede them (depth, earlier turns, a
	// shared system prompt). 0 if nothing was requested.
	RequestedOutput int `parquet:"requested_output"`
	RequestedPrompt int `parquet:"requested_prompt"`
	ContextTokens   int `parquet:"context_tokens"`
	// SharedTokens is with how many of its tokens an earlier prompt of a trace began, by the trace.
	SharedTokens int `parquet:"shared_tokens,optional"`
	// PromptBytes is the length of the sent text, and PromptSum identifies prompts (the first 64 bits of
	// their SHA-256, in hex). 0 and empty if not determined.
	PromptBytes int    `parquet:"prompt_bytes"`
	PromptSum   string `parquet:"prompt_sum"`
	// TokenSource is who counted OutputTokens.
	TokenSource TokenSource `parquet:"token_source,dict"`
	// Finish is the finish_reason ("stop", "length").
	Finish    string `parquet:"finish,dict"`
	Text      string `parquet:"text"`
	Reasoning string `parquet:"reasoning"`
	// Tools is the generated text of tool calls: names of functions and their
	// arguments, in order of arrival.
	Tools string `parquet:"tools"`
	// Doubts are contradictions in an answer that could be read nevertheless: counts that
	// fall or do not fit the events, events after the end marker. Empty if there are
	// none; findings are derived from them.
	Doubts string `parquet:"doubts"`
	// Err is what went wrong, empty if the request was completely answered.
	Err string `parquet:"error"`
}

// Measured reports whether the request was sent to be measured: it is neither a warm-up
// nor one that only put a context into a cache.
func (s Sample) Measured() bool { return !s.Warmup && !s.Context }

// Common is with how many of its tokens an earlier prompt of a trace began: by the trace, or as the conversation
// before a later turn.
func (s Sample) Common() int {
	if s.Turn > 0 {
		return max(s.SharedTokens, s.ContextTokens)
	}
	return s.SharedTokens
}

// Answered yields the samples that were sent to be measured and were answered.
func Answered(samples []Sample) iter.Seq[Sample] {
	return func(yield func(Sample) bool) {
		for _, s := range samples {
			if s.Measured() && s.Err == "" && !yield(s) {
				return
			}
		}
	}
}

// HasText reports whether an event carried the model's output: the answer, its reasoning,
// or a tool call.
func (e Event) HasText() bool {
	return e.Kind == KindText || e.Kind == KindReasoning || e.Kind == KindTool
}

// Visible is a text without characters that show nothing: any white space, control and
// zero-width characters, fillers, variation selectors, and the blank Braille cell. They can
// be sent before anything is computed.
func Visible(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.In(r, unicode.Cf, unicode.Cc, unicode.Variation_Selector) ||
			strings.ContainsRune("\u115f\u1160\u2800\u3164\uffa0\u034f", r) {
			return -1
		}
		return r
	}, text)
}

// Values are the per-request metrics of one sample by name. All have one value except
// itl, which has one per token. A metric that the sample has no evidence for is absent;
// no value is NaN or infinite.
type Values map[string][]float64

// Derive computes every per-request metric that the sample alone has evidence for, as the
// catalogue defines them. It returns an error, and no values, for a sample that failed
// (Err), has no events, has negative or decreasing event times or decreasing token
// counts, or was sent before it was due.
func Derive(s Sample) (Values, error) { return derive(s, CellRun{}) }

// derive is Derive with what is known of the sample's cell: whether its context and the
// length of its answer were as requested.
func derive(s Sample, cell CellRun) (Values, error) {
	if err := check(s); err != nil {
		return nil, err
	}
	v := Values{}
	v.count("prompt_tokens", s.PromptTokens)
	v.count("output_tokens", s.OutputTokens)
	v.count("cached_tokens", s.CachedTokens)
	if s.recorded() {
		v.add("queue", ms(s.Due-s.Scheduled))
		v.count("context_tokens", s.ContextTokens)
		v.count("retries", s.Retries)
	}
	if cell.ExactOutput && s.RequestedOutput > 0 && s.OutputTokens >= 0 {
		v.add("shortfall", float64(s.RequestedOutput-s.OutputTokens))
	}
	once := func(name string, at time.Duration) {
		if _, seen := v[name]; !seen {
			v.add(name, ms(s.waited()+at))
		}
	}
	for _, e := range s.Events {
		if e.Kind != KindDone {
			once("ttfr", e.At)
		}
		if e.Kind == KindText || e.Kind == KindTool {
			once("ttft_answer", e.At)
		}
	}
	t := tokensOf(s)
	if len(t.steps) == 0 {
		return v, nil
	}
	first, last := t.steps[0], t.steps[len(t.steps)-1]
	v.add("ttft", ms(s.waited()+first.at))
	if cell.Trace != nil && plausible(s.PromptTokens) {
		v.add(byLength(s.PromptTokens), ms(s.waited()+first.at))
	}
	v.add("e2e", ms(s.waited()+last.at))
	if tokens, known := computed(s, cell); known && s.Retries == 0 && first.at > 0 {
		v.add("pp", float64(tokens)/first.at.Seconds())
	}
	if t.textEvents < 2 || s.readLate(t) {
		return v, nil
	}
	if span := last.at - first.at; span > 0 && t.after > 0 {
		v.add("tg", float64(t.after)/span.Seconds())
		v.add("tpot", ms(span)/float64(t.after))
	}
	if !t.counted {
		return v, nil
	}
	// Tokens that arrive together share the wait for them; a text event without a rise of
	// the count only passes its wait on to the next.
	var gaps []float64
	from := first.at
	for _, e := range t.steps[1:] {
		if e.tokens > 0 {
			gaps = append(gaps, slices.Repeat([]float64{ms(e.at-from) / float64(e.tokens)}, e.tokens)...)
			from = e.at
		}
	}
	if len(gaps) > 0 {
		v["itl"] = gaps // finite, as all of them are times over counts
	}
	return v, nil
}

// FastestStep is less than any engine's step takes: none makes 10,000 a second for one
// request.
const FastestStep = 100 * time.Microsecond

// ReadLate reports whether the client read so late that the answer shows no pace: a rate
// would be off by more than a half if its first text had come earlier by that much, and
// an engine can have generated all of it meanwhile.
func (s Sample) ReadLate() bool {
	t := tokensOf(s)
	return t.textEvents > 1 && s.readLate(t)
}

func (s Sample) readLate(t timeline) bool {
	span := t.steps[len(t.steps)-1].at - t.steps[0].at
	return span < 2*s.Late && s.Late >= time.Duration(t.textEvents)*FastestStep
}

// recorded reports whether the sample has the time it was sent.
func (s Sample) recorded() bool { return s.Scheduled != 0 || s.Due != 0 || s.Start != 0 }

// waited is the time before the send that counts as latency.
func (s Sample) waited() time.Duration {
	if s.OpenLoop {
		return s.Start - s.Scheduled
	}
	return 0
}

// inside reports whether a request was sent and answered within a window, as far as
// recorded.
func (s Sample) inside(w Window) bool {
	return !s.recorded() || (s.Start >= w.From && s.Start+s.Events[len(s.Events)-1].At <= w.To)
}

// computed is how many prompt tokens the server computed. It is known only if the prompt
// was counted and either none of it can have been cached or the server reports how much
// was; and if there were any.
func computed(s Sample, cell CellRun) (tokens int, known bool) {
	if s.CachedTokens < 0 && s.ContextTokens > 0 && !cell.UniqueContext {
		return 0, false
	}
	tokens = s.PromptTokens - max(s.CachedTokens, 0)
	return tokens, plausible(s.PromptTokens) && tokens > 0
}

// count adds a number that is -1 if unknown.
func (v Values) count(name string, n int) {
	if n >= 0 {
		v.add(name, float64(n))
	}
}

// add skips values that are not finite.
func (v Values) add(name string, x float64) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return
	}
	v[name] = append(v[name], x)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// step is one token event: tokens that arrived together.
type step struct {
	at time.Duration
	// tokens that arrived with it; 0 if unknown
	tokens int
}

// timeline is a sample's token events from the first text event on.
type timeline struct {
	steps      []step
	textEvents int
	// after is the number of tokens after the first step; -1 if unknown.
	after int
	// counted is set if every step's tokens are known.
	counted bool
}

// mostTokens is the maximum of tokens for an answer: far more than requested is a
// server's mistake, and each of them would be kept with its time.
func mostTokens(s Sample) int {
	if s.RequestedOutput > 0 && s.RequestedOutput < math.MaxInt32/16 {
		return 16*s.RequestedOutput + 1024
	}
	return 1 << 22
}

// check rejects a sample that no metric may be derived from.
func check(s Sample) error {
	if s.Err != "" {
		return fmt.Errorf("request failed: %s", s.Err)
	}
	if len(s.Events) == 0 {
		return errors.New("sample has no events")
	}
	if s.recorded() && (s.Scheduled < 0 || s.Due < s.Scheduled || s.Start < s.Due) {
		return fmt.Errorf("scheduled at %v, due at %v, sent at %v: times go backwards", s.Scheduled, s.Due, s.Start)
	}
	var last time.Duration
	count := 0
	for i, e := range s.Events {
		if e.At < 0 {
			return fmt.Errorf("event %d has a negative time (%v)", i, e.At)
		}
		if e.At < last {
			return fmt.Errorf("event %d at %v is earlier than the event before it, at %v", i, e.At, last)
		}
		last = e.At
		if e.Tokens < 0 {
			continue
		}
		if e.Tokens < count {
			return fmt.Errorf("the server's token count falls from %d to %d at event %d", count, e.Tokens, i)
		}
		if e.Tokens > mostTokens(s) {
			return fmt.Errorf("event %d claims %d tokens, but %d were requested", i, e.Tokens, s.RequestedOutput)
		}
		count = e.Tokens
	}
	return nil
}

// tokensOf finds the token events of a checked sample.
//
// With a count in every text event, tokens are differences of counts and an event in
// which the count rises is a token event even without text. Otherwise only the total is
// known: text events are the steps, and if there are fewer of them than tokens, the last
// event before the closing counts ends the answer.
func tokensOf(s Sample) timeline {
	perEvent := false
	for _, e := range s.Events {
		if !e.HasText() {
			continue
		}
		// A count of zero with text is from a server that fills in a number without
		// counting.
		if perEvent = e.Tokens >= 1; !perEvent {
			break
		}
	}
	if perEvent {
		return countedTimeline(s.Events)
	}
	return totalTimeline(s)
}

func countedTimeline(events []Event) timeline {
	t := timeline{counted: true}
	first, count := 0, 0
	var behind []int // steps with text that the count has not risen for yet: a token each, if it rises by that
	for _, e := range events {
		rose := e.Tokens > count && e.Kind != KindUsage && e.Kind != KindDone
		switch {
		case e.HasText() && t.textEvents == 0:
			first, count = e.Tokens, e.Tokens
			t.steps = append(t.steps, step{e.At, e.Tokens})
		case t.textEvents > 0 && (e.HasText() || rose):
			tokens := e.Tokens - count
			for len(behind) > 0 && tokens > 1 {
				t.steps[behind[0]].tokens = 1
				behind, tokens = behind[1:], tokens-1
			}
			if count = e.Tokens; tokens > 0 {
				behind = nil
			} else {
				behind = append(behind, len(t.steps))
			}
			t.steps = append(t.steps, step{e.At, tokens})
		}
		if e.HasText() {
			t.textEvents++
		}
	}
	t.after = count - first
	return t
}

func totalTimeline(s Sample) timeline {
	t := timeline{after: -1}
	var end time.Duration
	blank := 0 // one token each, as far as known
	bytes, first := 0, 0
	for _, e := range s.Events {
		if e.Kind == KindBlank {
			blank++
		}
		if e.HasText() {
			if t.textEvents++; t.textEvents == 1 {
				first = e.Bytes
			}
			bytes += e.Bytes
			t.steps = append(t.steps, step{at: e.At})
		}
		if e.Kind != KindUsage && e.Kind != KindDone {
			end = e.At
		}
	}
	if t.textEvents == 0 {
		return t
	}
	if s.OutputTokens >= 0 {
		t.after = s.OutputTokens - 1 - blank
	}
	// One token per event, if the totals agree: then the last text event is the last
	// token.
	silent := s.OutputTokens - blank - t.textEvents
	if silent == 0 || (silent == 1 && s.Finish == "stop") {
		t.counted = true
		for i := range t.steps {
			t.steps[i].tokens = 1
		}
	} else if silent > 0 && bytes > 0 {
		// Events hold several: the first has its part of them, as of the text.
		t.after -= max(0, int(math.Round(float64(s.OutputTokens-blank)*float64(first)/float64(bytes)))-1)
	}
	// Tokens without text may have come after the last text: the end-of-text token of an
	// answer that ended by itself, or any number of them.
	if last := t.steps[len(t.steps)-1]; silent > 0 && end > last.at {
		tokens := 0
		if t.counted {
			tokens = 1
		}
		t.steps = append(t.steps, step{end, tokens})
	}
	return t
}

// A quarter of a cell's answers, and fewestSharing, must open alike for that to be an
// opening which can be sent uncomputed: fewer do so by chance, and do not move a median.
const (
	sharing       = 4
	fewestSharing = 3
)

// addOwn adds to each answer the time of its first own token: the first behind the
// opening that it shares with a quarter of the others, in order of arrival and by visible
// text. It is the second token at the earliest, and the last if the others have all of it.
func addOwn(answers []answer) {
	type opening struct {
		answer
		steps  []step // at least two
		text   string
		upTo   []int // how much of the text was there after each event
		shared int   // how much of it others have
	}
	var all []*opening
	for _, a := range answers {
		if a.values == nil {
			continue
		}
		if t := tokensOf(*a.Sample); t.textEvents > 1 {
			text, upTo := a.arrived()
			all = append(all, &opening{a, t.steps, text, upTo, 0})
		}
	}
	// In alphabetical order those that open alike are neighbours.
	slices.SortFunc(all, func(a, b *opening) int { return cmp.Compare(a.text, b.text) })
	least := max(fewestSharing, (len(all)+sharing-1)/sharing)
	for i := range max(0, len(all)-least+1) {
		first, last, n := all[i].text, all[i+least-1].text, 0
		for n < min(len(first), len(last)) && first[n] == last[n] {
			n++
		}
		for _, o := range all[i : i+least] {
			o.shared = max(o.shared, n)
		}
	}
	for _, o := range all {
		at := o.steps[1].at
		if o.shared == len(o.text) && o.shared > 0 {
			at = o.steps[len(o.steps)-1].at
		} else if o.shared > 0 {
			own := slices.IndexFunc(o.upTo, func(n int) bool { return n > o.shared })
			at = max(at, o.Events[own].At)
		}
		o.values.add("ttft_own", ms(o.waited()+at))
	}
}

// arrived is the visible text of an answer in order of arrival, and how much of it there was
// after each event.
func (s Sample) arrived() (visible string, upTo []int) {
	left := map[Kind]string{KindText: s.Text, KindReasoning: s.Reasoning, KindTool: s.Tools}
	before := map[Kind]int{} // bytes that came in blank events
	for kind, text := range left {
		before[kind] = len(text)
	}
	for _, e := range s.Events {
		before[e.Kind] -= e.Bytes
	}
	for kind, text := range left {
		left[kind] = text[max(0, before[kind]):]
	}
	var b strings.Builder
	for _, e := range s.Events {
		if e.HasText() {
			n := min(e.Bytes, len(left[e.Kind]))
			b.WriteString(Visible(left[e.Kind][:n]))
			left[e.Kind] = left[e.Kind][n:]
		}
		upTo = append(upTo, b.Len())
	}
	return b.String(), upTo
}
