package record

import (
	"slices"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

// busyGPU is the minimum GPU utilization at some moment if an engine is on the GPU.
const busyGPU = 0.5

// usedGPUs returns the GPUs that the engine used according to the driver: it held memory
// there. If the driver names no process of the engine, as in its own container, it
// returns those that computed.
func usedGPUs(uuids []string, series []measure.Series) []string {
	above := func(name string, least float64) (used []string) {
		for _, s := range series {
			over := func(x float64) bool { return x > least }
			if s.Name == name && slices.Contains(uuids, s.Source) && slices.ContainsFunc(s.Value, over) &&
				!slices.Contains(used, s.Source) {
				used = append(used, s.Source)
			}
		}
		return used
	}
	if used := above(measure.GPUProcessMemory, 0); used != nil {
		return used
	}
	return above(measure.GPUUtilization, busyGPU)
}

// fewestSteps is how many steps an answer needs to have a rate.
const fewestSteps = 8

// stepRate is the minimum number of steps per second shown by the median of measured
// answers. A step gives a request one token, or with speculation several at once:
// whatever arrives within half of the shortest possible step counts as one step.
func stepRate(samples []measure.Sample, shortest time.Duration) (median float64, known bool) {
	var rates []float64
	for _, s := range samples {
		if !s.Measured() || s.Err != "" {
			continue
		}
		steps := 0
		var first, last time.Duration
		for _, e := range s.Events {
			if !e.HasText() || steps > 0 && e.At-last < shortest/2 {
				continue
			}
			if last = e.At; steps == 0 {
				first = last
			}
			steps++
		}
		if steps >= fewestSteps {
			rates = append(rates, float64(steps-1)/(last-first).Seconds())
		}
	}
	if len(rates) == 0 {
		return 0, false
	}
	slices.Sort(rates)
	return measure.Quantile(rates, 0.5), true
}
