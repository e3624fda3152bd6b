package measure

import "slices"

// Better is the direction in which a metric improves.
type Better string

const (
	// Higher is better: speeds.
	Higher Better = "higher"
	// Lower is better: latencies, memory.
	Lower Better = "lower"
	// Neither: counts that are only checked.
	Neither Better = ""
)

// Scope is what a metric belongs to.
type Scope string

const (
	// PerRequest metrics have one value per request (itl: one per token) and are
	// addressed below a workload: chat.tg.
	PerRequest Scope = "request"
	// PerCell metrics have one value per cell of a workload and launch, and are addressed
	// below the workload as well: chat.c16.tg_total.
	PerCell Scope = "cell"
	// PerLaunch metrics have one value per launch and are addressed below engine:
	// engine.startup_s.
	PerLaunch Scope = "launch"
	// PerGPU and PerHost metrics have one value per launch, over the time in which
	// requests were measured, and are addressed below gpu and host: gpu.power_w,
	// host.cpu_share.
	PerGPU  Scope = "gpu"
	PerHost Scope = "host"
)

// Facet is the aspect of a workload that a metric describes.
type Facet string

const (
	OfFirstText  Facet = "first text"
	OfDecode     Facet = "decode"
	OfWhole      Facet = "whole answers"
	OfThroughput Facet = "throughput"
	OfGoals      Facet = "goals"
	OfErrors     Facet = "errors"
	OfWaiting    Facet = "waiting"
	OfDrafts     Facet = "drafts"
	OfPrefixes   Facet = "prefixes"
	OfPreempted  Facet = "preempted"
	OfEnergy     Facet = "energy"
	OfGPUMemory  Facet = "GPU memory"
	OfHostMemory Facet = "host memory"
)

// Metric is one entry of the catalogue, the single source of a metric's name,
// unit, direction and meaning for rules, reports and docs.
type Metric struct {
	// Name is the path element in rules: "tg", "startup_s".
	Name string
	// Unit of each of its statistics except cv and n.
	Unit   string
	Better Better
	// Scope is where it is addressed.
	Scope Scope
	// Observed is set if its value is what the engine reports under the same name.
	Observed bool
	// Whole is set if each of its values is a whole number of its unit: counted, or read
	// in steps of one. A quotient or mean is not, whatever its value.
	Whole bool
	// MayBeZero is set if it may be zero, whatever its unit: waiting need not occur, and
	// no request need be good.
	MayBeZero bool
	// OfText is set if it only exists for answers with text, OfTrace if it does for recorded traffic.
	OfText, OfTrace bool
	// Facet is the aspect of a workload it describes: metrics of one facet show the same
	// in another way, so one of them is enough to report that it got worse. It is empty
	// for the client's own, and for what an engine may do as it likes.
	Facet Facet
	// Evidence is what must have been recorded for it to exist.
	Evidence   string
	Definition string
}

// catalogue holds every metric in the order of the docs. Lookup finds the first of a
// name, so metrics addressed below a workload or engine precede a GPU's or the host's of
// the same name.
var catalogue = slices.Concat(scoped(PerRequest, requestMetrics), scoped(PerCell, cellMetrics),
	scoped(PerLaunch, launchMetrics),
	scoped(PerGPU, gpuMetrics), scoped(PerHost, hostMetrics))

func scoped(scope Scope, metrics []Metric) []Metric {
	for i := range metrics {
		metrics[i].Scope = scope
	}
	return metrics
}

func define(m Metric, evidence, definition string) Metric {
	m.Evidence, m.Definition = evidence, definition
	return m
}

// Catalogue returns every metric, in the order of the docs. The slice is the caller's.
func Catalogue() []Metric { return slices.Clone(catalogue) }

// Lookup returns the metric of that name. Metrics of the engine, its GPUs and the host
// may share a name (memory_gb): this finds the engine's, and LookupIn the others.
func Lookup(name string) (Metric, bool) { return LookupIn(name) }

// LookupIn returns the metric of that name in one of the scopes, or in any if none is
// given.
func LookupIn(name string, scopes ...Scope) (Metric, bool) {
	for _, m := range catalogue {
		if m.Name == name && (len(scopes) == 0 || slices.Contains(scopes, m.Scope)) {
			return m, true
		}
	}
	return Metric{}, false
}

// MayBeZero reports whether a value is a count, a share or waiting, which need not occur, rather
// than a speed, size or time, which is more than zero.
func MayBeZero(cell, metric, unit string) bool {
	if m, ok := Lookup(metric); ok && m.MayBeZero {
		return true
	}
	switch unit {
	case "count", "share", "requests", "°C":
		return true
	}
	return unit == "tokens" && cell != ""
}

// InLogs reports whether launches are averaged in logs in a statistic of a metric: rules and tables
// have one mean.
func InLogs(cell, metric, stat, unit string, better Better) bool {
	return better != "" && stat != "std" && stat != "cv" && !MayBeZero(cell, metric, unit)
}

// LookupAddress returns the metric at an address: "chat.c16.tg", "engine.startup_s".
func LookupAddress(address string) (Metric, bool) {
	cell, name := SplitAddress(address)
	switch cell {
	case "engine":
		return LookupIn(name, PerLaunch)
	case string(PerGPU), string(PerHost):
		return LookupIn(name, Scope(cell))
	}
	return LookupIn(name, PerRequest, PerCell)
}

// Path is the metric's path in rules, with <workload> for a cell's address:
// "<workload>.tg", "engine.startup_s", "gpu.power_w".
func (m Metric) Path() string {
	switch m.Scope {
	case PerLaunch:
		return "engine." + m.Name
	case PerGPU, PerHost:
		return string(m.Scope) + "." + m.Name
	}
	return "<workload>." + m.Name
}

const ofTrace = "a text event and the server's number of prompt tokens, of a workload with a trace"

// The definitions are printed by reports and docs, so each is self-contained. A "token
// event" is an event that carried generated text, or one in which the server's own count
// rose without any text (a buffered or unprintable token). A server that counts only
// once, and more tokens than it sent text events, may have generated such silent tokens
// until it reported that it had finished, so the last event before the final counts
// stands for the last token: this can only make an engine look slower, by the time its
// finish marker took.
var requestMetrics = []Metric{
	define(Metric{Name: "tg", Unit: "tok/s", Better: Higher, Facet: OfDecode, OfText: true},
		"at least two text events and the number of output tokens",
		"Decode speed: output tokens after the first text event, per time until the last. "+
			"The tokens of the first text event are taken from the server's per-event count; without one, of fewer "+
			"events than tokens it has its part of the text, and is assumed to hold at least one."),
	define(Metric{Name: "pp", Unit: "tok/s", Better: Higher, Facet: OfFirstText, OfText: true},
		"the server's number of prompt tokens and a text event; after a context that may be cached, also the "+
			"server's number of cached tokens",
		"Prefill speed: uncached prompt tokens, per time from the send to the first text event. So it is in an open "+
			"loop too; cached tokens are those the server reports. No latency is subtracted: the time includes the "+
			"network and the first decode step. Tokens of a context that was not cached count, because they are "+
			"computed: only after a cached context is the depth excluded. A request that was resent has none, "+
			"because the start of its prefill is unknown."),
	define(Metric{Name: "ttfr", Unit: "ms", Better: Lower, Facet: OfFirstText},
		"a data event",
		"Time to first response: to the first data event, which may be empty. The role chunk of a chat is."+
			sinceScheduled),
	define(Metric{Name: "ttft", Unit: "ms", Better: Lower, Facet: OfFirstText, OfText: true},
		"a text event",
		"Time to first token: to the first visible text, reasoning and tool calls included. Leading spaces, line "+
			"breaks and zero-width characters do not count as text."+sinceScheduled),
	define(Metric{Name: "ttft_to_256", Unit: "ms", Better: Lower, OfText: true, OfTrace: true}, ofTrace,
		"ttft of prompts of at most 256 tokens, of a trace."),
	define(Metric{Name: "ttft_to_1k", Unit: "ms", Better: Lower, OfText: true, OfTrace: true}, ofTrace,
		"ttft of prompts of 257 to 1,024 tokens, of a trace."),
	define(Metric{Name: "ttft_to_4k", Unit: "ms", Better: Lower, OfText: true, OfTrace: true}, ofTrace,
		"ttft of prompts of 1,025 to 4,096 tokens, of a trace."),
	define(Metric{Name: "ttft_to_16k", Unit: "ms", Better: Lower, OfText: true, OfTrace: true}, ofTrace,
		"ttft of prompts of 4,097 to 16,384 tokens, of a trace."),
	define(Metric{Name: "ttft_longer", Unit: "ms", Better: Lower, OfText: true, OfTrace: true}, ofTrace,
		"ttft of prompts of more than 16,384 tokens, of a trace."),
	define(Metric{Name: "ttft_own", Unit: "ms", Better: Lower, Facet: OfFirstText, OfText: true},
		"at least two text events",
		"Time to first own token: to the first behind an opening that many answers share. Shared is, as visible text "+
			"in order of arrival, what a quarter of the cell's answers, at least three, have too, "+
			"but not before the token event after the first text; to the last one if the whole answer is shared. "+
			"Sending the first text or a usual opening early does not reduce it."+sinceScheduled),
	define(Metric{Name: "ttft_answer", Unit: "ms", Better: Lower, Facet: OfFirstText},
		"an event with text of the answer or a tool call",
		"Time to the first text that is not reasoning. So long a reader waits for the answer."+sinceScheduled),
	define(Metric{Name: "tpot", Unit: "ms", Better: Lower, Facet: OfDecode},
		"the evidence of tg",
		"Time per output token after the first: 1000 / tg."),
	define(Metric{Name: "itl", Unit: "ms", Better: Lower, Facet: OfDecode, OfText: true},
		"at least two text events, and the number of tokens of each",
		"Inter-token latency: an event of k tokens gives k values of its gap/k. The gap is from the previous token "+
			"event; text events before it in which the count did not rise have had one of them each. "+
			"Without per-event counts, it only exists if the totals show that every text event held one token."),
	define(Metric{Name: "e2e", Unit: "ms", Better: Lower, Facet: OfWhole, OfText: true},
		"a text event",
		"End-to-end latency: from the send to the last token event."+sinceScheduled),
	define(Metric{Name: "queue", Unit: "ms", MayBeZero: true, Better: Lower},
		"a recording that says when each request was sent",
		"How long the cap on concurrency held the request back. It counts from the scheduled time until the request "+
			"could be sent. Part of the latencies of an open loop."),
	define(Metric{Name: "prompt_tokens", Unit: "tokens", Whole: true, Better: Neither},
		"the server's usage",
		"Prompt tokens as counted by the server, including context and cached ones."),
	define(Metric{Name: "context_tokens", Unit: "tokens", Whole: true, Better: Neither},
		"a recording that says when each request was sent",
		"Intended tokens before the prompt: depth, earlier turns, a shared system prompt. It is 0 if there are none."),
	define(Metric{Name: "output_tokens", Unit: "tokens", Whole: true, Better: Neither},
		"the server's usage; without it, text events are counted, as the sample's token source says",
		"Generated tokens, including reasoning."),
	define(Metric{Name: "cached_tokens", Unit: "tokens", Whole: true, Better: Neither},
		"the server's prompt token details",
		"Prompt tokens that the server reports as cached. More than intended contaminate a measurement."),
	define(Metric{Name: "shortfall", Unit: "tokens", Whole: true, Better: Lower},
		"the number of output tokens, and a workload that enforces answer length",
		"Requested tokens that were not generated; below 0 if more were generated than requested."),
	define(Metric{Name: "retries", Unit: "count", Whole: true, Better: Lower},
		"a recording that says when each request was sent",
		"How often the request was resent because the engine deferred it. It defers with 429, or 503 with "+
			"Retry-After. All waiting is part of its latencies."),
}

const sinceScheduled = " In an open loop it counts from the schedule."

// The window of a cell is from when its first measured request was due until its last one
// had ended. A counter of the engine (tokens, drafts) is the difference between the last
// reading at or before the window's start and the first at or after its end, neither
// further away than 2 s; if the counter fell in between, the engine restarted counting
// and there is no difference.
var cellMetrics = []Metric{
	define(Metric{Name: "tg_total", Unit: "tok/s", Better: Higher, Facet: OfThroughput},
		"the window of the cell, and the output token count of every answered request",
		"Output tokens of all answered requests, per length of the window. The window is from when the first was due "+
			"until the last ended, including ramp-up and drain."),
	define(Metric{Name: "pp_total", Unit: "tok/s", Better: Higher, Facet: OfThroughput},
		"the evidence of tg_total, of prompt tokens; after a context that may be cached, also the server's number of "+
			"cached tokens",
		"Uncached prompt tokens of all answered requests, per length of the window. A rate of work, not prefill "+
			"speed: see pp. None of a trace, where it only shows what a cache spared."),
	define(Metric{Name: "requests_per_s", Unit: "req/s", Better: Higher, Facet: OfThroughput},
		"the window of the cell",
		"Answered requests, per length of the window."),
	define(Metric{Name: "goodput", Unit: "req/s", MayBeZero: true, Better: Higher, Facet: OfGoals},
		"the window of the cell, and a workload with limits (slo)",
		"Requests answered within every limit of the workload, per length of the window. Every itl value must be "+
			"within its limit. A request without evidence for a limit is not good."),
	define(Metric{Name: "slo_attainment", Unit: "share", Better: Higher, Facet: OfGoals},
		"a measured request, and a workload with limits (slo)",
		"Share of all requests, including failed ones, that are good as in goodput."),
	define(Metric{Name: "capacity", Unit: "req/s", Better: Higher, Facet: OfGoals},
		"a workload with capacity, a rate that kept its limits (slo) and one that did not, both within what the "+
			"client can send",
		"Largest rate of an open loop at which the workload's limits (slo) are kept. It is where the share of "+
			"requests within a limit crosses the required one, estimated from all probes of the launch; of several "+
			"limits, the first crossed. Failed requests are within no limit. A probe in which the client was late "+
			"does not count."),
	define(Metric{Name: "errors", Unit: "count", Whole: true, Better: Lower, Facet: OfErrors},
		"a measured request",
		"Requests that failed, or whose events contradict each other. Nothing is derived from them."),
	define(Metric{Name: "error_rate", Unit: "share", Better: Lower, Facet: OfErrors},
		"a measured request",
		"errors as a share of all measured requests."),
	define(Metric{Name: "retry_count", Unit: "count", Whole: true, Better: Lower},
		"a recording that says when each request was sent",
		"How often requests, including failed ones, were resent because the engine deferred them."),
	define(Metric{Name: "reached_concurrency", Unit: "requests", Whole: true, Better: Neither},
		"readings of the engine's number of running requests within the window, while requests were in flight",
		"Median number of running requests that the engine reported. It is over the readings within the window while "+
			"the client had requests in flight, summed over several engines behind one address."),
	define(Metric{Name: "waiting", Unit: "requests", Better: Lower, Facet: OfWaiting},
		"readings of the engine's number of waiting requests within the window",
		"Mean number of requests waiting in the engine. It is over the readings within the window."),
	define(Metric{Name: "engine_queue", Unit: "ms", MayBeZero: true, Better: Lower, Facet: OfWaiting},
		"the engine's sum and count of queue times at both edges of the window",
		"Mean time that requests waited in the engine, by its own count. It ends when they are first scheduled, and "+
			"is over the requests that it scheduled in the window."),
	define(Metric{Name: "tg_of_limit", Unit: "share", Better: Higher},
		"tg, a model with known config.json, and GPUs with a known data sheet; a closed loop; with several tokens "+
			"per event, accept_length",
		"Decode speed as a share of the limit by memory bandwidth. It is the median of tg, divided by accept_length "+
			"if there is one, as a share of the steps per second at which the GPUs can read a step's weights and KV "+
			"cache. Weights count in the formats of config.json, the KV cache in 16 bits, and experts as many as the "+
			"concurrent requests use on average. More than 1 is possible if the engine reads smaller formats than "+
			"those of the config."),
	define(Metric{Name: "pp_of_limit", Unit: "share", Better: Higher},
		"pp, model and GPUs as for tg_of_limit, and one request at a time",
		"Prefill speed as a share of the limit by arithmetic. It is the median of pp, as a share of their dense rate "+
			"for the formats of config.json divided by two operations per parameter that a prompt token is "+
			"multiplied with."),
	define(Metric{Name: "accept_rate", Unit: "share", Better: Higher, Facet: OfDrafts},
		"the engine's counts of accepted and of drafted tokens at both edges of the window",
		"Speculative decoding: accepted tokens / drafted tokens. Both are differences of the engine's counts over "+
			"the window. Its statistics pos1, pos2, … are by position in the draft: the share of drafts whose token "+
			"there was accepted, if the engine counts accepted tokens by position (vLLM, llama.cpp). Rates published "+
			"by an engine are not used: SGLang's has counted the step's own token in some versions."),
	define(Metric{Name: "accept_length", Unit: "tokens", Better: Higher, Facet: OfDrafts},
		"the engine's counts of accepted tokens and of drafts at both edges of the window, or its gauge of the length",
		"Speculative decoding: tokens per step, 1 + accepted tokens / drafts. Both are differences of the engine's "+
			"counts over the window. For an engine that does not count drafts but publishes this length as a gauge "+
			"(SGLang), the mean of the readings within the window."),
	define(Metric{Name: "prefix_hit_rate", Unit: "share", Better: Higher, Facet: OfPrefixes},
		"the engine's counts of tokens looked up and found in its prefix cache at both edges of the window",
		"Share of looked-up prompt tokens that the engine found in its prefix cache. It is by differences of its "+
			"counts over the window. Requests that only cache a context are looked up too."),
	define(Metric{Name: "prefix_shared", Unit: "share", Better: Neither, OfTrace: true},
		"a trace whose prompts are given by lengths, and the server's number of prompt tokens",
		"Share of prompt tokens with which an earlier prompt of the trace began. A prefix cache without limits would "+
			"find that much."),
	define(Metric{Name: "prefix_found", Unit: "share", Better: Higher, Facet: OfPrefixes, OfTrace: true},
		"prefix_shared above 0, and the server's number of cached tokens of every request or the evidence of "+
			"prefix_hit_rate",
		"Share of the tokens of prefix_shared that the engine found in its cache. It is less than 1 "+
			"where the cache lost them, or had not computed them yet."),
	define(Metric{Name: "preemptions", Unit: "count", Whole: true, Better: Lower, Facet: OfPreempted},
		"the engine's count of preemptions at both edges of the window",
		"Requests that the engine preempted within the window."),
	define(Metric{Name: "kv_cache_usage", Unit: "share", Better: Lower},
		"readings of the engine's KV cache usage within the window, while requests were in flight, all of them "+
			"shares (0 to 1)",
		"Highest share of the KV cache in use; of several caches, the fullest. It is over the readings within the "+
			"window while the client had requests in flight."),
	define(Metric{Name: "power_w", Unit: "W", Better: Lower},
		"the evidence of energy_j",
		"Mean power of the GPUs: energy_j per length of the window."),
	define(Metric{Name: "energy_j", Unit: "J", Better: Lower, Facet: OfEnergy},
		"readings of the power of every GPU in use that reach beyond both edges of the window, with no gap over 2 s",
		"Energy of the GPUs over the window, idle power included. It is summed over GPUs: the integral of power by "+
			"the trapezoidal rule, interpolated at the edges. "+
			"Uses instantaneous power if the driver reports it, otherwise its average."),
	define(Metric{Name: "tokens_per_joule", Unit: "tok/J", Better: Higher, Facet: OfEnergy},
		"the evidence of energy_j and tg_total",
		"Output tokens of tg_total, divided by energy_j."),
	define(Metric{Name: "gpu_memory_gb", Unit: "GB", Better: Lower, Facet: OfGPUMemory},
		"readings of the memory in use of every GPU within the window",
		"Peak memory in use on the GPUs, by any process. It is the sum of the GPUs' own peaks within the window, in "+
			"units of 1e9 bytes. Engines that reserve memory in advance show what they reserved. Absent on machines "+
			"with unified memory: see gpu.memory_in_use_gb."),
	define(Metric{Name: "gpu_memory_in_use_gb", Unit: "GB", Better: Lower, Facet: OfGPUMemory},
		"readings within the window of the memory in use of every GPU, or of the host's if a GPU shares it",
		"gpu_memory_gb, or the host memory in use where a GPU shares it (GB10). So it is the peak of the memory that "+
			"the GPUs work in, by any process, within the window, in units of 1e9 bytes."),
	define(Metric{Name: "engine_memory_gb", Unit: "GB", Better: Lower, Facet: OfHostMemory},
		"readings of the engine's memory within the window",
		"Peak host memory of the engine's processes. It is within the window, in units of 1e9 bytes: their resident "+
			"sets, with memfds, files in /dev/shm, System V segments and huge pages once for all of them."),
}

// Metrics of the machine are taken over the windows of all cells of a launch together, so
// warm-ups and pauses between cells do not count.
var gpuMetrics = []Metric{
	define(Metric{Name: "idle_power_w", Unit: "W", Better: Lower},
		"readings of the power of every GPU in use over at least 1 s before the first request",
		"Power of the GPUs with the engine loaded and idle. It is the lowest mean over any second of the last 5 s "+
			"before the first request (including warm-ups), summed over GPUs."),
	define(Metric{Name: "power_w", Unit: "W", Better: Lower},
		"the evidence of energy_j",
		"Mean power: energy_j per length of the windows. It is summed over GPUs, over the windows of all cells."),
	define(Metric{Name: "peak_power_w", Unit: "W", Better: Lower},
		"readings of the power of every GPU in use within the windows",
		"Highest reading of power: the sum of the GPUs' own peaks. They can occur at different times within the "+
			"windows of all cells."),
	define(Metric{Name: "energy_j", Unit: "J", Better: Lower},
		"readings of the power of every GPU in use that reach beyond the edges of every window, with no gap over 2 s",
		"Energy, summed over GPUs. It is over the windows of all cells: the integral of power by the trapezoidal "+
			"rule, interpolated at the edges. "+
			"Uses instantaneous power if the driver reports it, otherwise its average."),
	define(Metric{Name: "memory_gb", Unit: "GB", Better: Lower},
		"readings of the memory in use of every GPU within the windows",
		"Peak memory in use, by any process. It is the sum of the GPUs' own peaks within the windows of all cells, "+
			"in units of 1e9 bytes. Engines that reserve memory in advance show what they reserved. Absent on "+
			"machines with unified memory: see gpu.memory_in_use_gb."),
	define(Metric{Name: "memory_in_use_gb", Unit: "GB", Better: Lower},
		"readings within the windows of the memory in use of every GPU, or of the host's if a GPU shares it",
		"gpu.memory_gb, or the host memory in use where a GPU shares it (GB10). So it is the peak of the memory that "+
			"the GPUs work in, by any process, within the windows of all cells, in units of 1e9 bytes; host memory "+
			"in use is total less available, counted once. Available on both kinds of machine; process_memory_gb is "+
			"that of the engine alone."),
	define(Metric{Name: "process_memory_gb", Unit: "GB", Better: Lower},
		"readings within the windows of the memory of the engine's processes on every GPU",
		"Peak memory of the engine's processes on the GPUs. It is as listed by nvidia-smi or amd-smi, the sum of the "+
			"GPUs' own peaks within the windows of all cells. Also available with unified memory; absent in a "+
			"container that does not see the machine's processes."),
	define(Metric{Name: "clock_mhz", Unit: "MHz", Whole: true, Better: Neither},
		"readings of the SM clock of every GPU within the windows",
		"Median SM clock; of several GPUs, the lowest. It is over the readings within the windows of all cells."),
	define(Metric{Name: "temperature_c", Unit: "°C", Whole: true, Better: Lower},
		"readings of the temperature of every GPU within the windows",
		"Highest temperature of any GPU. It is within the windows of all cells."),
	define(Metric{Name: "throttled_share", Unit: "share", Better: Lower},
		"readings of the throttle reasons of every GPU, over the entire windows",
		"Share of the windows throttled by heat, power brake, hardware slowdown or unknown reason. They are the "+
			"windows of all cells; of several GPUs, it is the largest. Each reading holds until the next."),
	define(Metric{Name: "power_capped_share", Unit: "share", Better: Lower},
		"the evidence of throttled_share",
		"Share of the windows throttled by the power limit, as is normal. They are the windows of all cells; of "+
			"several GPUs, it is the largest. This is normal at full load and invalidates no measurement."),
}

var hostMetrics = []Metric{
	define(Metric{Name: "cpu_share", Unit: "share", Better: Lower},
		"readings of the host's processors within the windows",
		"Mean share of the host's cores in use, by any process. The measuring client is one of them; the readings "+
			"are those within the windows of all cells."),
	define(Metric{Name: "memory_gb", Unit: "GB", Better: Lower},
		"readings of the host's memory within the windows",
		"Peak host memory in use, by any process. It is within the windows of all cells, in units of 1e9 bytes."),
}

// launchMetrics come from the start and the end of an engine and from what it reports
// about itself, not from samples.
var launchMetrics = []Metric{
	define(Metric{Name: "startup_s", Unit: "s", Better: Lower},
		"a launch that became ready",
		"Time until the engine was ready and had answered a one-token request. It counts from the start of the "+
			"process, first_request_s included, and adds how much longer its slowest warm-up (or first request) took "+
			"than the slowest measured request of a cell, in which it may have loaded or compiled."),
	define(Metric{Name: "first_request_s", Unit: "s", Better: Lower},
		"a server that became ready and answered a request for one token",
		"Time of that one-token request, just-in-time compilation included. It is sent before anything else, and is "+
			"part of startup_s alone."),
	define(Metric{Name: "memory_gb", Unit: "GB", Better: Lower},
		"the memory of the engine's processes, watched while it ran",
		"Peak host memory of the engine's processes. It is in units of 1e9 bytes, and no GPU memory: their resident "+
			"sets, with memfds, files in /dev/shm, System V segments and huge pages once for all of them."),
	define(Metric{Name: "crashes", Unit: "count", Whole: true, Better: Lower},
		"a launch",
		"How often the engine ended by itself. That is before it was ready, or while it should have served. A launch "+
			"also counts crashes of its variant since the last valid measured launch, including in qualification or "+
			"an abandoned session."),
	define(Metric{Name: "kv_capacity_tokens", Unit: "tokens", Whole: true, Better: Higher, Observed: true},
		"the observation kv_capacity_tokens",
		"Tokens that the KV cache holds, as reported by the engine."),
	define(Metric{Name: "weights_gb", Unit: "GB", Better: Lower, Observed: true},
		"the observation weights_gb",
		"Memory of the model's weights, as reported by the engine. It is in units of 1e9 bytes."),
}
