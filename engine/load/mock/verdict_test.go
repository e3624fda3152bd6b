package mock

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

func TestVerdict(t *testing.T) {
	good := measure.Calibration{Streams: 4, Rate: 50, Requests: 4, Events: 240, TTFTp50: 0.1, TTFTp99: 0.5, ITLp50: 0.01, ITLp99: 0.2, Delivered: 1, CPU: 10}
	if why := Verdict(good, time.Millisecond); why != "" {
		t.Errorf("a good one: %s", why)
	}
	for name, c := range map[string]struct {
		change func(*measure.Calibration)
		want   string
	}{
		"nothing":           {func(c *measure.Calibration) { *c = measure.Calibration{} }, "was not calibrated"},
		"no events":         {func(c *measure.Calibration) { c.Events = 0 }, "was not calibrated"},
		"half of it":        {func(c *measure.Calibration) { c.Delivered = 0.5 }, "only 50 % of the planned events"},
		"an unknown share":  {func(c *measure.Calibration) { c.Delivered = math.NaN() }, "only NaN %"},
		"an infinite share": {func(c *measure.Calibration) { c.Delivered = math.Inf(1) }, "only +Inf %"},
		"late":              {func(c *measure.Calibration) { c.TTFTp99 = 1.01 }, "error of TTFT is 1.01 ms"},
		"uneven":            {func(c *measure.Calibration) { c.ITLp99 = 30 }, "error of ITL is 30 ms"},
		"an unknown TTFT":   {func(c *measure.Calibration) { c.TTFTp99 = math.NaN() }, "TTFT is not known"},
		"an unknown ITL":    {func(c *measure.Calibration) { c.ITLp50 = math.NaN() }, "ITL is not known"},
		"an infinite ITL":   {func(c *measure.Calibration) { c.ITLp99 = math.Inf(1) }, "ITL is +Inf ms"},
	} {
		bad := good
		c.change(&bad)
		if why := Verdict(bad, time.Millisecond); !strings.Contains(why, c.want) {
			t.Errorf("%s: %q, want %q", name, why, c.want)
		}
	}
	if why := Verdict(good, 0); !strings.Contains(why, "allows nothing") {
		t.Errorf("no limit: %q", why)
	}
}

func TestCompare(t *testing.T) {
	const ms = time.Millisecond
	sample := func(at ...time.Duration) measure.Sample {
		s := measure.Sample{Events: []measure.Event{{Kind: measure.KindOther}}}
		for _, a := range at {
			s.Events = append(s.Events, measure.Event{At: a, Kind: measure.KindText})
		}
		return s
	}
	truth := Truth{ID: "a", Arrival: 1000, Sent: []int64{1000 + 50e6, 1000 + 60e6, 1000 + 70e6}}
	name := func(measure.Sample) string { return "a" }
	e, err := Compare([]measure.Sample{sample(52*ms, 61*ms, 73*ms)}, []Truth{truth}, name)
	if err != nil || len(e.TTFT) != 1 || e.TTFT[0] != 2 || len(e.ITL) != 2 || e.ITL[0] != 1 || e.ITL[1] != 2 ||
		e.Requests != 1 || e.Events != 3 || e.Gaps != 2 || e.ClientSpan != 21*ms || e.ServerSpan != 20*ms {
		t.Errorf("%+v, %v", e, err)
	}
	late := sample(52*ms, 61*ms, 73*ms)
	late.OpenLoop, late.Scheduled, late.Start = true, 5*ms, 9*ms
	if e, err := Compare([]measure.Sample{late}, []Truth{truth}, name); err != nil || e.TTFT[0] != 6 || e.ITL[1] != 2 {
		t.Errorf("sent 4 ms late: %+v, %v", e, err)
	}
	failed := sample(52 * ms)
	failed.Err = "reset"
	for want, bad := range map[string]measure.Sample{
		"saw 2 events of 3":       sample(1, 2),
		"more than the 3 events":  sample(1, 2, 3, 4),
		"saw 0 events of 3":       sample(),
		`request "a" failed: res`: failed,
	} {
		if _, err := Compare([]measure.Sample{bad}, []Truth{truth}, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if _, err := Compare([]measure.Sample{sample(1)}, nil, name); err == nil || !strings.Contains(err.Error(), "knows of no request") {
		t.Errorf("error %v", err)
	}
}
