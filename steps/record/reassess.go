package record

import (
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Assessment is what the samples of a launch show about whether it counts.
type Assessment struct {
	Invalid, Incoherent []verdict.Reason
	Disturbed           bool
}

// Reassess judges a recorded launch from what it kept, as Take did. It reports false if too
// little was kept: by launches from before cells recorded how their prompts were made, or
// with cells that the plan does not have.
func Reassess(p *plans.Plan, kind kinds.Kind, l *ledger.Launch, kept measure.Recording) (Assessment, bool) {
	r := &recording{Subject: Subject{Kind: kind}, taken: &Measurement{Recording: kept, Metrics: l.Metrics}}
	cells := map[string]sentCell{}
	for _, w := range p.Workloads {
		for _, cell := range w.Cells() {
			cells[cell.Address] = sentCell{w: w, cell: cell}
		}
	}
	for _, run := range l.Cells {
		c, ok := cells[run.Of()]
		if !ok || run.Prompts.Method == "" {
			return Assessment{}, false
		}
		if c.run = run; run.Probe != nil {
			c.cell.Address, c.cell.Dimensions = run.Cell, run.Dimensions
		}
		for _, s := range kept.Samples {
			if s.Workload == run.Cell {
				c.samples = append(c.samples, s)
			}
		}
		for _, s := range kept.Series {
			if s.Name == measure.ClientDelay && s.Source == run.Cell {
				c.delay = s
			}
		}
		r.sent = append(r.sent, c)
	}
	r.judge()
	return Assessment{r.taken.Invalid, r.taken.Incoherent, r.taken.Disturbed}, true
}

// OfSamples reports whether a reason for a launch not to count comes from its samples, so
// judging them again must find it.
func OfSamples(why verdict.Reason) bool {
	return why.AnyOf(disturbing...) ||
		why.AnyOf(code.Unusable, code.FromCache, code.ContextLost, code.PrefixHits, code.LengthCounted,
			code.Overlong, code.TooFast, code.DecodeBeyond, code.PrefillBeyond)
}
