package measure

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestDisturbances(t *testing.T) {
	throttle := func(values ...float64) Series {
		s := Series{Name: GPUThrottle, Source: "GPU-1"}
		for i, v := range values {
			s.At, s.Value = append(s.At, time.Duration(500*i)*msec), append(s.Value, v)
		}
		return s
	}
	// One reading every 0.5 s; the window is from 1 to 3 s.
	tests := []struct {
		name   string
		series Series
		want   string
	}{
		{"nothing", throttle(0, 0, 0, 0, 0, 0, 0), ""},
		{"idle and clocks that were set", throttle(1, 1, 2, 3, 2, 1, 1), ""},
		{"the power limit", throttle(4, 4, 4, 4, 4, 4, 4), ""},
		{"a sync boost group and a display", throttle(16, 16, 272, 256, 16, 16, 16), ""},
		{"heat, as software sees it", throttle(0, 0, 0, 32, 0, 0, 0), "chat: GPU GPU-1 was slowed down for 25.0% of the measured time (software thermal slowdown)"},
		{"heat and power brake beside the power limit", throttle(0, 0, 0, 76, 132, 0, 0), "50.0% of the measured time (hardware slowdown, hardware thermal slowdown, power brake)"},
		{"before and after", throttle(64, 0, 0, 0, 0, 0, 0, 64), ""},
		{"still standing when the window begins", throttle(0, 64), "100.0%"},
		{"a moment of hardware slowdown", throttle(0, 0, 0, 8, 0, 0, 0), ""},
		{"hardware slowdown that stays", throttle(0, 0, 0, 8, 8, 0, 0), "50.0% of the measured time (hardware slowdown)"},
		{"a reason of tomorrow", throttle(0, 0, 0, 4096, 0, 0, 0), "reason 0x1000, which is not known here"},
		{"no bit mask", throttle(0, 0, 0, 0.5, 0, 0, 0), "which is not known here"},
		{"damaged readings", throttle(0, math.NaN()), "the readings of gpu.throttle are damaged"},
		{"another process", readings(GPUForeign, "GPU-1", 0, 0, 2000, 2, 3000, 1), "chat: processes that are not the engine's were on GPU GPU-1 for 50.0% of the measured time (up to 2 at once)"},
		{"another process before", readings(GPUForeign, "GPU-1", 0, 1, 900, 0, 3500, 1), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := Recording{Cells: []CellRun{{Cell: "chat", From: time.Second, To: 3 * time.Second}}, Series: []Series{tt.series}}
			got := strings.Join(Disturbances(r), "\n")
			if (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
