package measure

import (
	"testing"
	"time"
)

func TestMachine(t *testing.T) {
	every := func(name, source string, values ...float64) Series {
		var pairs []float64
		for i, v := range values {
			pairs = append(pairs, float64(500*i), v)
		}
		return readings(name, source, pairs...)
	}
	answer := of("a", sent(sample(10, 5, text(100, 1), text(200, 5)), 2000, 2000, 2000))
	recording := Recording{
		// Windows of 2 to 3 s and 4 to 5 s.
		Cells:   []CellRun{{Cell: "b", From: 4 * time.Second, To: 5 * time.Second}, {Cell: "a", From: 2 * time.Second, To: 3 * time.Second}},
		Samples: []Sample{answer},
		Series: []Series{
			every(GPUPower, "0", 50, 50, 50, 50, 100, 100, 100, 50, 50, 50, 50),
			every(GPUPower, "1", 90, 90, 90, 90, 90, 90, 90, 90, 90, 90, 90),
			every(GPUPowerInstant, "1", 60, 60, 70, 70, 200, 200, 200, 200, 200, 300, 200),
			every(GPUMemory, "0", 1, 1, 1, 1, 10, 11, 10, 99, 10, 10, 10), every(GPUMemory, "1", 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5),
			every(GPUClock, "0", 1, 1, 1, 1, 1900, 1980, 1980, 1, 1980, 1980, 1980), every(GPUClock, "1", 1, 1, 1, 1, 1000, 1000, 1000, 1, 1000, 1000, 1000),
			every(GPUTemperature, "1", 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20), every(GPUTemperature, "0", 90, 90, 90, 90, 40, 41, 42, 90, 45, 44, 43),
			every(GPUUtilization, "1", 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), every(GPUUtilization, "0", 0, 0, 0, 0, 1, 1, 1, 0, 0.5, 0.5, 0.5),
			every(GPUThrottle, "1", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), every(GPUThrottle, "0", 0, 0, 0, 0, 0, 32, 4, 64, 0, 0, 0),
			every(HostCPU, "", 0, 0, 0, 0, 0.1, 0.1, 0.1, 0.9, 0.3, 0.3, 0.3), every(HostMemory, "", 1, 1, 1, 1, 2, 3, 2, 9, 2, 2, 2),
			every(HostEnergy, "package-0", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10), every(HostEnergy, "package-1", 0, 0, 0, 0, 0, 0, 10, 10, 10, 10, 10),
		},
	}
	checkMetrics(t, Evaluate(recording), map[string]float64{
		"a.energy_j": 100 + 200, "a.power_w": 300, "a.joules_per_token": 60, "a.tokens_per_joule": 1.0 / 60, "a.gpu_memory_gb": 16,
		"b.energy_j": 50 + 250, "gpu.energy_j": 600, "gpu.power_w": 300, "gpu.peak_power_w": 100 + 300,
		// The lowest second before 2 s: GPU 1 had 60 W until 0.5 s.
		"gpu.idle_power_w": 50 + 62.5, "gpu.memory_gb": 16, "gpu.clock_mhz": 1000, "gpu.temperature_c": 45, "gpu.utilization": (0.75 + 1) / 2,
		// Half a second of two was hot; the power limit at 3 s is past the window.
		"gpu.throttled_share": 0.25, "gpu.power_capped_share": 0, "host.cpu_share": 0.2, "host.memory_gb": 3, "host.energy_j": 14,
	}, "b.joules_per_token", "gpu.process_memory_gb", "a.engine_memory_gb", "engine.memory_gb")

	// Power of one GPU that ends too early is power of all GPUs not known.
	short := recording
	short.Series = append([]Series{}, recording.Series...)
	short.Series[2] = every(GPUPowerInstant, "1", 60, 60, 60, 60, 200)
	short.Series[1] = every(GPUPower, "1", 60, 60, 60, 60, 200)
	checkMetrics(t, Evaluate(short), nil, "a.energy_j", "gpu.energy_j", "gpu.power_w", "a.power_w", "a.joules_per_token")

	// Memory that is read of one GPU alone is not that of all.
	one := recording
	one.Series = append([]Series{every(GPUProcessMemory, "0", 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5), {Name: GPUTemperature, Source: "0"}}, recording.Series...)
	checkMetrics(t, Evaluate(one), map[string]float64{"gpu.memory_gb": 16, "gpu.temperature_c": 45}, "gpu.process_memory_gb", "a.gpu_process_memory_gb")

	// A cell whose window is not known leaves the machine's numbers unknown.
	blind := recording
	blind.Cells = append([]CellRun{{Cell: "c"}}, recording.Cells...)
	checkMetrics(t, Evaluate(blind), map[string]float64{"a.energy_j": 300}, "gpu.energy_j", "gpu.temperature_c", "host.cpu_share")
}
