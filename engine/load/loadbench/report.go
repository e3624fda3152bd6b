package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"text/tabwriter"
)

// result is all that was found.
type result struct {
	Processors int    `json:"processors"`
	System     string `json:"system"`
	Go         string `json:"go"`
	// Batched says that events of all streams were sent at the same instants.
	Batched bool  `json:"batched,omitempty"`
	Rows    []row `json:"rows"`
	// Saturation are rows of rising load until neither keeps up; ClientMost and
	// FloorMost are the most events a second that each received.
	Saturation []row   `json:"saturation"`
	ClientMost float64 `json:"client_most_per_s"`
	FloorMost  float64 `json:"floor_most_per_s"`
	Marks      []mark  `json:"marks"`
}

func (b *bencher) all(ctx context.Context, rows []row) (result, error) {
	r := result{Processors: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), Batched: b.batched}
	for i, one := range rows {
		fmt.Fprintf(b.stderr, "row %d of %d: %d streams of %g events/s\n", i+1, len(rows), one.Streams, one.Rate)
		done, err := b.row(ctx, one, true)
		if err != nil {
			return r, err
		}
		r.Rows = append(r.Rows, done)
	}
	if b.grid == "" {
		if err := b.saturate(ctx, &r); err != nil {
			return r, err
		}
	}
	r.Marks = r.marks()
	return r, nil
}

// saturationStreams share the rising load, which has reached its end where less
// than saturated of it arrives.
const saturationStreams, saturated = 400, 0.9

// saturate raises the load by half until neither client nor floor receive it.
func (b *bencher) saturate(ctx context.Context, r *result) error {
	for rate := 50.0; rate <= 2000; rate *= 1.5 {
		fmt.Fprintf(b.stderr, "saturation: %d streams of %.0f events/s\n", saturationStreams, rate)
		one, err := b.row(ctx, row{Streams: saturationStreams, Rate: rate}, false)
		if err != nil {
			return err
		}
		r.Saturation = append(r.Saturation, one)
		r.ClientMost, r.FloorMost = max(r.ClientMost, one.Client.Received), max(r.FloorMost, one.Floor.Received)
		if least := saturated * one.planned(); one.Client.Received < least && one.Floor.Received < least {
			return nil
		}
	}
	return nil
}

// print writes the table in Markdown, aligned for terminals.
func (r result) print(w io.Writer) {
	fmt.Fprintf(w, "%s, %s, %d processors shared by client and mock server\n\n", r.System, r.Go, r.Processors)
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprintln(t, "| streams\t| tok/s each\t| events/s planned\t| sent\t| received\t| floor received\t| CPU µs/event\t| floor\t| ratio\t| TTFT error p50 / p99 ms\t| ITL error p50 / p99 ms\t| of a bare reader\t| delay p99 ms\t| RSS MB\t| floor RSS\t|")
	fmt.Fprintln(t, "| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t|")
	for _, one := range slices.Concat(r.Rows, r.Saturation) {
		ttft, itl, delay, bare := "behind", "behind", "behind", ""
		if c := one.Clock; c != nil && c.Errors != nil {
			bare = fmt.Sprintf("%.3f / %.3f", c.Errors.ITLp50, c.Errors.ITLp99)
		}
		if e := one.Client.Errors; e != nil {
			ttft, itl, delay = fmt.Sprintf("%.3f / %.3f", e.TTFTp50, e.TTFTp99), fmt.Sprintf("%.3f / %.3f", e.ITLp50, e.ITLp99), fmt.Sprintf("%.3f", e.Delayp99)
		}
		ratio := "did not keep up"
		if one.keepsUp() {
			ratio = fmt.Sprintf("%.2f", one.Ratio)
		}
		fmt.Fprintf(t, "| %d\t| %.4g\t| %.0f\t| %.0f\t| %.0f\t| %.0f\t| %.2f\t| %.2f\t| %s\t| %s\t| %s\t| %s\t| %s\t| %.0f\t| %.0f\t|\n",
			one.Streams, one.Rate, one.planned(), one.Client.Sent, one.Client.Received, one.Floor.Received,
			one.Client.CPU, one.Floor.CPU, ratio, ttft, itl, bare, delay, one.Client.Memory, one.Floor.Memory)
	}
	_ = t.Flush()
	fmt.Fprintf(w, "\n| mark | to reach | measured | |\n| --- | --- | --- | --- |\n")
	for _, m := range r.Marks {
		fmt.Fprintf(w, "| %s | %s | %s | %s |\n", m.What, m.Want, m.Got, m.Verdict)
	}
}

// mark is one thing to reach.
type mark struct {
	What string `json:"what"`
	Want string `json:"want"`
	Got  string `json:"got"`
	// Verdict is met, missed, or not measured.
	Verdict string `json:"verdict"`
}

const (
	met     = "met"
	missed  = "**missed**"
	unknown = "not measured"
)

func judged(what, want, got string, ok bool) mark {
	m := mark{what, want, got, missed}
	if ok {
		m.Verdict = met
	}
	return m
}

// What there is to reach.
const (
	leastRate, mostCPU = 0.9, 1.2
	mostITL            = 1.0   // ms
	itlLoad            = 20000 // events/s
	mostMemory         = 150   // MB
	memoryStreams      = 2000
	// enough is the share of the planned events that counts as keeping up.
	enough = 0.95
	// sparse are the loads at which the floor was measured when the mark was set:
	// so many streams, of which each is idle most of the time.
	sparseFrom, sparseTo = 100, 1000
)

func (r result) marks() []mark {
	var marks []mark
	add := func(m mark) { marks = append(marks, m) }

	m := mark{"rate at saturation against the floor", fmt.Sprintf("≥ %g%%", 100*leastRate), "", unknown}
	if r.FloorMost > 0 {
		share := r.ClientMost / r.FloorMost
		m = judged(m.What, m.Want, fmt.Sprintf("%.0f%% (%.0f of %.0f events/s)", 100*share, r.ClientMost, r.FloorMost), share >= leastRate)
	}
	add(m)

	m = mark{fmt.Sprintf("CPU an event against the floor, worst row of %d to %d streams that keeps up", sparseFrom, sparseTo), fmt.Sprintf("≤ %g ×", mostCPU), "", unknown}
	worst := 0.0
	for _, one := range r.Rows {
		if one.Streams >= sparseFrom && one.Streams <= sparseTo && one.keepsUp() && one.Ratio > worst {
			worst = one.Ratio
			m = judged(m.What, m.Want, fmt.Sprintf("%.2f × (%.2f against %.2f µs, %d streams of %g/s)", worst, one.Client.CPU, one.Floor.CPU, one.Streams, one.Rate), worst <= mostCPU)
		}
	}
	add(m)

	m = mark{fmt.Sprintf("ITL error p99 at %d events/s, worst row", itlLoad), fmt.Sprintf("≤ %g ms", mostITL), "", unknown}
	itl := -1.0
	for _, one := range r.Rows {
		if one.planned() != itlLoad {
			continue
		}
		if one.Client.Errors == nil || one.Client.Received < enough*one.planned() {
			m = judged(m.What, m.Want, "the client fell behind", false)
			break
		}
		if p99 := one.Client.Errors.ITLp99; p99 > itl {
			itl = p99
			got := fmt.Sprintf("%.3f ms (%d streams of %g/s)", itl, one.Streams, one.Rate)
			if c := one.Clock; c != nil && c.Errors != nil {
				got += fmt.Sprintf("; a bare reader %.3f ms", c.Errors.ITLp99)
			}
			m = judged(m.What, m.Want, got, itl <= mostITL)
		}
	}
	add(m)

	m = mark{fmt.Sprintf("memory of %d streams, worst row that keeps up", memoryStreams), fmt.Sprintf("< %d MB", mostMemory), "", unknown}
	memory := 0.0
	for _, one := range r.Rows {
		if one.Streams >= memoryStreams && one.keepsUp() && one.Client.Memory > memory {
			memory = one.Client.Memory
			m = judged(m.What, m.Want, fmt.Sprintf("%.0f MB (%g/s each; floor %.0f MB)", memory, one.Rate, one.Floor.Memory), memory < mostMemory)
		}
	}
	add(m)
	return marks
}

// keepsUp reports whether client and floor received what was planned.
func (r row) keepsUp() bool {
	return min(r.Client.Received, r.Floor.Received) >= enough*r.planned()
}
