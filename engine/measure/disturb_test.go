package measure

import (
	"fmt"
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
	for _, tt := range []struct {
		name   string
		series Series
		want   string
	}{
		{"nothing", throttle(0, 0, 0, 0, 0, 0, 0), ""},
		{"idle and clocks that were set", throttle(1, 1, 2, 3, 2, 1, 1), ""},
		{"the power limit", throttle(4, 4, 4, 4, 4, 4, 4), ""},
		{"a sync boost group and a display", throttle(16, 16, 272, 256, 16, 16, 16), ""},
		{"heat, as software sees it", throttle(0, 0, 0, 32, 0, 0, 0), "slowed chat GPU-1 0.25 [sw_thermal_slowdown]"},
		{
			"heat and power brake beside the power limit", throttle(0, 0, 0, 76, 132, 0, 0),
			"slowed chat GPU-1 0.5 [hw_power_brake_slowdown hw_slowdown hw_thermal_slowdown]",
		},
		{"before and after", throttle(64, 0, 0, 0, 0, 0, 0, 64), ""},
		{"still standing when the window begins", throttle(0, 64), "slowed chat GPU-1 1 [hw_thermal_slowdown]"},
		{"a moment of hardware slowdown", throttle(0, 0, 0, 8, 0, 0, 0), ""},
		{"hardware slowdown that stays", throttle(0, 0, 0, 8, 8, 0, 0), "slowed chat GPU-1 0.5 [hw_slowdown]"},
		{"a reason of tomorrow", throttle(0, 0, 0, 4096, 0, 0, 0), "[0x1000]"},
		{"no bit mask", throttle(0, 0, 0, 0.5, 0, 0, 0), "hw_power_brake_slowdown"},
		{"damaged readings", throttle(0, math.NaN()), "damaged"},
		{"another process", readings(GPUForeign, "GPU-1", 0, 0, 2000, 2, 3000, 1), "shared chat GPU-1 0.5 [] 2"},
		{"another process before", readings(GPUForeign, "GPU-1", 0, 1, 900, 0, 3500, 1), ""},
	} {
		r := Recording{
			Cells:  []CellRun{{Cell: "chat", From: time.Second, To: 3 * time.Second}},
			Series: []Series{tt.series},
		}
		got := ""
		for _, d := range Disturbances(r) {
			got += strings.TrimSpace(fmt.Sprint(d.Code, " ", d.Cell, " ", d.GPU, " ", d.Share, " ", d.Slowed,
				" ", d.Most)) + "\n"
		}
		if (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Of the windows of a command the worst is named, and its clock may move: it loads a model in between.
func TestDisturbedCommand(t *testing.T) {
	r := Recording{Windows: []Window{
		{From: time.Second, To: 2 * time.Second},
		{From: 3 * time.Second, To: 4 * time.Second},
		{From: 5 * time.Second, To: 30 * time.Second},
	}}
	heat, clock := Series{Name: GPUThrottle, Source: "GPU-1"}, Series{Name: GPUClock, Source: "GPU-1"}
	for i := range 300 {
		at := time.Duration(i) * 100 * time.Millisecond
		heat.At, heat.Value = append(heat.At, at), append(heat.Value, 0)
		clock.At, clock.Value = append(clock.At, at), append(clock.Value, 1980-float64(i/150)*400)
	}
	r.Series = []Series{heat, clock}
	if got := Disturbances(r); len(got) > 0 {
		t.Errorf("nothing wrong: %+v", got)
	}
	for _, i := range []int{15, 35, 36, 37} {
		heat.Value[i] = 64
	}
	got := Disturbances(r)
	if len(got) != 1 || got[0].Cell != "command" || math.Abs(got[0].Share-0.3) > 1e-9 {
		t.Errorf("got %+v, want one of 30%%", got)
	}
}

// A clock that moves by more than 5% without a cause is a disturbance; changes due to the power limit, an idle
// GPU or the first second are not, nor is anything too short to tell.
func TestWanderingClock(t *testing.T) {
	for _, c := range []struct {
		name  string
		clock func(s int) (mhz, reasons float64)
		secs  int
		want  bool
	}{
		{"it stands still", func(int) (float64, float64) { return 1980, 0 }, 30, false},
		{"it moves a little", func(s int) (float64, float64) { return 1980 - float64(s%7)*12, 0 }, 30, false},
		{"half of the time it is lower", func(s int) (float64, float64) {
			return 1980 - float64(s/15)*120, 0
		}, 30, true},
		{"it was set lower meanwhile", func(s int) (float64, float64) { return 1980 - float64(s/15)*120, 2 }, 30, true},
		{"it goes with the power limit", func(s int) (float64, float64) {
			return 1980 - float64(s/15)*120, 4
		}, 30, false},
		{"it is idle half of the time", func(s int) (float64, float64) {
			return 1980 - float64(s/15)*1600, float64(s / 15)
		}, 30, false},
		{"it comes up in two seconds", func(s int) (float64, float64) {
			return min(1980, 345+float64(s)*900), 0
		}, 30, false},
		{"too short to tell", func(s int) (float64, float64) { return 1980 - float64(s/4)*400, 0 }, 8, false},
	} {
		clock, reasons := Series{Name: GPUClock, Source: "GPU-1"}, Series{Name: GPUThrottle, Source: "GPU-1"}
		for i := range c.secs * 10 {
			mhz, why := c.clock(i / 10)
			at := time.Duration(i) * 100 * time.Millisecond
			clock.At, clock.Value = append(clock.At, at), append(clock.Value, mhz)
			reasons.At, reasons.Value = append(reasons.At, at), append(reasons.Value, why)
		}
		cells := []CellRun{{Cell: "chat", To: time.Duration(c.secs) * time.Second}}
		got := Disturbances(Recording{Cells: cells, Series: []Series{clock, reasons}})
		if (len(got) == 1 && got[0].Code == Wandered && got[0].High > got[0].Low) != c.want || len(got) > 1 {
			t.Errorf("%s: %+v", c.name, got)
		}
		if alone := Disturbances(Recording{Cells: cells, Series: []Series{clock}}); len(alone) > 0 {
			t.Errorf("%s, without reasons: %+v", c.name, alone)
		}
	}
}
