package measure

// launchMetrics come from the start and the end of an engine and from what it
// says of itself, not from samples.
var launchMetrics = []Metric{
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
		Name: "crashes", Unit: "count", Whole: true, Better: Lower, Scope: PerLaunch,
		Evidence:   "a launch",
		Definition: "How often the engine ended by itself before it was ready or while it should have served. A launch counts, besides itself, what crashed of its variant on this machine since the last launch that counted, also in qualification or in a session that was left.",
	},
	{
		Name: "kv_capacity_tokens", Unit: "tokens", Whole: true, Better: Higher, Scope: PerLaunch, Observed: true,
		Evidence:   "the observation kv_capacity_tokens",
		Definition: "Tokens that the KV cache holds, as the engine says.",
	},
	{
		Name: "weights_gb", Unit: "GB", Better: Lower, Scope: PerLaunch, Observed: true,
		Evidence:   "the observation weights_gb",
		Definition: "Memory that the model's weights take, in units of 1e9 bytes, as the engine says.",
	},
}
