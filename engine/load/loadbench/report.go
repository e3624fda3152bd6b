package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// result is all results.
type result struct {
	Processors int    `json:"processors"`
	System     string `json:"system"`
	Go         string `json:"go"`
	// Batched is set if events of all streams were sent at the same instants.
	Batched bool  `json:"batched,omitempty"`
	Rows    []row `json:"rows"`
	// Saturation are rows of rising load until neither keeps up; ClientMost and FloorMost
	// are the maximum of events per second that each received.
	Saturation []row   `json:"saturation"`
	ClientMost float64 `json:"client_most_per_s"`
	FloorMost  float64 `json:"floor_most_per_s"`
	Marks      []mark  `json:"marks"`
}

// print writes the table in Markdown, aligned for terminals.
func (r result) print(w io.Writer) error {
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
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n| mark | target | measured | |\n| --- | --- | --- | --- |\n")
	for _, m := range r.Marks {
		_, err = fmt.Fprintf(w, "| %s | %s | %s | %s |\n", m.What, m.Want, m.Got, m.Verdict)
	}
	return err
}

// mark is one target.
type mark struct {
	What string `json:"what"`
	Want string `json:"want"`
	Got  string `json:"got"`
	// Verdict is met, missed, or not measured.
	Verdict string `json:"verdict"`
}

// judge records the measured value, and whether it meets the target.
func (m *mark) judge(ok bool, format string, args ...any) {
	m.Got, m.Verdict = fmt.Sprintf(format, args...), "**missed**"
	if ok {
		m.Verdict = "met"
	}
}

// The targets.
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

// marks judges the saturation, and the worst of the rows that a mark covers.
func (r result) marks() []mark {
	const unknown = "not measured"
	rate := mark{What: "rate at saturation vs. the floor", Want: fmt.Sprintf("≥ %g%%", 100*leastRate), Verdict: unknown}
	cpu := mark{
		What: fmt.Sprintf("CPU per event vs. the floor, worst row of %d to %d streams that keeps up", sparseFrom, sparseTo),
		Want: fmt.Sprintf("≤ %g ×", mostCPU), Verdict: unknown,
	}
	itl := mark{What: fmt.Sprintf("ITL error p99 at %d events/s, worst row", itlLoad), Want: fmt.Sprintf("≤ %g ms", mostITL), Verdict: unknown}
	memory := mark{What: fmt.Sprintf("memory of %d streams, worst row that keeps up", memoryStreams), Want: fmt.Sprintf("< %d MB", mostMemory), Verdict: unknown}

	if r.FloorMost > 0 {
		share := r.ClientMost / r.FloorMost
		rate.judge(share >= leastRate, "%.0f%% (%.0f of %.0f events/s)", 100*share, r.ClientMost, r.FloorMost)
	}
	worstCPU, worstITL, worstMemory, behind := 0.0, -1.0, 0.0, false
	for _, one := range r.Rows {
		if one.Streams >= sparseFrom && one.Streams <= sparseTo && one.keepsUp() && one.Ratio > worstCPU {
			worstCPU = one.Ratio
			cpu.judge(worstCPU <= mostCPU, "%.2f × (%.2f against %.2f µs, %d streams of %g/s)", worstCPU, one.Client.CPU, one.Floor.CPU, one.Streams, one.Rate)
		}
		if one.Streams >= memoryStreams && one.keepsUp() && one.Client.Memory > worstMemory {
			worstMemory = one.Client.Memory
			memory.judge(worstMemory < mostMemory, "%.0f MB (%g/s each; floor %.0f MB)", worstMemory, one.Rate, one.Floor.Memory)
		}
		if one.planned() != itlLoad || behind {
			continue
		}
		e := one.Client.Errors
		if behind = e == nil || one.Client.Received < enough*one.planned(); behind {
			itl.judge(false, "the client fell behind")
		} else if e.ITLp99 > worstITL {
			worstITL = e.ITLp99
			bare := ""
			if c := one.Clock; c != nil && c.Errors != nil {
				bare = fmt.Sprintf("; a bare reader %.3f ms", c.Errors.ITLp99)
			}
			itl.judge(worstITL <= mostITL, "%.3f ms (%d streams of %g/s)%s", worstITL, one.Streams, one.Rate, bare)
		}
	}
	return []mark{rate, cpu, itl, memory}
}
