package main

import (
	"math"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
)

func (c *benchCell) add(name string, s measure.Summary) {
	median, ok := s.Stats["median"]
	if !ok || !finite(median) {
		return
	}
	m := c.Metrics[name]
	if m == nil {
		m = &benchMetric{Unit: s.Unit, Better: s.Better}
		c.Metrics[name] = m
	}
	m.Values, m.N = append(m.Values, median), append(m.N, s.N)
	known := map[string]float64{}
	for stat, v := range s.Stats {
		if finite(v) { // JSON has no other numbers
			known[stat] = v
		}
	}
	m.Stats = append(m.Stats, known)
	m.settle()
}

// settle computes the statistics over the values that there are.
func (m *benchMetric) settle() {
	mean, err := stats.ArithmeticMean(m.Values)
	if err != nil {
		return // there are no values
	}
	m.Mean, m.Std, m.Low, m.High = mean, nil, nil, nil
	if n := len(m.Values); n > 1 {
		sum := 0.0
		for _, v := range m.Values {
			sum += (v - mean) * (v - mean)
		}
		std := math.Sqrt(sum / float64(n-1))
		m.Std = &std
	}
	if in, err := stats.MeanInterval(m.Values); err == nil && in.Bounded {
		m.Low, m.High = &in.Low, &in.High
	}
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
