package code

// What the level stress finds. Subject is the part of it ("sequential", "concurrency 8",
// "burst"), but for memory.
const (
	// StressServed: from latencies. Args: requests, answered. StressLatency: subject is a
	// metric. Args: median, most; p99, where the requests are enough for it.
	StressServed  Code = "stress.served"
	StressLatency Code = "stress.latency"
	// StressTurnedAway: requests that the engine refused as too many. Args: requests, refused.
	StressTurnedAway Code = "stress.turned_away"
	// StressRefused: all of them. Args: requests.
	StressRefused Code = "stress.refused"
	// StressTooLong: args: tokens, serves.
	StressTooLong Code = "stress.too_long"
	// StressStuck: a request was not answered in time. Args: waiting, limit. StressBroke:
	// one failed. Args: error.
	StressStuck Code = "stress.stuck"
	StressBroke Code = "stress.broke"
	// StressUnended: answers without their end. StressGarbage: answers that are worse text
	// than those before all load, from what was found. Args: answers, of.
	StressUnended Code = "stress.unended"
	StressGarbage Code = "stress.garbage"
	// StressUnread: by declaration, no text was looked at.
	StressUnread Code = "stress.unread"
	// StressCancelled: args: requests, cut, streaming; running, where the engine says it.
	// StressUncut: none was cut while its answer came. Args: requests, cut. StressRunning:
	// the engine still works on them. Args: running, before, within.
	StressCancelled Code = "stress.cancelled"
	StressUncut     Code = "stress.uncut"
	StressRunning   Code = "stress.running"
	// StressUncounted: the engine no longer says how many requests are running.
	StressUncounted Code = "stress.uncounted"
	// StressNotFinite: it says NaN or infinitely many. Args: metric.
	StressNotFinite Code = "stress.not_finite"
	// StressRecovered and StressSlower: a lone request after it. Args: before, after, limit.
	StressRecovered Code = "stress.recovered"
	StressSlower    Code = "stress.slower"
)

// How memory grew. Subject is "host" or a GPU. Args: readings, requests; limit, where one
// is declared; slope and within, its interval, in MB for 1000 requests, but for
// MemoryUnknown.
const (
	// MemorySlope is within the limit, or without one; MemoryLeaks beyond it for sure;
	// MemoryOpen neither.
	MemorySlope   Code = "stress.memory_slope"
	MemoryLeaks   Code = "stress.memory_leaks"
	MemoryOpen    Code = "stress.memory_open"
	MemoryUnknown Code = "stress.memory_unknown"
)
