package load

import "github.com/mxflow/mxflow/engine/measure"

// measured calls use for every sample that was answered and is neither a warm-up
// nor a context that was only cached.
func measured(samples []measure.Sample, use func(measure.Sample)) {
	for _, s := range samples {
		if s.Measured() && s.Err == "" {
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

// Deviation is prompts that were not of the length asked for.
type Deviation struct {
	// Requests deviated, Of so many that were measured.
	Requests, Of int
	// Unknown is the number of requests of which the engine did not say.
	Unknown int
	// Least and Most are the shortest and the longest prompt, in tokens as the
	// engine counted them, without context; 0 when it counted none.
	Least, Most int
}

// Deviating compares the engine's own counts of prompt tokens with the number
// asked for; where that is 0, as where lengths differ, with each request's own
// (RequestedPrompt). It is how prompts that were not built with the engine's
// tokenizer are checked after the fact. Of later turns of a conversation it can
// say nothing: their context is known from the same count.
func Deviating(samples []measure.Sample, asked int) Deviation {
	var found Deviation
	measured(samples, func(s measure.Sample) {
		want := asked
		if want == 0 {
			want = s.RequestedPrompt
		}
		if s.Turn > 0 || want == 0 {
			return
		}
		found.Of++
		if s.PromptTokens < 0 {
			found.Unknown++
			return
		}
		n := s.PromptTokens - s.ContextTokens
		if n != want {
			found.Requests++
		}
		if found.Least == 0 || n < found.Least {
			found.Least = n
		}
		found.Most = max(found.Most, n)
	})
	return found
}
