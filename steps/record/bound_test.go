package record

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

// answer is a sample whose events are separated by these gaps.
func answer(gaps ...time.Duration) measure.Sample {
	s := measure.Sample{}
	at := 50 * time.Millisecond
	for _, g := range gaps {
		at += g
		s.Events = append(s.Events, measure.Event{At: at, Kind: measure.KindText, Tokens: -1, Bytes: 4})
	}
	return s
}

func TestStepRate(t *testing.T) {
	const ms = time.Millisecond
	every := func(gap time.Duration, n int) []time.Duration { return slices.Repeat([]time.Duration{gap}, n) }
	for name, c := range map[string]struct {
		samples []measure.Sample
		want    float64
	}{
		"a token each 2 ms": {[]measure.Sample{answer(every(2*ms, 30)...)}, 500},
		// A speculative step of 8 ms gives four tokens, which are sent one after the other.
		"four at once": {[]measure.Sample{answer(slices.Repeat([]time.Duration{8 * ms, ms / 10, ms / 10, ms / 10}, 20)...)}, 1000 / 8.3},
		// Events that come twice as often as steps are possible are not attributed to
		// speculation.
		"smoothed": {[]measure.Sample{answer(every(ms/2, 100)...)}, 2000},
		// All at once is one step, however many tokens it is.
		"one piece":  {[]measure.Sample{answer(every(0, 100)...)}, 0},
		"too few":    {[]measure.Sample{answer(every(2*ms, 7)...)}, 0},
		"the median": {[]measure.Sample{answer(every(2*ms, 20)...), answer(every(4*ms, 20)...), answer(every(ms, 20)...)}, 500},
		"warm-up":    {[]measure.Sample{{Warmup: true, Events: answer(every(ms, 20)...).Events}}, 0},
		"failed":     {[]measure.Sample{{Err: "x", Events: answer(every(ms, 20)...).Events}}, 0},
	} {
		got, known := stepRate(c.samples, ms)
		if known != (c.want > 0) || math.Abs(got-c.want) > 0.01*c.want {
			t.Errorf("%s: %v steps a second, want %v", name, got, c.want)
		}
	}
}

func TestUsedGPUs(t *testing.T) {
	all := []string{"a", "b", "c"}
	busy := []measure.Series{
		{Name: measure.GPUUtilization, Source: "a", Value: []float64{0.1, 0.9}},
		{Name: measure.GPUUtilization, Source: "b", Value: []float64{1}},
		{Name: measure.GPUUtilization, Source: "c", Value: []float64{0.1}}, // a desktop
	}
	held := append(busy, measure.Series{Name: measure.GPUProcessMemory, Source: "a", Value: []float64{0, 20}})
	for name, c := range map[string]struct {
		series []measure.Series
		want   []string
	}{
		"computed": {busy, []string{"a", "b"}}, "held": {held, []string{"a"}}, "unseen": {nil, nil},
	} {
		if got := usedGPUs(all, c.series); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
