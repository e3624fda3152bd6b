package profiling

import (
	"fmt"
	"slices"

	"github.com/mxflow/mxflow/engine/trace"
	"github.com/mxflow/mxflow/engine/trace/symbol"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// bounds are what a step can wait for.
var bounds = []string{
	string(trace.BoundHost), string(trace.BoundMemory), string(trace.BoundCompute),
	string(trace.BoundCommunication),
}

func (c *Config) finds() (found []plans.LevelResult) {
	categories := slices.Clone(symbol.Categories)
	for _, own := range c.categories {
		if !slices.Contains(categories, own.Category) {
			categories = append(categories, own.Category)
		}
	}
	for i, n := range c.Concurrency {
		number := func(name, unit, better, doc string) {
			found = append(found, plans.LevelResult{
				Name: c.named(name, i), Unit: unit, Better: better,
				Doc: fmt.Sprintf("%s, with %d at once.", doc, n),
			})
		}
		number("step_us", "µs", "lower", "How long a decoding step takes without the profiler")
		number("gpu_us", "µs", "lower", "How long the GPU is busy in a decoding step")
		number("idle_share", "share", "lower", "Share of a decoding step in which the GPU waits")
		number("kernels", "count", "lower", "Kernels and copies of a decoding step")
		number("limit_us", "µs", "neither",
			"Shortest time that the GPU's memory and arithmetic allow for a decoding step, if model and GPU are known")
		number("of_limit", "share", "higher", "Share of that in a decoding step without the profiler")
		found = append(found,
			plans.LevelResult{Name: c.named("bound", i), Words: bounds, Doc: fmt.Sprintf("What a decoding step "+
				"waits for most of its time: host, memory, compute or communication, with %d at once. Absent if the "+
				"profile does not show it.", n)})
		number("prefill_gpu_us", "µs", "lower", "How long the GPU is busy per prompt token")
		for _, category := range categories {
			number(category+"_us", "µs", "lower", "How long the GPU is busy with "+category+" in a decoding step")
			number(category+"_share", "share", "neither", "Share of that in all of its work in decoding")
			number("prefill_"+category+"_us", "µs", "lower",
				"How long the GPU is busy with "+category+" per prompt token")
			number("prefill_"+category+"_share", "share", "neither", "Share of that in all of its work in prefill")
		}
	}
	return found
}

// named is the rules' name of a number at the i-th concurrency.
func (c *Config) named(name string, i int) string {
	if i == 0 {
		return name
	}
	return fmt.Sprintf("%s_c%d", name, c.Concurrency[i])
}

// ResultSink receives the numbers and words that a level finds.
type ResultSink interface {
	Number(name string, values ...float64)
	Word(name, word string)
}

// Results reports the results of the windows' profiles, compared with a machine and a model
// if these are known, and returns them as facts.
func (c *Config) Results(taken []WindowProfile, on trace.Basis, to ResultSink) (said []verdict.Reason) {
	for _, t := range taken {
		p := t.main()
		if p == nil {
			continue
		}
		i := slices.Index(c.Concurrency, t.Requests)
		prefix, per := "", p.Step
		if t.Phase == trace.Prefill {
			prefix, per = "prefill_", p.Per
		}
		number := func(name string, us float64, of func(float64) (float64, bool)) {
			if x, known := of(us); known {
				to.Number(c.named(name, i), x)
			}
		}
		number(prefix+"gpu_us", p.GPU, per)
		for _, category := range p.Categories {
			number(prefix+category.Name+"_us", category.Total, per)
			if p.GPU > 0 {
				to.Number(c.named(prefix+category.Name+"_share", i), category.Total/p.GPU)
			}
		}
		said = append(said, t.summary(p))
		if t.Phase != trace.Decode {
			continue
		}
		on.Context = t.Context
		if r, err := trace.RooflineOf(p, on); err == nil {
			if r.Bound.By != trace.BoundUnknown { // which is not among the words, so no rule passes by it
				to.Word(c.named("bound", i), string(r.Bound.By))
			}
			if least := r.Limit(); least > 0 {
				to.Number(c.named("limit_us", i), least)
				if r.Step.Low == r.Step.High {
					to.Number(c.named("of_limit", i), least/r.Step.Low)
				}
			}
		}
		number("kernels", float64(p.Count()), per)
		if p.Unprofiled > 0 {
			to.Number(c.named("step_us", i), p.Unprofiled)
			if busy, known := p.Step(p.Busy); known && busy > 0 {
				to.Number(c.named("idle_share", i), max(0, 1-busy/p.Unprofiled))
			}
		}
	}
	return said
}

func (t *WindowProfile) summary(p *trace.Part) verdict.Reason {
	args := []verdict.Arg{verdict.Int("steps", p.Steps), verdict.Int("kernels", p.Count())}
	us, known := p.Step(p.GPU)
	if known {
		args = append(args, verdict.Num("gpu", us, "µs"))
	}
	if p.Unprofiled > 0 && t.Phase == trace.Decode {
		args = append(args, verdict.Num("step", p.Unprofiled, "µs"))
	}
	if most := slices.MaxFunc(p.Categories, func(a, b trace.Category) int {
		return int(a.Total - b.Total)
	}); p.GPU > 0 {
		args = append(args, verdict.Text("most", trace.Words(most.Name)),
			verdict.Num("share", most.Total/p.GPU, "share"))
	}
	return verdict.Say("profile.took",
		"{subject}: {gpu?GPU {gpu} a step}{gpu!{kernels|kernel|kernels}}{step? ({step} from end to end)}{most?, "+
			"{most} {share}}",
		args...).On(t.Name())
}
