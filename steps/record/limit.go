package record

import (
	"slices"
	"time"

	"github.com/mxflow/mxflow/engine/limit"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

// bound says of every cell what the machine allows. It comes when all are measured,
// since which GPUs the engine was on is seen meanwhile.
func (r *recording) bound() {
	if r.Limit == nil {
		return
	}
	var names []string
	for _, uuid := range limit.Used(r.Machine.GPUs, r.taken.Series) {
		names = append(names, r.Limit.GPUs[uuid])
	}
	machine, err := limit.Of(names)
	if err != nil || len(names) == 0 {
		return
	}
	for i := range r.sent {
		c := &r.sent[i]
		l := r.Limit.Model.Limit(machine, max(c.cell.Concurrency, 1), contextOf(c))
		if l == nil {
			continue
		}
		l.Source = r.Limit.Source
		if c.w.Arrival != "" {
			l.Requests, l.StepGB = 0, 0 // an open loop has as many at once as it comes to
		}
		c.run.Limit, r.taken.Cells[i].Limit = l, l
	}
}

// contextOf is how many tokens a request's answer begins behind: the median of what the
// engine counted.
func contextOf(c *sentCell) float64 {
	var tokens []float64
	for _, s := range c.samples {
		if s.Measured() && s.Err == "" && s.PromptTokens > 0 {
			tokens = append(tokens, float64(s.PromptTokens))
		}
	}
	if len(tokens) == 0 {
		return float64(c.cell.Prompt + c.cell.Depth)
	}
	slices.Sort(tokens)
	return measure.Quantile(tokens, 0.5)
}

// possible looks for speeds that no machine of its kind can have.
func (r *recording) possible(c sentCell) {
	l := c.run.Limit
	if most := l.MostSteps(); most > 0 {
		shortest := time.Duration(float64(time.Second) / most)
		if steps, known := limit.Steps(c.samples, shortest); known && steps > most {
			r.invalid(c.fact(code.DecodeBeyond, verdict.Num("steps", steps, "steps/s"), verdict.Num("most", most, "steps/s"),
				verdict.Num("least", l.LeastGB, "GB"), verdict.Num("bandwidth", l.BandwidthGBs, "GB/s"), verdict.Num("room", l.Room-1, "share"),
				verdict.Text("machine", l.Machine)))
		}
	}
	pp, known := r.taken.Metrics[c.cell.Address+".pp"].Stats["median"]
	if most := l.MostPrompt(); known && most > 0 && pp > most {
		r.invalid(c.fact(code.PrefillBeyond, verdict.Num("value", pp, "tok/s"), verdict.Num("most", most, "tok/s"),
			verdict.Num("each", l.PromptGFLOP, "GFLOP"), verdict.Num("rate", l.MostTFLOPs, "TFLOP/s"), verdict.Num("room", l.Room-1, "share"),
			verdict.Text("machine", l.Machine)))
	}
	if share, known := r.taken.Metrics[c.cell.Address+".tg_of_limit"].Stats["mean"]; known && share > 1 {
		r.note(c.fact(code.AboveFormats, verdict.Num("bandwidth", l.BandwidthGBs, "GB/s")))
	}
}
