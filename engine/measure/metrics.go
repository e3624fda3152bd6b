package measure

import "slices"

// The definitions are what reports and docs print, so each stands by itself.
// A "token event" is an event that carried generated text, or one in which the
// server's own count rose without any text (a buffered or unprintable token).
// A server that counts only once, and more tokens than it sent text events, may
// have generated such silent tokens until it said that it had finished, so there
// the last event before the final counts stands for the last token: this can
// only make an engine look slower, by the time its finish marker took.
var catalogue = []Metric{
	{
		Name: "tg", Unit: "tok/s", Better: Higher, Scope: PerRequest,
		Evidence: "at least two text events and the number of output tokens",
		Definition: "Decode speed: output tokens after the first text event, divided by the time from it to the last token event. " +
			"The tokens of the first text event are taken from the server's per-event count; without one, it is assumed to hold one token.",
	},
	{
		Name: "pp", Unit: "tok/s", Better: Higher, Scope: PerRequest,
		Evidence: "the server's number of prompt tokens and a text event",
		Definition: "Prefill speed: prompt tokens, less those the server says it had cached, divided by TTFT. " +
			"No latency is subtracted: the time holds the network and the first decode step too.",
	},
	{
		Name: "ttfr", Unit: "ms", Better: Lower, Scope: PerRequest,
		Evidence:   "a data event",
		Definition: "Time to first response: from the send to the first data event, which may be empty (the role chunk of a chat).",
	},
	{
		Name: "ttft", Unit: "ms", Better: Lower, Scope: PerRequest,
		Evidence:   "a text event",
		Definition: "Time to first token: from the send to the first event with generated text, reasoning included.",
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
		Definition: "End-to-end latency: from the send to the last token event.",
	},
	{
		Name: "prompt_tokens", Unit: "tokens", Better: Neither, Scope: PerRequest,
		Evidence:   "the server's usage",
		Definition: "Tokens of the prompt as the server counted them, cached ones included.",
	},
	{
		Name: "output_tokens", Unit: "tokens", Better: Neither, Scope: PerRequest,
		Evidence:   "the server's usage; without it, text events are counted and the sample's token source says so",
		Definition: "Tokens generated, reasoning included.",
	},
	{
		Name: "cached_tokens", Unit: "tokens", Better: Neither, Scope: PerRequest,
		Evidence:   "the server's prompt token details",
		Definition: "Tokens of the prompt that the server says it had cached. More than none contaminates a measurement.",
	},
	{
		Name: "startup_s", Unit: "s", Better: Lower, Scope: PerLaunch,
		Evidence:   "a launch that became ready",
		Definition: "Time from the start of the process until the engine answered its readiness check.",
	},
	{
		Name: "first_request_s", Unit: "s", Better: Lower, Scope: PerLaunch,
		Evidence:   "a server that became ready and answered a request for one token",
		Definition: "Time of the first request after the start, for one token, which compiles what is compiled just in time. It is sent before anything else and is part of no other metric.",
	},
	{
		Name: "memory_gb", Unit: "GB", Better: Lower, Scope: PerLaunch,
		Evidence:   "the resident set of the engine's process group, watched while it ran",
		Definition: "Peak resident set of the engine's process group, in units of 1e9 bytes. It is host memory, and not what a GPU holds.",
	},
	{
		Name: "crashes", Unit: "count", Better: Lower, Scope: PerLaunch,
		Evidence:   "a launch",
		Definition: "How often the engine ended by itself while it should have served.",
	},
	{
		Name: "kv_capacity_tokens", Unit: "tokens", Better: Higher, Scope: PerLaunch, Observed: true,
		Evidence:   "the observation kv_capacity_tokens",
		Definition: "Tokens that the KV cache holds, as the engine says.",
	},
	{
		Name: "weights_gb", Unit: "GB", Better: Lower, Scope: PerLaunch, Observed: true,
		Evidence:   "the observation weights_gb",
		Definition: "Memory that the model's weights take, in units of 1e9 bytes, as the engine says.",
	},
}

// Catalogue returns every metric, in the order in which docs list them. The
// slice is the caller's.
func Catalogue() []Metric { return slices.Clone(catalogue) }

// Lookup returns the metric of that name.
func Lookup(name string) (Metric, bool) {
	for _, m := range catalogue {
		if m.Name == name {
			return m, true
		}
	}
	return Metric{}, false
}
