package load

import "github.com/mxflow/mxflow/engine/measure"

// Contamination is prompt tokens that were not computed but found in a cache.
type Contamination struct {
	// Requests had cached tokens beyond those expected, Of so many measured.
	Requests, Of int
	// Unknown is the number of requests of which the engine did not say. Only
	// with Unknown at 0 do no Requests prove that nothing was cached.
	Unknown int
	// Tokens were cached in all, beyond those expected.
	Tokens int
	// Worst is the largest share of what a prompt should have had computed that
	// was cached, from 0 to 1. A chat template with a fixed beginning shows as a
	// small share in every request.
	Worst float64
}

// Contaminated finds measured requests of which more was cached than was put into
// the cache on purpose: a context that was sent alone before, and the earlier
// turns of a conversation. What all prompts begin with may be cached as well:
// template tokens of a chat template, and a system prompt of so many tokens.
func Contaminated(samples []measure.Sample, template, system int) Contamination {
	var found Contamination
	put := onPurpose(samples)
	measured(samples, func(s measure.Sample) {
		found.Of++
		if s.CachedTokens < 0 {
			found.Unknown++
			return
		}
		expected := template + min(system, s.ContextTokens)
		if put(s) {
			expected = template + s.ContextTokens
		}
		beyond := s.CachedTokens - expected
		if beyond <= 0 {
			return
		}
		found.Requests++
		found.Tokens += beyond
		share := 1.0
		if fresh := s.PromptTokens - expected; fresh > beyond {
			share = float64(beyond) / float64(fresh)
		}
		found.Worst = max(found.Worst, share)
	})
	return found
}

// Recomputed finds the opposite: requests whose context was put into the cache
// before and was not found there, wholly or in part. Tokens counts those that
// were missing, Worst is the largest share of a context. The last block of a
// context is hardly ever cached, since caches hold whole blocks.
func Recomputed(samples []measure.Sample) Contamination {
	var found Contamination
	put := onPurpose(samples)
	measured(samples, func(s measure.Sample) {
		if s.ContextTokens <= 0 || !put(s) {
			return
		}
		found.Of++
		if s.CachedTokens < 0 {
			found.Unknown++
			return
		}
		if missing := s.ContextTokens - s.CachedTokens; missing > 0 {
			found.Requests++
			found.Tokens += missing
			found.Worst = max(found.Worst, float64(missing)/float64(s.ContextTokens))
		}
	})
	return found
}

// onPurpose tells whether the engine has computed a request's context before.
func onPurpose(samples []measure.Sample) func(measure.Sample) bool {
	type request struct {
		cell   string
		index  int
		warmup bool
	}
	sent := map[request]bool{}
	for _, s := range samples {
		if s.Context && s.Err == "" {
			sent[request{s.Workload, s.Index, s.Warmup}] = true
		}
	}
	return func(s measure.Sample) bool { return s.Turn > 0 || sent[request{s.Workload, s.Index, s.Warmup}] }
}
