package measure

import (
	"slices"
	"testing"
	"time"
)

// Engines that have requests of their own are added up; of ranks that share them
// one counts.
func TestGauge(t *testing.T) {
	at := []time.Duration{1, 2}
	series := func(source string, values ...float64) Series {
		return Series{Name: "engine.running", Source: source, At: at[:len(values)], Value: values}
	}
	for name, c := range map[string]struct {
		all  []Series
		want []float64
	}{
		"none":             {nil, nil},
		"one":              {[]Series{series("", 3, 4)}, []float64{3, 4}},
		"data parallel":    {[]Series{series(`engine="0"`, 3, 4), series(`engine="1"`, 1, 0)}, []float64{4, 4}},
		"tensor parallel":  {[]Series{series(`tp_rank="0"`, 3, 4), series(`tp_rank="1"`, 3, 4)}, []float64{3, 4}},
		"expert parallel":  {[]Series{series(`moe_ep_rank="0",tp_rank="0"`, 0, 0), series(`moe_ep_rank="1",tp_rank="1"`, 3, 4)}, []float64{3, 4}},
		"both":             {[]Series{series(`dp_rank="0",tp_rank="0"`, 3, 4), series(`dp_rank="0",tp_rank="1"`, 3, 4), series(`dp_rank="1",tp_rank="0"`, 2, 2)}, []float64{5, 6}},
		"one ends early":   {[]Series{series(`engine="0"`, 3), series(`engine="1"`, 1, 2)}, []float64{4, 2}},
		"another quantity": {[]Series{{Name: "engine.waiting", At: at, Value: []float64{9, 9}}}, nil},
	} {
		got := Gauge(c.all, "engine.running")
		if !slices.Equal(got.Value, c.want) || !slices.Equal(got.At, at[:len(c.want)]) {
			t.Errorf("%s: %v at %v, want %v", name, got.Value, got.At, c.want)
		}
	}
}
