package stress

import (
	"slices"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

// memory judges how fast memory grew from request to request: the host's and each GPU's
// separately, as a leak of one is not the other's.
func (r *run) memory(series []measure.Series, gpus []string) (verdict.Verdict, []verdict.Reason) {
	if r.steady == nil {
		return verdict.Pass, nil
	}
	done := ends(r.steady)
	r.slopes = map[string][]float64{}
	var verdicts []verdict.Verdict
	var why []verdict.Reason
	for _, source := range sources(series, gpus) {
		v, reason := r.slope(done, source)
		if verdicts = append(verdicts, v); v != verdict.Pass {
			why = slices.Insert(why, 0, reason)
		} else {
			why = append(why, reason)
		}
	}
	for name, all := range r.slopes {
		r.found(name, slices.Max(all))
	}
	return verdict.Join(verdicts...), why
}

// source is where memory is read, and its readings.
type source struct {
	name, number string
	series       measure.Series
}

// sources are the host's memory (the container's if there is one and it is known) and
// that of each GPU; a GPU without memory of its own has the host's. They are listed even
// if nothing was read.
func sources(all []measure.Series, gpus []string) []source {
	find := func(from string, names ...string) measure.Series {
		for _, name := range names {
			for _, s := range all {
				if s.Name == name && (from == "" || s.Source == from) {
					return s
				}
			}
		}
		return measure.Series{}
	}
	out := []source{{"host", "memory_slope", find("", measure.ContainerMemory, measure.EngineMemory)}}
	for _, uuid := range gpus {
		out = append(out, source{"GPU " + uuid, "gpu_memory_slope", find(uuid, measure.GPUMemory, measure.GPUHostMemory)})
	}
	return out
}

// ends are when requests were answered, ascending.
func ends(samples []measure.Sample) []float64 {
	var at []float64
	for _, s := range samples {
		at = append(at, ended(s).Seconds())
	}
	slices.Sort(at)
	return at
}

// slope is the trend of one source: memory in MB by thousands of requests, so a slow
// stretch weighs no more than a fast one.
func (r *run) slope(done []float64, from source) (verdict.Verdict, verdict.Reason) {
	var x, y []float64
	warm := len(done) / 3
	for i, at := range from.series.At {
		n, _ := slices.BinarySearch(done, at.Seconds())
		if n >= warm && n < len(done) {
			x, y = append(x, float64(n)/1000), append(y, from.series.Value[i]*1000)
		}
	}
	in, err := stats.Trend(x, y)
	asked := r.MaxMemorySlope != nil
	args := []verdict.Arg{verdict.Int("readings", len(x)), verdict.Int("requests", len(done)-warm)}
	if asked {
		args = append(args, verdict.Num("limit", *r.MaxMemorySlope, "MB"))
	}
	if err != nil || !in.Bounded {
		v := verdict.Pass
		if asked {
			v = verdict.Inconclusive
		}
		return v, verdict.Say("stress.memory_unknown",
			"{subject}: no memory slope from {readings|reading|readings} over "+
				"{requests|request|requests}{limit?: soak longer, or on the engine's own machine}",
			args...).On(from.name)
	}
	r.slopes[from.number] = append(r.slopes[from.number], in.Mean)
	args = append(args, verdict.Num("slope", in.Mean, "MB"), verdict.Span("within", in.Low, in.High, "MB"))
	switch {
	case !asked:
		return verdict.Pass, verdict.New(code.MemorySlope, args...).On(from.name)
	case in.Low > *r.MaxMemorySlope:
		return verdict.Fail, verdict.Say("stress.memory_leaks",
			"{subject}: memory grew by {slope} per 1000 requests (95% interval {within}), beyond the limit of "+
				"{limit}",
			args...).On(from.name)
	case in.High <= *r.MaxMemorySlope:
		return verdict.Pass, verdict.New(code.MemorySlope, args...).On(from.name)
	}
	return verdict.Inconclusive, verdict.Say("stress.memory_open",
		"{subject}: memory grew by {slope} per 1000 requests (95% interval {within}), limit {limit}: too wide to "+
			"tell; soak longer",
		args...).On(from.name)
}
