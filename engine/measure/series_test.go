package measure

import (
	"math"
	"testing"
	"time"
)

// readings are values at times in ms.
func readings(name, source string, pairs ...float64) Series {
	s := Series{Name: name, Source: source}
	for i := 0; i+1 < len(pairs); i += 2 {
		s.At = append(s.At, time.Duration(pairs[i])*msec)
		s.Value = append(s.Value, pairs[i+1])
	}
	return s
}

func span(from, to int) Window { return Window{time.Duration(from) * msec, time.Duration(to) * msec} }

func TestIntegral(t *testing.T) {
	// 100 W until 1 s, rising to 300 W at 2 s, and 300 W from there on.
	power := readings(GPUPower, "", 0, 100, 1000, 100, 2000, 300, 3000, 300)
	for _, tt := range []struct {
		name  string
		w     Window
		want  float64
		known bool
	}{
		{"between readings", span(0, 1000), 100, true},
		{"clipped and interpolated at both edges", span(500, 1500), 50 + 0.5*(100+200)/2, true},
		{"within one segment", span(1250, 1750), 0.5 * 200, true},
		{"everything", span(0, 3000), 100 + 200 + 300, true},
		{"begins before the first reading", span(-1, 1000), 0, false},
		{"ends after the last", span(2000, 3001), 0, false},
		{"empty", span(1000, 1000), 0, false},
	} {
		got, known := power.integral([]Window{tt.w})
		if known != tt.known || !near(got, tt.want) {
			t.Errorf("%s: %v, %v, want %v, %v", tt.name, got, known, tt.want, tt.known)
		}
	}
	gap := readings(GPUPower, "", 0, 100, 2001, 100)
	if _, known := gap.integral([]Window{span(100, 200)}); known {
		t.Error("a gap of more than 2 s counts as watched")
	}
	twice := readings(GPUPower, "", 0, 100, 500, 100, 500, 200, 1000, 200)
	if got, known := twice.integral([]Window{span(0, 1000)}); !known || got != 150 {
		t.Errorf("two readings at one instant: %v, %v", got, known)
	}
}

func TestDifference(t *testing.T) {
	count := readings("engine.spec_drafts", "", 0, 5, 1000, 10, 1900, 40, 3100, 90)
	for _, tt := range []struct {
		name  string
		s     Series
		w     Window
		want  float64
		known bool
	}{
		{"at the edges themselves", count, span(1000, 1900), 30, true},
		{"the last before and the first after", count, span(1500, 2000), 80, true},
		{"none before", count, span(-5, 2000), 0, false},
		{"none after", count, span(1000, 3200), 0, false},
		{"the one before is too far away", readings("", "", 0, 1, 3000, 2), span(2001, 2500), 0, false},
		{"the counter began anew", readings("", "", 0, 5, 500, 2, 1000, 9), span(0, 1000), 0, false},
		{"it did not count", readings("", "", 0, 5, 1000, 5), span(0, 1000), 0, true},
	} {
		got, known := tt.s.difference(tt.w)
		if known != tt.known || got != tt.want {
			t.Errorf("%s: %v, %v, want %v, %v", tt.name, got, known, tt.want, tt.known)
		}
	}
}

func TestSeriesSetIsWhole(t *testing.T) {
	good := readings(GPUMemory, "a", 0, 1)
	for name, bad := range map[string]Series{
		"uneven":             {Name: GPUMemory, Source: "b", At: []time.Duration{1, 2}, Value: []float64{1}},
		"back in time":       readings(GPUMemory, "b", 5, 1, 4, 1),
		"not a number":       readings(GPUMemory, "b", 5, math.NaN()),
		"the same GPU again": good,
	} {
		if w := newSeriesSet([]Series{good, bad}); w.by[GPUMemory] != nil {
			t.Errorf("%s: the sum over the others would be short", name)
		}
	}
}

// Ranks of one engine report the same, several engines add up.
func TestEngines(t *testing.T) {
	at := func(source string, v float64) Series { return readings("engine.running", source, 100, v) }
	last := func(s Series) (float64, bool) { return s.Value[0], true }
	for _, tt := range []struct {
		series []Series
		want   float64
	}{
		{[]Series{at("", 4)}, 4},
		{[]Series{at(`engine="0"`, 4), at(`engine="1"`, 3)}, 7},
		{[]Series{at(`tp_rank="0"`, 4), at(`tp_rank="1"`, 4)}, 4},
		{
			[]Series{
				at(`dp_rank="0",tp_rank="0"`, 4), at(`dp_rank="0",tp_rank="1"`, 4),
				at(`dp_rank="1",tp_rank="2"`, 5),
			},
			9,
		},
	} {
		if got, known := newSeriesSet(tt.series).engines("running", last); !known || got != tt.want {
			t.Errorf("%v: %v, %v, want %v", tt.series, got, known, tt.want)
		}
	}
}
