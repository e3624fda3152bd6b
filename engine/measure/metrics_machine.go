package measure

// Metrics of the machine are taken over the windows of all cells of a launch
// together, so that warm-ups and pauses between cells do not count.
var gpuMetrics = []Metric{
	{
		Name: "idle_power_w", Unit: "W", Better: Lower, Scope: PerGPU,
		Evidence:   "readings of the power of every GPU in use over at least 1 s before the first request",
		Definition: "Power of the GPUs with the engine loaded and nothing asked of it: the lowest mean over any second of the last 5 s before the first request (warm-ups included) was sent, summed over GPUs.",
	},
	{
		Name: "power_w", Unit: "W", Better: Lower, Scope: PerGPU,
		Evidence:   "as energy_j",
		Definition: "Mean power over the windows of all cells: energy_j divided by their length, summed over GPUs.",
	},
	{
		Name: "peak_power_w", Unit: "W", Better: Lower, Scope: PerGPU,
		Evidence:   "readings of the power of every GPU in use within the windows",
		Definition: "Highest reading of power within the windows of all cells: the sum of the GPUs' own peaks, which need not have come at once.",
	},
	{
		Name: "energy_j", Unit: "J", Better: Lower, Scope: PerGPU,
		Evidence: "readings of the power of every GPU in use that reach beyond the edges of every window, with no gap over 2 s",
		Definition: "Energy over the windows of all cells, summed over GPUs: the integral of power by the trapezoidal rule, interpolated at the edges. " +
			"Instantaneous power is taken where the driver has it, else its average.",
	},
	{
		Name: "memory_gb", Unit: "GB", Better: Lower, Scope: PerGPU,
		Evidence:   "readings of the memory in use of every GPU within the windows",
		Definition: "Peak memory in use within the windows of all cells, whoever uses it, in units of 1e9 bytes: the sum of the GPUs' own peaks. Engines that reserve memory in advance show what they reserved. Absent on machines with unified memory.",
	},
	{
		Name: "process_memory_gb", Unit: "GB", Better: Lower, Scope: PerGPU,
		Evidence:   "readings within the windows of what the engine's processes hold of every GPU",
		Definition: "Peak memory that the engine's processes held on the GPUs within the windows of all cells: the sum of the GPUs' own peaks.",
	},
	{
		Name: "clock_mhz", Unit: "MHz", Whole: true, Better: Neither, Scope: PerGPU,
		Evidence:   "readings of the SM clock of every GPU within the windows",
		Definition: "Median of the SM clock over the readings within the windows of all cells; of several GPUs the lowest.",
	},
	{
		Name: "temperature_c", Unit: "°C", Whole: true, Better: Lower, Scope: PerGPU,
		Evidence:   "readings of the temperature of every GPU within the windows",
		Definition: "Highest temperature read within the windows of all cells, of any GPU.",
	},
	{
		Name: "utilization", Unit: "share", Better: Neither, Scope: PerGPU,
		Evidence:   "readings of the utilisation of every GPU within the windows",
		Definition: "Share of the time in which a kernel ran, as the driver says: the mean of the readings within the windows of all cells, then over GPUs. It does not say how much of a GPU was busy.",
	},
	{
		Name: "throttled_share", Unit: "share", Better: Lower, Scope: PerGPU,
		Evidence:   "readings of the reasons that keep clocks down, of every GPU, over the whole of the windows",
		Definition: "Share of the windows of all cells in which heat, a power brake, a hardware slowdown or an unknown reason kept the clocks of a GPU down; of several GPUs the largest. Each reading stands until the next.",
	},
	{
		Name: "power_capped_share", Unit: "share", Better: Lower, Scope: PerGPU,
		Evidence:   "as throttled_share",
		Definition: "Share of the windows of all cells in which the power limit kept the clocks of a GPU down; of several GPUs the largest. That is how a GPU at full load keeps to its limit, and makes no measurement invalid.",
	},
}

var hostMetrics = []Metric{
	{
		Name: "cpu_share", Unit: "share", Better: Lower, Scope: PerHost,
		Evidence:   "readings of the host's processors within the windows",
		Definition: "Share of all processor cores of the host in use, by whomever, the measuring client included: the mean of the readings within the windows of all cells.",
	},
	{
		Name: "memory_gb", Unit: "GB", Better: Lower, Scope: PerHost,
		Evidence:   "readings of the host's memory within the windows",
		Definition: "Peak memory of the host in use, by whomever, within the windows of all cells, in units of 1e9 bytes.",
	},
	{
		Name: "energy_j", Unit: "J", Better: Lower, Scope: PerHost,
		Evidence:   "readings of the host's energy counters (RAPL) that reach beyond the edges of every window, with no gap over 2 s",
		Definition: "Energy of the host's processor packages over the windows of all cells, summed: differences of their counters, interpolated at the edges.",
	},
}
