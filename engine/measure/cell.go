package measure

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// totals are what a cell's window is divided by or into.
type totals struct {
	// tokens are the output tokens of all answered requests, where known.
	tokens float64
	known  bool
}

// cell adds what follows from the cell's requests together.
func (o single) cell(c CellRun, all []answer) totals {
	answered, good, prompt, output, retries := 0, 0, 0, 0, 0
	computedAll, countedAll, recorded, inside := true, true, false, c.window().exists()
	for _, s := range all {
		retries += s.Retries
		recorded = recorded || s.recorded()
		if s.values == nil {
			continue
		}
		answered++
		if keeps(s.values, c.SLO) {
			good++
		}
		tokens, known := computed(*s.Sample, c)
		// A prompt that was cached whole left nothing to compute.
		known = known || (s.CachedTokens >= 0 && s.PromptTokens == s.CachedTokens)
		prompt, computedAll = prompt+max(tokens, 0), computedAll && known
		output, countedAll = output+max(s.OutputTokens, 0), countedAll && plausible(s.OutputTokens)
		inside = inside && s.inside(c.window())
	}
	some := answered > 0 && inside
	length := c.window().seconds()
	o.put("tg_total", float64(output)/length, some && countedAll)
	o.put("pp_total", float64(prompt)/length, some && computedAll)
	o.put("requests_per_s", float64(answered)/length, some)
	o.put("goodput", float64(good)/length, some && len(c.SLO) > 0)
	o.put("slo_attainment", float64(good)/float64(len(all)), len(all) > 0 && len(c.SLO) > 0)
	o.put("duration_s", length, some)
	o.put("errors", float64(len(all)-answered), len(all) > 0)
	o.put("error_rate", float64(len(all)-answered)/float64(len(all)), len(all) > 0)
	o.put("retry_count", float64(retries), recorded)
	peak, known := peakTokens(c, all)
	o.put("tg_peak", peak, known && some)
	return totals{tokens: float64(output), known: some && countedAll}
}

// plausible tells a count of tokens from one that is not known or absurd.
func plausible(tokens int) bool { return tokens >= 0 && tokens <= math.MaxInt32 }

// keeps reports whether a request kept every limit.
func keeps(v Values, limits map[string]float64) bool {
	for name, limit := range limits {
		if len(v[name]) == 0 || !(slices.Max(v[name]) <= limit) {
			return false
		}
	}
	return true
}

// inside reports whether a request was sent and answered within a window, as far
// as it says so.
func (s Sample) inside(w window) bool {
	return !s.recorded() || (s.Start >= w.from && s.Start+s.Events[len(s.Events)-1].At <= w.to)
}

// second is the width in which the peak is looked for.
const second = time.Second

// peakTokens is the most tokens that arrived within a second, its end excluded.
func peakTokens(c CellRun, all []answer) (most float64, known bool) {
	if !c.window().exists() || c.To-c.From < second {
		return 0, false
	}
	var arrived []step
	for _, s := range all {
		if s.values == nil {
			continue
		}
		t := tokensOf(*s.Sample)
		if !s.recorded() || (!t.counted && len(t.steps) > 0) {
			return 0, false
		}
		for _, e := range t.steps {
			arrived = append(arrived, step{s.Start + e.at, e.tokens})
		}
	}
	slices.SortFunc(arrived, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	sum, best, first := 0, 0, 0
	for _, e := range arrived {
		sum += e.tokens
		for arrived[first].at <= e.at-second {
			sum -= arrived[first].tokens
			first++
		}
		best = max(best, sum)
	}
	return float64(best), best > 0
}
