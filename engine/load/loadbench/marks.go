package main

import (
	"fmt"
)

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
	mostParserNS       = 600
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

	m := mark{"rate at saturation against the floor", fmt.Sprintf("≥ %g %%", 100*leastRate), "", unknown}
	if r.FloorMost > 0 {
		share := r.ClientMost / r.FloorMost
		m = judged(m.What, m.Want, fmt.Sprintf("%.0f %% (%.0f of %.0f events/s)", 100*share, r.ClientMost, r.FloorMost), share >= leastRate)
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

	m = mark{"parsing an event", fmt.Sprintf("≤ %d ns, no allocation", mostParserNS), "", unknown}
	if p := r.Parser; p != nil && p.NS > 0 {
		m = judged(m.What, m.Want, fmt.Sprintf("%.0f ns, %g allocations", p.NS, p.Allocs), p.NS <= mostParserNS && p.Allocs == 0)
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
