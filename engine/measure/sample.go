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
	// Sent is the wall clock at the send, to align samples with logs. It is
	// never subtracted from another time.
	Sent time.Time
	// Events are the stream events in order of arrival.
	Events []Event
	// PromptTokens and OutputTokens are the server's counts; -1 if unknown.
	PromptTokens, OutputTokens int
	// CachedTokens is how much of the prompt the server says it had cached;
	// -1 where it does not say.
	CachedTokens int
	// RequestedOutput is the number of output tokens asked for.
	RequestedOutput int
	// TokenSource says who counted OutputTokens.
	TokenSource TokenSource
	// Finish is the finish_reason ("stop", "length").
	Finish string
	// Text is the generated text, reasoning excluded.
	Text string
	// Reasoning is the generated reasoning text.
	Reasoning string
	// Err is what went wrong, empty when the request was answered whole.
	Err string
}
