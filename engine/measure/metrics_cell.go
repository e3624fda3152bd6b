package measure

import "fmt"

// The window of a cell is from when its first measured request was due until
// its last one had ended. What counts up in the engine (tokens, drafts) is the
// difference between the last reading at or before the window's beginning and
// the first at or after its end, neither further away than 2 s; where the counter
// fell in between, the engine began to count anew and there is no difference.
var cellMetrics = []Metric{
	{
		Name: "tg_total", Unit: "tok/s", Better: Higher, Scope: PerCell,
		Evidence:   "the window of the cell, and the number of output tokens of every answered request",
		Definition: "Output tokens of all measured requests that were answered, divided by the length of the window: from when the first was due until the last had ended, so that filling up and running empty count.",
	},
	{
		Name: "pp_total", Unit: "tok/s", Better: Higher, Scope: PerCell,
		Evidence:   "as tg_total, of prompt tokens; behind a context that may have been cached, the server's number of cached tokens too",
		Definition: "Prompt tokens that the server computed (those it says it had cached are left out) for all measured requests that were answered, divided by the length of the window. It is a rate of work, not the speed of prefilling: see pp.",
	},
	{
		Name: "tg_peak", Unit: "tok/s", Better: Higher, Scope: PerCell,
		Evidence:   "a window of 1 s or more, and how many tokens every event holds",
		Definition: "The most output tokens of measured requests that arrived within any one second, its end excluded. An event of k tokens counts k at the time of its arrival.",
	},
	{
		Name: "requests_per_s", Unit: "req/s", Better: Higher, Scope: PerCell,
		Evidence:   "the window of the cell",
		Definition: "Measured requests that were answered, divided by the length of the window.",
	},
	{
		Name: "goodput", Unit: "req/s", Better: Higher, Scope: PerCell,
		Evidence:   "the window of the cell, and a workload with limits (slo)",
		Definition: "Measured requests that were answered within every limit of the workload, divided by the length of the window. Of itl every value has to keep its limit. A request without evidence for a limit is not good.",
	},
	{
		Name: "slo_attainment", Unit: "share", Better: Higher, Scope: PerCell,
		Evidence:   "a measured request, and a workload with limits (slo)",
		Definition: "The share of all measured requests, failed ones included, that were good as goodput has it.",
	},
	{
		Name: "duration_s", Unit: "s", Better: Neither, Scope: PerCell,
		Evidence:   "the window of the cell",
		Definition: "Length of the window: from when the first measured request was due until the last had ended.",
	},
	{
		Name: "errors", Unit: "count", Whole: true, Better: Lower, Scope: PerCell,
		Evidence:   "a measured request",
		Definition: "Measured requests that failed, or whose events contradict each other, so that nothing was derived from them.",
	},
	{
		Name: "error_rate", Unit: "share", Better: Lower, Scope: PerCell,
		Evidence:   "a measured request",
		Definition: "errors as a share of all measured requests.",
	},
	{
		Name: "retry_count", Unit: "count", Whole: true, Better: Lower, Scope: PerCell,
		Evidence:   "a recording that says when each request was sent",
		Definition: "How often measured requests, failed ones included, were sent again because the engine put them off.",
	},
	{
		Name: "reached_concurrency", Unit: "requests", Whole: true, Better: Neither, Scope: PerCell,
		Evidence:   "readings of the engine's number of running requests within the window, while requests were in flight",
		Definition: "Median of the number of requests that the engine itself said were running, over the readings within the window at which the client had requests in flight; of several engines behind one address the sum.",
	},
	{
		Name: "waiting", Unit: "requests", Better: Lower, Scope: PerCell,
		Evidence:   "readings of the engine's number of waiting requests within the window",
		Definition: "Mean of the number of requests that waited inside the engine, over the readings within the window.",
	},
	{
		Name: "engine_queue", Unit: "ms", Better: Lower, Scope: PerCell,
		Evidence:   "the engine's sum and count of queue times at both edges of the window",
		Definition: "Mean time that requests waited inside the engine before they were first scheduled, as the engine counts it, over the requests that it scheduled in the window.",
	},
	{
		Name: "accept_rate", Unit: "share", Better: Higher, Scope: PerCell,
		Evidence:   "the engine's counts of accepted and of drafted tokens at both edges of the window",
		Definition: "Speculative decoding: accepted tokens divided by drafted tokens, as differences of the engine's counts over the window. Rates that an engine publishes ready-made are not used: SGLang's has counted the step's own token in some versions.",
	},
	{
		Name: "accept_length", Unit: "tokens", Better: Higher, Scope: PerCell,
		Evidence: "the engine's counts of accepted tokens and of drafts at both edges of the window, or its gauge of the length",
		Definition: "Speculative decoding: tokens gained by a step, 1 + accepted tokens / drafts, as differences of the engine's counts over the window. " +
			"Of an engine that counts no drafts but publishes this length as a gauge (SGLang) it is the mean of the readings within the window.",
	},
	{
		Name: "prefix_hit_rate", Unit: "share", Better: Higher, Scope: PerCell,
		Evidence:   "the engine's counts of tokens looked up and found in its prefix cache at both edges of the window",
		Definition: "Share of the looked-up prompt tokens that the engine found in its prefix cache, as differences of its counts over the window. Requests that only put a context there are looked up too.",
	},
	{
		Name: "preemptions", Unit: "count", Whole: true, Better: Lower, Scope: PerCell,
		Evidence:   "the engine's count of preemptions at both edges of the window",
		Definition: "Requests that the engine interrupted within the window to make room for others.",
	},
	{
		Name: "kv_cache_usage", Unit: "share", Better: Lower, Scope: PerCell,
		Evidence:   "readings of the engine's KV cache usage within the window, while requests were in flight, and none within the window that is no share (0 to 1)",
		Definition: "Highest share of the KV cache in use, over the readings within the window at which the client had requests in flight; of several caches the fullest.",
	},
	{
		Name: "power_w", Unit: "W", Better: Lower, Scope: PerCell,
		Evidence:   "as energy_j",
		Definition: "Mean power of the GPUs over the window: energy_j / duration_s.",
	},
	{
		Name: "energy_j", Unit: "J", Better: Lower, Scope: PerCell,
		Evidence: "readings of the power of every GPU in use that reach beyond both edges of the window, with no gap over 2 s",
		Definition: "Energy of the GPUs over the window, idle power included, summed over GPUs: the integral of power by the trapezoidal rule, interpolated at the edges. " +
			"Instantaneous power is taken where the driver has it, else its average.",
	},
	{
		Name: "joules_per_token", Unit: "J/tok", Better: Lower, Scope: PerCell,
		Evidence:   "as energy_j and tg_total",
		Definition: "energy_j divided by the output tokens that tg_total counts. Prefilling is part of the energy.",
	},
	{
		Name: "tokens_per_joule", Unit: "tok/J", Better: Higher, Scope: PerCell,
		Evidence:   "as energy_j and tg_total",
		Definition: "Output tokens that tg_total counts, divided by energy_j.",
	},
	{
		Name: "gpu_memory_gb", Unit: "GB", Better: Lower, Scope: PerCell,
		Evidence:   "readings of the memory in use of every GPU within the window",
		Definition: "Peak memory in use on the GPUs within the window, whoever uses it, in units of 1e9 bytes: the sum of the GPUs' own peaks. Engines that reserve memory in advance show what they reserved. Absent on machines with unified memory.",
	},
	{
		Name: "gpu_process_memory_gb", Unit: "GB", Better: Lower, Scope: PerCell,
		Evidence:   "readings within the window of what the engine's processes hold of every GPU",
		Definition: "Peak memory that the engine's processes held on the GPUs within the window: the sum of the GPUs' own peaks.",
	},
	{
		Name: "engine_memory_gb", Unit: "GB", Better: Lower, Scope: PerCell,
		Evidence:   "readings of the engine's resident set within the window",
		Definition: "Peak resident set of the engine's processes within the window, in units of 1e9 bytes. It is host memory.",
	},
	{
		Name: "container_memory_gb", Unit: "GB", Better: Lower, Scope: PerCell,
		Evidence:   "readings of the memory of the engine's control group within the window",
		Definition: "Peak memory of the engine's container within the window, in units of 1e9 bytes, without files that are only kept in memory because nobody else needs it. It is host memory.",
	},
}

// draftPositions is how many positions of a draft have a metric: more than any
// published drafter proposes in a row.
const draftPositions = 8

// acceptPositions are accept_pos0 to accept_pos7.
func acceptPositions() []Metric {
	var all []Metric
	for i := range draftPositions {
		all = append(all, Metric{
			Name: fmt.Sprintf("accept_pos%d", i), Unit: "share", Better: Higher, Scope: PerCell,
			Evidence:   "the engine's count of accepted tokens by position and of drafts at both edges of the window",
			Definition: fmt.Sprintf("Speculative decoding: share of the drafts of which the token at position %d was accepted, counting from 0, as differences of the engine's counts over the window.", i),
		})
	}
	return all
}
