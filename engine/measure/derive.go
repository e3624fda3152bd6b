package measure

import (
	"math"
	"time"
)

// Values are the per-request metrics of one sample by name. All have one value
// but itl, which has one a token. A metric that the sample has no evidence for
// is absent; no value is NaN or infinite.
type Values map[string][]float64

// Derive computes every per-request metric that the sample alone has evidence
// for, as the catalogue defines them. It returns an error, and no values, for a
// sample that failed (Err), has no events, or whose event times are negative or
// run backwards, or whose token counts fall, or that was sent before it was due.
func Derive(s Sample) (Values, error) { return derive(s, CellRun{}) }

// derive is Derive with what is known of the sample's cell: the latency to
// subtract, and whether its context and the length of its answer were as asked.
func derive(s Sample, cell CellRun) (Values, error) {
	if err := check(s); err != nil {
		return nil, err
	}
	v := Values{}
	v.count("prompt_tokens", s.PromptTokens)
	v.count("output_tokens", s.OutputTokens)
	v.count("cached_tokens", s.CachedTokens)
	if s.recorded() {
		v.add("schedule_lag", ms(s.Start-s.Due))
		v.add("queue", ms(s.Due-s.Scheduled))
		v.count("context_tokens", s.ContextTokens)
		v.count("retries", s.Retries)
	}
	if cell.ExactOutput && s.RequestedOutput > 0 && s.OutputTokens >= 0 {
		v.add("shortfall", float64(max(0, s.RequestedOutput-s.OutputTokens)))
	}
	v.firsts(s)
	t := tokensOf(s)
	if len(t.steps) == 0 {
		return v, nil
	}
	first, last := t.steps[0], t.steps[len(t.steps)-1]
	v.add("ttft", ms(s.waited()+first.at))
	v.add("e2e", ms(s.waited()+last.at))
	v.prefill(s, cell, first.at)
	if t.textEvents < 2 {
		return v, nil
	}
	if span := last.at - first.at; span > 0 && t.after > 0 {
		v.add("tg", float64(t.after)/span.Seconds())
		v.add("tpot", ms(span)/float64(t.after))
	}
	if t.counted {
		v.gaps(t.steps)
	}
	return v, nil
}

// recorded reports whether the sample says when it was sent.
func (s Sample) recorded() bool { return s.Scheduled != 0 || s.Due != 0 || s.Start != 0 }

// waited is the time before the send that counts as latency.
func (s Sample) waited() time.Duration {
	if s.OpenLoop {
		return s.Start - s.Scheduled
	}
	return 0
}

// firsts adds the times to the first event of a kind.
func (v Values) firsts(s Sample) {
	for _, e := range s.Events {
		if _, seen := v["ttfr"]; !seen && e.Kind != KindDone {
			v.add("ttfr", ms(s.waited()+e.At))
		}
		name := ""
		switch e.Kind {
		case KindReasoning:
			name = "ttft_reasoning"
		case KindText, KindTool:
			name = "ttft_answer"
		default:
			continue
		}
		if _, seen := v[name]; !seen {
			v.add(name, ms(s.waited()+e.At))
		}
	}
}

// prefill adds the speed of the prefill, which ended when the first text came,
// and both numbers with the cell's latency subtracted.
func (v Values) prefill(s Sample, cell CellRun, took time.Duration) {
	tokens, known := computed(s, cell)
	known = known && s.Retries == 0
	if known && took > 0 {
		v.add("pp", float64(tokens)/took.Seconds())
	}
	if !cell.corrects() || cell.Latency >= took {
		return
	}
	v.add("ttft_corrected", ms(s.waited()+took-cell.Latency))
	if known {
		v.add("pp_corrected", float64(tokens)/(took-cell.Latency).Seconds())
	}
}

// corrects reports whether a latency is to be subtracted.
func (c CellRun) corrects() bool {
	return c.Correction != "" && c.Correction != "none" && c.Latency > 0
}

// computed is how many tokens of the prompt the server worked out. It is known
// only where the prompt was counted and either nothing of it can have been
// cached or the server says how much was; and where there were any.
func computed(s Sample, cell CellRun) (tokens int, known bool) {
	if s.CachedTokens < 0 && s.ContextTokens > 0 && !cell.UniqueContext {
		return 0, false
	}
	tokens = s.PromptTokens - max(s.CachedTokens, 0)
	return tokens, plausible(s.PromptTokens) && tokens > 0
}

// gaps adds the time between tokens. Tokens that arrive together share the wait
// for them; a text event in which the count did not rise only passes its wait
// on to the next.
func (v Values) gaps(steps []step) {
	var all []float64
	from := steps[0].at
	for _, s := range steps[1:] {
		if s.tokens <= 0 {
			continue
		}
		gap := ms(s.at-from) / float64(s.tokens)
		for range s.tokens {
			all = append(all, gap)
		}
		from = s.at
	}
	if len(all) > 0 {
		v["itl"] = all // finite, as all of them are times over counts
	}
}

func (v Values) count(name string, n int) {
	if n >= 0 {
		v.add(name, float64(n))
	}
}

// add keeps what is not finite out.
func (v Values) add(name string, x float64) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return
	}
	v[name] = append(v[name], x)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
