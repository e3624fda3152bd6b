package tell

import "github.com/mxflow/mxflow/gates/verdict/code"

const ofMemory = "{subject}: memory grew by {slope} per 1000 requests (95% interval {within})"

var stressPhrases = phrases{
	code.StressServed:     "{subject}: {answered} of {requests|request|requests} answered ({causes})",
	code.StressLatency:    "{subject} median {median}, {p99?p99 {p99}}{p99!max {most}}",
	code.StressTurnedAway: "{subject}: {refused} of {requests|request|requests} refused with 429 or 503",
	code.StressRefused:    "{subject}: all {requests} requests were refused with 429 or 503",
	code.StressTooLong:    "the level sends requests of {tokens} tokens, but the engine serves {serves}: lower context_tokens, or raise the engine's limit",
	code.StressStuck:      "{subject}: a request is stuck: waited {limit} for {waiting}",
	code.StressBroke:      "{subject}: a request failed: {error}",
	code.StressUnended:    "{subject}: {answers} of {of|answer|answers} ended without a finish reason, shorter than requested",
	code.StressGarbage:    "{subject}: {answers} of {of|answer|answers} are not readable text; with random weights, set coherence = \"off\"",
	code.StressUnread:     `no answer is checked for reading as text (coherence = "off")`,
	code.StressCancelled:  "{subject}: {cut} of {requests|request|requests} cancelled, {streaming} in mid-answer{running?; the engine reports {running} running}",
	code.StressUncut:      "{subject}: {cut} of {requests|request|requests} cancelled, none in mid-answer: cancel more",
	code.StressRunning:    "{subject}: the engine still reports {running} running {within} after they were cancelled, {before} before",
	code.StressUncounted:  "{subject}: the engine no longer reports how many requests are running, so it is unknown whether cancelled ones ended",
	code.StressNotFinite:  "{subject}: the engine's count of running requests ({metric}) is NaN or infinite, so it is unknown whether cancelled ones ended",
	code.StressRecovered:  "{subject}: a lone request takes {after} after it, {before} before",
	code.StressSlower:     "{subject}: a lone request takes {after} after it, {before} before (allowed: {limit})",

	code.MemorySlope:   ofMemory + "{limit?, limit {limit}}",
	code.MemoryLeaks:   ofMemory + ", beyond the limit of {limit}",
	code.MemoryOpen:    ofMemory + ", limit {limit}: too wide to tell; soak longer",
	code.MemoryUnknown: "{subject}: no memory slope from {readings|reading|readings} over {requests|request|requests}{limit?: soak longer, or on the engine's own machine}",
}
