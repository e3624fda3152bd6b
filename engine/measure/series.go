package measure

import "time"

// Series is one quantity over the time of a launch, as it was sampled.
type Series struct {
	// Name says what it is, one of the constants below.
	Name string
	// Source tells several of one name apart: a GPU's UUID, a position in the
	// draft, empty where there is one.
	Source string
	// Unit of the values.
	Unit string
	// At is the monotonic time since the recording's zero, ascending.
	At []time.Duration
	// Value has one element for each of At. None is NaN or infinite: what could
	// not be read has no element.
	Value []float64
}

// Names of series. Those of the engine are "engine." and mxflow's name of a
// metric in engine.Metrics.Names: engine.running, engine.spec_accepted_tokens.
const (
	// GPUPower is averaged by the driver, GPUPowerInstant is not; energy is
	// integrated from the second where there is one. W.
	GPUPower        = "gpu.power_w"
	GPUPowerInstant = "gpu.power_instant_w"
	// GPUMemory is what is taken of the device, GPUProcessMemory what the
	// engine's processes hold of it. GB of 1e9 bytes.
	GPUMemory        = "gpu.memory_gb"
	GPUProcessMemory = "gpu.process_memory_gb"
	GPUClock         = "gpu.clock_mhz"
	GPUMemoryClock   = "gpu.memory_clock_mhz"
	GPUTemperature   = "gpu.temperature_c"
	// GPUUtilization is the share of time with a kernel running, 0 to 1.
	GPUUtilization = "gpu.utilization"
	// GPUThrottle is the driver's bit mask of reasons that keep clocks down.
	GPUThrottle = "gpu.throttle"
	// GPUForeign is the number of processes on the GPU that are not the engine's.
	GPUForeign = "gpu.foreign"
	// HostCPU is the share of all cores in use, 0 to 1. HostMemory is what is
	// taken of it, GB. HostEnergy counts up in J (RAPL packages).
	HostCPU    = "host.cpu_share"
	HostMemory = "host.memory_gb"
	HostEnergy = "host.energy_j"
	// EngineCPU counts the engine's processor seconds up, EngineMemory is its
	// resident set, ContainerMemory what its control group holds. s, GB, GB.
	EngineCPU       = "engine.cpu_s"
	EngineMemory    = "engine.memory_gb"
	ContainerMemory = "container.memory_gb"
	// ClientDelay is how much later than it asked the client's clock woke it, ms:
	// what saturation of the measuring client looks like from inside.
	ClientDelay = "client.delay_ms"
)
