package stress

import (
	"slices"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/sorted"
)

// memory judges how fast memory grew from request to request: the host's (the container's if
// there is one and it is known) and each GPU's separately, as a leak of one is not the
// other's. A GPU without memory of its own has the host's. Each is judged even if nothing
// was read.
func (c *Config) memory(steady []measure.Sample, all []measure.Series, gpus []string,
	found func(name string, values ...float64),
) (verdict.Verdict, []verdict.Reason) {
	if steady == nil {
		return verdict.Pass, nil
	}
	var done []float64
	for _, s := range steady {
		done = append(done, answerEnd(s).Seconds())
	}
	slices.Sort(done)
	slopes := map[string][]float64{}
	v := verdict.Pass
	var why []verdict.Reason
	judge := func(name, number, from string, names ...string) {
		var read measure.Series
		for _, series := range names {
			if i := slices.IndexFunc(all, func(s measure.Series) bool {
				return s.Name == series && (from == "" || s.Source == from)
			}); i >= 0 {
				read = all[i]
				break
			}
		}
		own, reason, mean := c.slope(name, done, read)
		if mean != nil {
			slopes[number] = append(slopes[number], *mean)
		}
		if v = verdict.Join(v, own); own != verdict.Pass {
			why = slices.Insert(why, 0, reason)
		} else {
			why = append(why, reason)
		}
	}
	judge("host", "memory_slope", "", measure.EngineMemory)
	for _, uuid := range gpus {
		judge("GPU "+uuid, "gpu_memory_slope", uuid, measure.GPUMemory, measure.GPUHostMemory)
	}
	for number, all := range sorted.All(slopes) {
		found(number, slices.Max(all))
	}
	return v, why
}

// slope is the trend of one source: memory in MB by thousands of requests, so a slow
// stretch weighs no more than a fast one. done are when requests were answered, ascending.
func (c *Config) slope(name string, done []float64, read measure.Series) (verdict.Verdict, verdict.Reason, *float64) {
	var x, y []float64
	warm := len(done) / 3
	for i, at := range read.At {
		n, _ := slices.BinarySearch(done, at.Seconds())
		if n >= warm && n < len(done) {
			x, y = append(x, float64(n)/1000), append(y, read.Value[i]*1000)
		}
	}
	in, err := stats.Trend(x, y)
	asked := c.MaxMemorySlope != nil
	args := []verdict.Arg{verdict.Int("readings", len(x)), verdict.Int("requests", len(done)-warm)}
	if asked {
		args = append(args, verdict.Num("limit", *c.MaxMemorySlope, "MB"))
	}
	if err != nil || !in.Bounded {
		v := verdict.Pass
		if asked {
			v = verdict.Inconclusive
		}
		return v, verdict.Say("stress.memory_unknown",
			"{subject}: no memory slope from {readings|reading|readings} over "+
				"{requests|request|requests}{limit?: soak longer, or on the engine's own machine}",
			args...).On(name), nil
	}
	args = append(args, verdict.Num("slope", in.Mean, "MB"), verdict.Span("within", in.Low, in.High, "MB"))
	switch {
	case !asked:
		return verdict.Pass, verdict.New(code.MemorySlope, args...).On(name), &in.Mean
	case in.Low > *c.MaxMemorySlope:
		return verdict.Fail, verdict.Say("stress.memory_leaks",
			"{subject}: memory grew by {slope} per 1000 requests (95% interval {within}), beyond the limit of "+
				"{limit}",
			args...).On(name), &in.Mean
	case in.High <= *c.MaxMemorySlope:
		return verdict.Pass, verdict.New(code.MemorySlope, args...).On(name), &in.Mean
	}
	return verdict.Inconclusive, verdict.Say("stress.memory_open",
		"{subject}: memory grew by {slope} per 1000 requests (95% interval {within}), limit {limit}: too wide to "+
			"tell; soak longer",
		args...).On(name), &in.Mean
}
