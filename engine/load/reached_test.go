package load

import (
	"fmt"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

// serving is a simulated engine in steps: in each it computes a chunk of the prompt at
// the head of its queue and, unless prompts come first, one token of every running
// answer.
type serving struct {
	limit         int // of requests at once, 0 for none
	promptsFirst  bool
	chunks, out   int // of a request
	asked, n      int // kept in flight by the client, and in all
	gaugeEvery    time.Duration
	chunk, decode time.Duration
}

func (v serving) run() ([]measure.Sample, measure.Series) {
	type request struct {
		left, made int
		s          measure.Sample
	}
	gauge := measure.Series{Name: "engine.running"}
	var done []measure.Sample
	var waiting, running []*request
	var now, read time.Duration
	sent := 0
	for len(done) < v.n {
		for len(waiting)+len(running) < v.asked && sent < v.n {
			waiting = append(waiting, &request{left: v.chunks, s: measure.Sample{
				Workload: "chat", Index: sent, Start: now, OutputTokens: v.out, PromptTokens: v.chunks * chunk, CachedTokens: -1,
			}})
			sent++
		}
		var head *request
		for _, r := range running {
			if r.left > 0 {
				head = r
			}
		}
		if head == nil && len(waiting) > 0 && (v.limit == 0 || len(running) < v.limit) {
			head, waiting = waiting[0], waiting[1:]
			running = append(running, head)
		}
		step := v.decode
		if head != nil {
			step = v.chunk
			head.left--
		}
		for ; read <= now; read += v.gaugeEvery {
			gauge.At, gauge.Value = append(gauge.At, read), append(gauge.Value, float64(len(running)))
		}
		now += step
		var still []*request
		for _, r := range running {
			makes := r.left == 0 && (r == head || head == nil || !v.promptsFirst)
			if makes {
				r.made++
				r.s.Events = append(r.s.Events, measure.Event{At: now - r.s.Start, Kind: measure.KindText, Tokens: r.made})
			}
			if r.made == v.out {
				done = append(done, r.s)
			} else {
				still = append(still, r)
			}
		}
		running = still
	}
	return done, gauge
}

func TestReached(t *testing.T) {
	base := serving{chunks: 1, out: 64, asked: 16, n: 48, gaugeEvery: 100 * time.Millisecond, chunk: 300 * time.Millisecond, decode: 20 * time.Millisecond}
	tests := []struct {
		name          string
		change        func(*serving)
		enough, known bool
		least, most   float64
		why           ReachCode
	}{
		{"no limit", func(v *serving) {}, true, true, 14, 16, ""},
		{"prompts first", func(v *serving) { v.promptsFirst = true }, true, true, 14, 16, ""},
		{"long prompts first", func(v *serving) { v.promptsFirst, v.chunks = true, 8 }, true, true, 14, 16, TooShort},
		{"as many as requests", func(v *serving) { v.n = 16 }, true, true, 13, 16, ""},
		{"asked for 16, got 2", func(v *serving) { v.limit = 2 }, false, true, 2, 2, ""},
		{"and with prompts first", func(v *serving) { v.limit, v.promptsFirst = 2, true }, false, true, 2, 2, ""},
		{"12 of 16", func(v *serving) { v.limit = 12 }, false, true, 11, 12, ""},
		{"14 of 16 are 0.8 of them", func(v *serving) { v.limit = 14 }, true, true, 13, 14, ""},
		{"one at a time", func(v *serving) { v.asked, v.n = 1, 4 }, true, true, 1, 1, ""},
		{"limited to one", func(v *serving) { v.limit = 1 }, false, true, 1, 1, ""},
		// 64 tokens during prompts of 16 steps each: 4 at once without any limit.
		{"bound by prompts", func(v *serving) { v.chunks = 16 }, false, false, 3, 6, TooShort},
		{"bound by prompts or a limit", func(v *serving) { v.chunks, v.limit = 16, 2 }, false, false, 1, 2, TooShort},
		{"one token", func(v *serving) { v.out = 1 }, false, false, -1, -1, OneToken},
		{"fewer requests than places", func(v *serving) { v.n = 10 }, false, true, 10, 10, NeverSent},
	}
	for _, tt := range tests {
		v := base
		tt.change(&v)
		samples, gauge := v.run()
		for _, says := range []bool{true, false} {
			if !says {
				gauge = measure.Series{}
			}
			c := Reached(measure.CellRun{Cell: "chat", To: time.Hour, Concurrency: v.asked}, gauge, samples)
			enough, known := c.Enough(0.8)
			if enough != tt.enough || known != tt.known || c.Reached < tt.least || c.Reached > tt.most || tt.why != "" && c.Why != tt.why {
				t.Errorf("%s, gauge %v: %v, known %v: %+v", tt.name, says, enough, known, c)
			}
			if c.Asked != v.asked || says && c.By == "" && c.Reached >= 0 {
				t.Errorf("%s: %+v", tt.name, c)
			}
		}
	}
}

func TestReachedOfOddSamples(t *testing.T) {
	run := measure.CellRun{Cell: "chat", To: time.Hour, Concurrency: 2}
	for name, samples := range map[string][]measure.Sample{
		"none":          nil,
		"failed":        {{Workload: "chat", Err: "broken"}},
		"another cell":  {{Workload: "talk", Events: []measure.Event{{Kind: measure.KindText}}}},
		"only warm-ups": {{Workload: "chat", Warmup: true, Events: []measure.Event{{Kind: measure.KindText}}}},
	} {
		c := Reached(run, measure.Series{}, samples)
		if enough, known := c.Enough(0.8); enough || known || c.Why == "" {
			t.Errorf("%s: %+v", name, c)
		}
	}
	open := Reached(measure.CellRun{Cell: "chat", Rate: 3}, measure.Series{}, []measure.Sample{{Workload: "chat", OpenLoop: true, Events: []measure.Event{{}}}})
	if open.Asked != 0 || open.Why == "" {
		t.Errorf("%+v", open)
	}
	// A gauge that the engine updated long ago does not show what runs now.
	v := serving{chunks: 1, out: 50, asked: 4, n: 8, limit: 2, gaugeEvery: time.Hour, chunk: 2 * time.Second, decode: time.Second}
	samples, _ := v.run()
	old := measure.Series{At: []time.Duration{0}, Value: []float64{4}}
	run.Concurrency = 4
	if c := Reached(run, old, samples); c.By != "client" || c.Reached > 2 {
		t.Errorf("%+v", c)
	}
}

func ExampleReached() {
	v := serving{chunks: 1, out: 64, asked: 16, n: 48, limit: 2, gaugeEvery: 100 * time.Millisecond, chunk: 300 * time.Millisecond, decode: 20 * time.Millisecond}
	samples, running := v.run()
	c := Reached(measure.CellRun{Cell: "chat", To: time.Hour, Concurrency: 16}, running, samples)
	enough, known := c.Enough(0.8)
	fmt.Println(c.Reached, c.By, enough, known)
	// Output: 2 engine false true
}
