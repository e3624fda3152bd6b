package measure

import (
	"math"
	"time"
)

// Values are the per-request metrics of one sample by name. All have one value
// but itl, which has one a token. A metric that the sample has no evidence for
// is absent; no value is NaN or infinite.
type Values map[string][]float64

// Derive computes every per-request metric that the sample has evidence for, as
// the catalogue defines them. It returns an error, and no values, for a sample
// that failed (Err), has no events, or whose event times are negative or run
// backwards, or whose token counts fall.
func Derive(s Sample) (Values, error) {
	if err := check(s); err != nil {
		return nil, err
	}
	v := Values{}
	v.count("prompt_tokens", s.PromptTokens)
	v.count("output_tokens", s.OutputTokens)
	v.count("cached_tokens", s.CachedTokens)
	for _, e := range s.Events {
		if e.Kind != KindDone {
			v.add("ttfr", ms(e.At))
			break
		}
	}
	t := tokensOf(s)
	if len(t.steps) == 0 {
		return v, nil
	}
	first, last := t.steps[0], t.steps[len(t.steps)-1]
	v.add("ttft", ms(first.at))
	v.add("e2e", ms(last.at))
	if prompt := s.PromptTokens - max(s.CachedTokens, 0); s.PromptTokens >= 0 && prompt > 0 && first.at > 0 {
		v.add("pp", float64(prompt)/first.at.Seconds())
	}
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

// gaps adds the time between tokens. Tokens that arrive together share the wait
// for them; a text event in which the count did not rise only passes its wait
// on to the next.
func (v Values) gaps(steps []step) {
	from := steps[0].at
	for _, s := range steps[1:] {
		if s.tokens <= 0 {
			continue
		}
		gap := ms(s.at-from) / float64(s.tokens)
		for range s.tokens {
			v.add("itl", gap)
		}
		from = s.at
	}
}

func (v Values) count(name string, n int) {
	if n >= 0 {
		v.add(name, float64(n))
	}
}

// add is the one door into Values, so that nothing but finite numbers passes.
func (v Values) add(name string, x float64) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return
	}
	v[name] = append(v[name], x)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
