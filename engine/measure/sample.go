// Package measure knows what was measured and what it means: raw samples as
// the client saw them, the catalogue of metrics, and how each metric is derived
// from samples. It is a leaf: standard library only, no clock, no I/O, so that
// every stored number can be recomputed from stored samples.
package measure

import "time"

// Kind says what an event of a stream carried.
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
)

// Event is one stream event as the client saw it.
type Event struct {
	// At is the monotonic time since the request was sent.
	At time.Duration
	// Kind says what the event carried.
	Kind Kind
	// Tokens is the server's count of completion tokens generated up to and
	// including this event; -1 where the event does not say.
	Tokens int
	// Bytes is the length of the generated text it carried.
	Bytes int
}

// TokenSource says where the number of output tokens comes from.
type TokenSource string

const (
	// SourceContinuousUsage: the server counted in every event.
	SourceContinuousUsage TokenSource = "continuous_usage"
	// SourceUsage: the server counted once, at the end.
	SourceUsage TokenSource = "usage"
	// SourceEvents: the server counted nothing, so text events were counted.
	// A fallback: named in the result, since an event may hold many tokens.
	SourceEvents TokenSource = "events"
)

// Sample is one request as seen by the client. It is kept raw: every metric is
// derived from samples and can be derived again.
type Sample struct {
	// Workload is the address of the cell that was sent: "chat", "chat.o32".
	Workload string
	// Index is the ordinal of the request within its cell and launch, from 0;
	// warm-up requests are counted apart.
	Index int
	// Warmup requests are kept but never measured.
	Warmup bool
	// Context marks a request that only put a context into the engine's cache
	// for the request after it; it is kept and never measured.
	Context bool
	// Turn is the place of the request in its conversation, from 0.
	Turn int
	// Scheduled, Due and Start are on the monotonic clock of the launch's
	// recording, whose zero is Recording's. Scheduled is when the request should
	// have been sent: in an open loop by the arrival process, in a closed loop when
	// its place became free. Due is when it could be sent: later than Scheduled
	// where a cap on concurrency held it back. Start is when it was sent. All three
	// are 0 in samples of before this was recorded.
	Scheduled, Due, Start time.Duration
	// OpenLoop says that latencies count from Scheduled instead of Start, so that
	// a slow engine cannot hide the requests that it kept waiting (coordinated
	// omission).
	OpenLoop bool
	// Retries is how often the request was sent again because the engine asked
	// for that (429 or 503 with Retry-After) or closed a kept connection on it
	// before it answered; the times of Events are since the first send. Status is the HTTP status that a request failed with, else 0.
	Retries, Status int
	// Sent is the wall clock at the send, to align samples with logs. It is
	// never subtracted from another time: where a client leaves its monotonic
	// reading in it, engine/load makes Start of that and takes it out.
	Sent time.Time
	// Events are the stream events in order of arrival.
	Events []Event
	// PromptTokens and OutputTokens are the server's counts; -1 if unknown.
	PromptTokens, OutputTokens int
	// CachedTokens is how much of the prompt the server says it had cached;
	// -1 where it does not say.
	CachedTokens int
	// RequestedOutput is the number of output tokens asked for, RequestedPrompt
	// that of prompt tokens without ContextTokens, which come before them (depth,
	// earlier turns, a shared system prompt). 0 where nothing was asked for.
	RequestedOutput, RequestedPrompt, ContextTokens int
	// TokenSource says who counted OutputTokens.
	TokenSource TokenSource
	// Finish is the finish_reason ("stop", "length").
	Finish string
	// Text is the generated text, reasoning excluded.
	Text string
	// Reasoning is the generated reasoning text.
	Reasoning string
	// Tools is the generated text of tool calls: names of functions and their
	// arguments, in order of arrival.
	Tools string
	// Doubts are contradictions in an answer that was read nevertheless: counts
	// that fall or do not fit the events, events after the end marker. Empty where
	// there are none; findings are made of them.
	Doubts string
	// Err is what went wrong, empty when the request was answered whole.
	Err string
}

// Measured reports whether the request was sent to be measured: it is neither a
// warm-up nor one that only put a context into a cache.
func (s Sample) Measured() bool { return !s.Warmup && !s.Context }

// HasText reports whether an event carried what the model wrote: the answer, its
// reasoning, or the call of a tool.
func (e Event) HasText() bool {
	return e.Kind == KindText || e.Kind == KindReasoning || e.Kind == KindTool
}
