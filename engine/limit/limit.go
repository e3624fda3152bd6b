// Package limit knows what a machine cannot exceed: from a model's config.json the bytes
// that a decode step reads and the operations that a prompt token takes, from the data
// sheets of GPUs how fast they read and multiply. It does not guess what it does not
// know. It does not know engines, how they were launched or what follows from exceeding a
// limit.
package limit

import (
	"fmt"
	"slices"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

// Machine is the GPUs of one launch together.
type Machine struct {
	GPUs []GPU
	Name string
	// Reached is how many bytes per second a benchmark read on all of them together,
	// which replaces the data sheets' value; 0 if unknown.
	Reached float64
}

// Of returns GPUs by their names. The error names an unknown one.
func Of(names []string) (m Machine, err error) {
	for _, name := range names {
		g, known := gpus[name]
		if !known {
			return Machine{}, fmt.Errorf("no data sheet for GPU %q", name)
		}
		m.GPUs = append(m.GPUs, g)
	}
	kinds := slices.Compact(slices.Sorted(slices.Values(names)))
	for i, kind := range kinds {
		if i > 0 {
			m.Name += ", "
		}
		m.Name += fmt.Sprintf("%d × %s", count(names, kind), kind)
	}
	return m, nil
}

func count(all []string, one string) (n int) {
	for _, s := range all {
		if s == one {
			n++
		}
	}
	return n
}

func (m Machine) sum(of func(GPU) float64) (sum float64) {
	for _, g := range m.GPUs {
		sum += of(g)
	}
	return sum
}

// Bandwidth is how many bytes per second all GPUs read together.
func (m Machine) Bandwidth() float64 {
	if m.Reached > 0 {
		return m.Reached
	}
	return m.sum(func(g GPU) float64 { return g.Bandwidth })
}

func (m Machine) rate(bits int) float64 { return m.sum(func(g GPU) float64 { return g.rate(bits) }) }

// busy is the minimum GPU utilization at some moment if an engine is on the GPU.
const busy = 0.5

// Used returns those GPUs that the engine used according to the driver: it held memory
// there. If the driver names no process of the engine, as in its own container, they are
// those that computed.
func Used(uuids []string, series []measure.Series) (used []string) {
	above := func(name string, least float64) (found []string) {
		for _, uuid := range uuids {
			if slices.ContainsFunc(series, func(s measure.Series) bool {
				return s.Name == name && s.Source == uuid && slices.ContainsFunc(s.Value, func(x float64) bool { return x > least })
			}) {
				found = append(found, uuid)
			}
		}
		return found
	}
	if used = above(measure.GPUProcessMemory, 0); used == nil {
		used = above(measure.GPUUtilization, busy)
	}
	return used
}

// Room is how far clocks may exceed those of a data sheet: boards boost by 8% beyond
// them, and owners raise memory clocks by 15% and more.
const Room = 1.2

// Limit is what a machine allows a cell that decodes so many requests at a time, each
// with so many tokens of context. It has two parts: what the machine allows a model in
// the formats of its config, with the experts that so many tokens use on average; and
// what no format, cache or routing exceeds.
func (m *Model) Limit(on Machine, requests int, context float64) *measure.Limit {
	bandwidth, step := on.Bandwidth(), total(m.Decode(requests, context)).Bytes
	token := m.Dense.and(m.Head).and(m.Expert.times(float64(m.Used)))
	least := token.Least - on.sum(func(g GPU) float64 { return g.OnChip })
	if !(bandwidth > 0) || !(step > 0) || !(token.Prompt > 0) {
		return nil
	}
	bits := m.Dense.and(m.Head).and(m.Expert.times(float64(m.Experts))).bits()
	return &measure.Limit{
		Model: m.Type, Machine: on.Name, Requests: requests,
		BandwidthGBs: bandwidth / gb, StepGB: step / gb, LeastGB: max(0, least) / gb,
		Bits: bits, TFLOPs: on.rate(bits) / tf, MostTFLOPs: on.sum(GPU.fastest) / tf,
		PromptGFLOP: 2 * token.Prompt / gb, Room: Room,
	}
}

// fewest is how many steps an answer needs to have a rate.
const fewest = 8

// Steps is the minimum number of steps per second shown by the median of measured
// answers. A step gives a request one token, or with speculation several at once:
// whatever arrives within half of the shortest possible step counts as one step.
func Steps(samples []measure.Sample, shortest time.Duration) (median float64, known bool) {
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
		if steps >= fewest {
			rates = append(rates, float64(steps-1)/(last-first).Seconds())
		}
	}
	if len(rates) == 0 {
		return 0, false
	}
	slices.Sort(rates)
	return measure.Quantile(rates, 0.5), true
}
