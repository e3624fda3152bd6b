package load

import "github.com/mxflow/mxflow/engine/measure"

// measured calls use for every sample that was answered and is no warm-up.
func measured(samples []measure.Sample, use func(measure.Sample)) {
	for _, s := range samples {
		if !s.Warmup && s.Err == "" {
			use(s)
		}
	}
}

// Shortage is output that was asked for and did not come.
type Shortage struct {
	// Requests fell short, Of so many that were measured.
	Requests, Of int
	// Tokens are missing in all.
	Tokens int
}

// Shortfall finds measured answers with fewer tokens than asked for. With
// ignore_eos there should be none: an engine that stops early has done less
// work than the one it is compared with.
func Shortfall(samples []measure.Sample) Shortage {
	var found Shortage
	measured(samples, func(s measure.Sample) {
		found.Of++
		if missing := s.RequestedOutput - max(s.OutputTokens, 0); missing > 0 {
			found.Requests++
			found.Tokens += missing
		}
	})
	return found
}

// Contamination is prompt tokens that were not computed but found in a cache.
type Contamination struct {
	// Requests had cached tokens, Of so many that were measured.
	Requests, Of int
	// Unknown is the number of requests of which the engine did not say. Only
	// with Unknown at 0 do no Requests prove that nothing was cached.
	Unknown int
	// Tokens were cached in all.
	Tokens int
	// Worst is the largest cached share of a prompt, from 0 to 1. A chat template
	// with a fixed beginning shows as a small share in every request.
	Worst float64
}

// Contaminated finds measured requests whose prompts were partly cached.
func Contaminated(samples []measure.Sample) Contamination {
	var found Contamination
	measured(samples, func(s measure.Sample) {
		found.Of++
		switch {
		case s.CachedTokens < 0:
			found.Unknown++
		case s.CachedTokens > 0:
			found.Requests++
			found.Tokens += s.CachedTokens
			share := 1.0
			if s.PromptTokens > s.CachedTokens {
				share = float64(s.CachedTokens) / float64(s.PromptTokens)
			}
			found.Worst = max(found.Worst, share)
		}
	})
	return found
}

// Deviation is prompts that were not of the length asked for.
type Deviation struct {
	// Requests deviated, Of so many that were measured.
	Requests, Of int
	// Unknown is the number of requests of which the engine did not say.
	Unknown int
	// Least and Most are the shortest and the longest prompt, in tokens as the
	// engine counted them; 0 when it counted none.
	Least, Most int
}

// Deviating compares the engine's own counts of prompt tokens with the number
// asked for. It is how prompts that were not built with the engine's tokenizer
// are checked after the fact.
func Deviating(samples []measure.Sample, asked int) Deviation {
	var found Deviation
	measured(samples, func(s measure.Sample) {
		found.Of++
		n := s.PromptTokens
		if n < 0 {
			found.Unknown++
			return
		}
		if n != asked {
			found.Requests++
		}
		if found.Least == 0 || n < found.Least {
			found.Least = n
		}
		found.Most = max(found.Most, n)
	})
	return found
}
