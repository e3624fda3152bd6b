package mock

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/load"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/openai"
)

// slow is a client that is occasionally late to read.
type slow struct {
	http.RoundTripper
	pause time.Duration
}

func (s slow) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = &slowBody{ReadCloser: resp.Body, pause: s.pause}
	}
	return resp, err
}

type slowBody struct {
	io.ReadCloser
	pause time.Duration
	reads int
}

func (b *slowBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.reads++; b.reads%4 == 0 {
		time.Sleep(b.pause)
	}
	return n, err
}

func TestCalibrate(t *testing.T) {
	command, env := program(t)
	spec := Spec{Command: command, Env: env, Streams: 3, Rate: 100, Duration: 300 * time.Millisecond}
	c, err := Calibrate(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if c.Streams != 3 || c.Rate != 100 || c.Requests != 3 || c.Events != 93 || !(c.Delivered > 0) || !(c.CPU > 0) ||
		!(c.ITLp99 >= c.ITLp50) || !(c.TTFTp99 >= c.TTFTp50) || c.ITLp50 < 0 {
		t.Errorf("calibration %+v", c)
	}
	if why := Verdict(c, time.Minute); c.Delivered > leastDelivered && why != "" {
		t.Errorf("not good enough for a minute: %s", why)
	}

	// The same with a client that pauses for 60 ms is off by about as much.
	url := ""
	spec.Client = func(base string) load.Streamer {
		url = base
		client := openai.New(base, "mock")
		client.HTTP.Transport = slow{client.HTTP.Transport, 60 * time.Millisecond}
		return client
	}
	c, err = Calibrate(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if c.ITLp99 < 40 {
		t.Errorf("a client that pauses for 60 ms has an ITL error of %v ms", c.ITLp99)
	}
	if why := Verdict(c, 20*time.Millisecond); why == "" {
		t.Errorf("a client that pauses for 60 ms is called good: %+v", c)
	}
	if _, err := http.Get(url + "/health"); err == nil {
		t.Error("the mock server outlives its calibration")
	}
}

type streamFunc func(ctx context.Context, r openai.Request) (measure.Sample, error)

func (f streamFunc) Stream(ctx context.Context, r openai.Request) (measure.Sample, error) {
	return f(ctx, r)
}

func TestCalibrateFails(t *testing.T) {
	command, env := program(t)
	good := Spec{Command: command, Env: env, Streams: 1, Rate: 100, Duration: 100 * time.Millisecond}
	ctx, cancel := context.WithCancel(t.Context())
	for name, c := range map[string]struct {
		change func(*Spec)
		want   string
	}{
		"no streams":   {func(s *Spec) { s.Streams = 0 }, "0 streams"},
		"no rate":      {func(s *Spec) { s.Rate = 0 }, "at 0 events"},
		"NaN":          {func(s *Spec) { s.Rate = math.NaN() }, "at NaN events"},
		"backwards":    {func(s *Spec) { s.Duration = -1 }, "for -1ns"},
		"no command":   {func(s *Spec) { s.Command = nil }, "no command"},
		"not its mock": {func(s *Spec) { s.Command = []string{"true"} }, "instead of its address"},
		"client fails": {func(s *Spec) {
			s.Client = func(string) load.Streamer {
				return streamFunc(func(context.Context, openai.Request) (measure.Sample, error) {
					return measure.Sample{}, errors.New("out of order")
				})
			}
		}, "out of order"},
		"client loses events": {func(s *Spec) {
			s.Client = func(base string) load.Streamer {
				client := openai.New(base, "mock")
				return streamFunc(func(ctx context.Context, r openai.Request) (measure.Sample, error) {
					sample, err := client.Stream(ctx, r)
					sample.Events = sample.Events[1:]
					return sample, err
				})
			}
		}, "the client saw 9 of 10 events"},
		"cancelled": {func(s *Spec) {
			s.Client = func(string) load.Streamer {
				return streamFunc(func(ctx context.Context, _ openai.Request) (measure.Sample, error) {
					cancel()
					return measure.Sample{}, ctx.Err()
				})
			}
		}, "canceled"},
	} {
		spec := good
		c.change(&spec)
		with := t.Context()
		if name == "cancelled" {
			with = ctx
		}
		if _, err := Calibrate(with, spec); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

func TestVerdict(t *testing.T) {
	good := measure.Calibration{Streams: 4, Rate: 50, Requests: 4, Events: 240, TTFTp50: 0.1, TTFTp99: 0.5, ITLp50: 0.01, ITLp99: 0.2, Delivered: 1, CPU: 10}
	if why := Verdict(good, time.Millisecond); why != "" {
		t.Errorf("a good one: %s", why)
	}
	for name, c := range map[string]struct {
		change func(*measure.Calibration)
		want   string
	}{
		"nothing":           {func(c *measure.Calibration) { *c = measure.Calibration{} }, "is not calibrated"},
		"no events":         {func(c *measure.Calibration) { c.Events = 0 }, "is not calibrated"},
		"half of it":        {func(c *measure.Calibration) { c.Delivered = 0.5 }, "only 50% of the planned events"},
		"an unknown share":  {func(c *measure.Calibration) { c.Delivered = math.NaN() }, "only NaN%"},
		"an infinite share": {func(c *measure.Calibration) { c.Delivered = math.Inf(1) }, "only +Inf%"},
		"late":              {func(c *measure.Calibration) { c.TTFTp99 = 1.01 }, "error in TTFT is 1.01 ms"},
		"uneven":            {func(c *measure.Calibration) { c.ITLp99 = 30 }, "error in ITL is 30 ms"},
		"an unknown TTFT":   {func(c *measure.Calibration) { c.TTFTp99 = math.NaN() }, "TTFT is unknown"},
		"an unknown ITL":    {func(c *measure.Calibration) { c.ITLp50 = math.NaN() }, "ITL is unknown"},
		"an infinite ITL":   {func(c *measure.Calibration) { c.ITLp99 = math.Inf(1) }, "ITL is +Inf ms"},
	} {
		bad := good
		c.change(&bad)
		if why := Verdict(bad, time.Millisecond); !strings.Contains(why, c.want) {
			t.Errorf("%s: %q, want %q", name, why, c.want)
		}
	}
	if why := Verdict(good, 0); !strings.Contains(why, "must be positive") {
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
		"saw 2 of 3 events":       sample(1, 2),
		"more than the 3 events":  sample(1, 2, 3, 4),
		"saw 0 of 3 events":       sample(),
		`request "a" failed: res`: failed,
	} {
		if _, err := Compare([]measure.Sample{bad}, []Truth{truth}, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if _, err := Compare([]measure.Sample{sample(1)}, nil, name); err == nil || !strings.Contains(err.Error(), "has no request") {
		t.Errorf("error %v", err)
	}
}
