package code

// What the level stress finds. Subject is its part ("sequential", "concurrency 8",
// "burst"), except for memory.
const (
	// StressServed: the causes are latencies. Args: requests, answered. StressLatency:
	// Subject is a metric. Args: median, most; p99, if there are enough requests for it.
	StressServed  Code = "stress.served"
	StressLatency Code = "stress.latency"
	// StressTurnedAway: requests that the engine refused as overloaded. Args: requests,
	// refused.
	StressTurnedAway Code = "stress.turned_away"
	// StressRefused: all of them. Args: requests.
	StressRefused Code = "stress.refused"
	// StressTooLong: args: tokens, serves.
	StressTooLong Code = "stress.too_long"
	// StressStuck: a request was not answered in time. Args: waiting, limit. StressBroke:
	// one failed. Args: error.
	StressStuck Code = "stress.stuck"
	StressBroke Code = "stress.broke"
	// StressUnended: answers without their end. StressGarbage: answers that are worse
	// text than those before the load; the causes are what was found. Args: answers, of.
	StressUnended Code = "stress.unended"
	StressGarbage Code = "stress.garbage"
	// StressUnread: the plan declares that answers are not text.
	StressUnread Code = "stress.unread"
	// StressCancelled: args: requests, cut, streaming; running, if the engine reports it.
	// StressUncut: none was cut while its answer came. Args: requests, cut.
	// StressRunning: the engine still works on them. Args: running, before, within.
	StressCancelled Code = "stress.cancelled"
	StressUncut     Code = "stress.uncut"
	StressRunning   Code = "stress.running"
	// StressUncounted: the engine no longer reports how many requests are running.
	StressUncounted Code = "stress.uncounted"
	// StressNotFinite: it reports NaN or infinity. Args: metric.
	StressNotFinite Code = "stress.not_finite"
	// StressRecovered and StressSlower: a single request after it. Args: before, after,
	// limit.
	StressRecovered Code = "stress.recovered"
	StressSlower    Code = "stress.slower"
)

// How memory grew. Subject is "host" or a GPU. Args: readings, requests; limit, if one is
// declared; slope and within, its interval, in MB per 1000 requests, except for
// MemoryUnknown.
const (
	// MemorySlope is within the limit, or has none; MemoryLeaks demonstrably beyond it;
	// MemoryOpen neither.
	MemorySlope   Code = "stress.memory_slope"
	MemoryLeaks   Code = "stress.memory_leaks"
	MemoryOpen    Code = "stress.memory_open"
	MemoryUnknown Code = "stress.memory_unknown"
)
