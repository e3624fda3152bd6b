package measure

// The definitions are what reports and docs print, so each stands by itself.
// A "token event" is an event that carried generated text, or one in which the
// server's own count rose without any text (a buffered or unprintable token).
// A server that counts only once, and more tokens than it sent text events, may
// have generated such silent tokens until it said that it had finished, so there
// the last event before the final counts stands for the last token: this can
// only make an engine look slower, by the time its finish marker took.
var requestMetrics = []Metric{
	{
		Name: "tg", Unit: "tok/s", Better: Higher, Scope: PerRequest,
		Evidence: "at least two text events and the number of output tokens",
		Definition: "Decode speed: output tokens after the first text event, divided by the time from it to the last token event. " +
			"The tokens of the first text event are taken from the server's per-event count; without one, it is assumed to hold one token.",
	},
	{
		Name: "pp", Unit: "tok/s", Better: Higher, Scope: PerRequest,
		Evidence: "the server's number of prompt tokens and a text event; behind a context that may have been cached, the server's number of cached tokens too",
		Definition: "Prefill speed: prompt tokens, less those the server says it had cached, divided by the time from the send to the first text event, in an open loop too. " +
			"No latency is subtracted: the time holds the network and the first decode step too. " +
			"The tokens of a context that was not cached are computed, and count: only behind a cached context is the depth left out. " +
			"A request that was sent again has none, since nobody knows when its prefill began.",
	},
	{
		Name: "pp_corrected", Unit: "tok/s", Better: Higher, Scope: PerRequest,
		Evidence: "as pp, and a workload that asks for a latency correction",
		Definition: "pp with the measured latency subtracted from its time: of a request that does nothing (api) or of one that generates one token (generation). " +
			"It is absent where the latency is not smaller than the time. Numbers of different corrections are not comparable.",
	},
	{
		Name: "ttfr", Unit: "ms", Better: Lower, Scope: PerRequest,
		Evidence:   "a data event",
		Definition: "Time to first response: from the send to the first data event, which may be empty (the role chunk of a chat)." + sinceScheduled,
	},
	{
		Name: "ttft", Unit: "ms", Better: Lower, Scope: PerRequest,
		Evidence:   "a text event",
		Definition: "Time to first token: from the send to the first event with generated text, reasoning and tool calls included." + sinceScheduled,
	},
	{
		Name: "ttft_corrected", Unit: "ms", Better: Lower, Scope: PerRequest,
		Evidence:   "as ttft, and a workload that asks for a latency correction",
		Definition: "ttft less the measured latency, as in pp_corrected. It is absent where the latency is not smaller than the time from the send to the first text event.",
	},
	{
		Name: "ttft_reasoning", Unit: "ms", Better: Lower, Scope: PerRequest,
		Evidence:   "an event with reasoning",
		Definition: "From the send to the first event with generated reasoning." + sinceScheduled,
	},
	{
		Name: "ttft_answer", Unit: "ms", Better: Lower, Scope: PerRequest,
		Evidence:   "an event with text of the answer or of a tool call",
		Definition: "From the send to the first event with generated text that is not reasoning: what a reader of the answer waits for." + sinceScheduled,
	},
	{
		Name: "tpot", Unit: "ms", Better: Lower, Scope: PerRequest,
		Evidence:   "as tg",
		Definition: "Time per output token after the first: 1000 / tg.",
	},
	{
		Name: "itl", Unit: "ms", Better: Lower, Scope: PerRequest,
		Evidence: "at least two text events, and how many tokens each holds",
		Definition: "Inter-token latency, one value a token: an event of k tokens that comes a gap after the token event before it gives k values of gap/k. " +
			"Without per-event counts it exists only where the counts show that every text event held one token.",
	},
	{
		Name: "e2e", Unit: "ms", Better: Lower, Scope: PerRequest,
		Evidence:   "a text event",
		Definition: "End-to-end latency: from the send to the last token event." + sinceScheduled,
	},
	{
		Name: "schedule_lag", Unit: "ms", Better: Lower, Scope: PerRequest,
		Evidence:   "a recording that says when each request was sent",
		Definition: "How much later than it could be sent the request was sent: the client's own delay. It is part of the latencies of an open loop.",
	},
	{
		Name: "queue", Unit: "ms", Better: Lower, Scope: PerRequest,
		Evidence:   "a recording that says when each request was sent",
		Definition: "How long the request was held back by the cap on concurrency, from when it was scheduled until it could be sent. It is part of the latencies of an open loop.",
	},
	{
		Name: "prompt_tokens", Unit: "tokens", Whole: true, Better: Neither, Scope: PerRequest,
		Evidence:   "the server's usage",
		Definition: "Tokens of the prompt as the server counted them, context and cached ones included.",
	},
	{
		Name: "context_tokens", Unit: "tokens", Whole: true, Better: Neither, Scope: PerRequest,
		Evidence:   "a recording that says when each request was sent",
		Definition: "Tokens that were to come before the prompt: depth, earlier turns, a shared system prompt. 0 where there were none.",
	},
	{
		Name: "output_tokens", Unit: "tokens", Whole: true, Better: Neither, Scope: PerRequest,
		Evidence:   "the server's usage; without it, text events are counted and the sample's token source says so",
		Definition: "Tokens generated, reasoning included.",
	},
	{
		Name: "cached_tokens", Unit: "tokens", Whole: true, Better: Neither, Scope: PerRequest,
		Evidence:   "the server's prompt token details",
		Definition: "Tokens of the prompt that the server says it had cached. More than were meant to be contaminate a measurement.",
	},
	{
		Name: "shortfall", Unit: "tokens", Whole: true, Better: Lower, Scope: PerRequest,
		Evidence:   "the number of output tokens, and a workload that enforces the length of answers",
		Definition: "Tokens that were asked for and not generated, at least 0.",
	},
	{
		Name: "retries", Unit: "count", Whole: true, Better: Lower, Scope: PerRequest,
		Evidence:   "a recording that says when each request was sent",
		Definition: "How often the request was sent again because the engine put it off (429, or 503 with Retry-After). All waiting is part of its latencies.",
	},
}

const sinceScheduled = " In an open loop it counts from when the request was scheduled, so that requests that were kept waiting show it."
