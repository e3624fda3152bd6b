package embedded

// samplingFields are the fields of a request that say how tokens are drawn.
// Null counts as not given.
type samplingFields struct {
	Temperature       *float64 `json:"temperature"`
	TopP              *float64 `json:"top_p"`
	TopK              *int     `json:"top_k"`
	MinP              *float64 `json:"min_p"`
	RepetitionPenalty *float64 `json:"repetition_penalty"`
	Seed              *int64   `json:"seed"`
}

// read checks the fields and writes them into g. Ranges and defaults are vLLM's.
func (f *samplingFields) read(g *generation) *apiError {
	g.temperature, g.topP, g.topK, g.minP, g.repetition = 1, 1, 0, 0, 1
	given(&g.temperature, f.Temperature)
	given(&g.topP, f.TopP)
	given(&g.topK, f.TopK)
	given(&g.minP, f.MinP)
	given(&g.repetition, f.RepetitionPenalty)
	if f.Seed != nil {
		seed := uint64(*f.Seed)
		g.seed = &seed
	}
	switch {
	case !(g.temperature >= 0 && g.temperature <= 2):
		return badRequest("temperature", "temperature must be between 0 and 2, got %v", g.temperature)
	case !(g.topP > 0 && g.topP <= 1):
		return badRequest("top_p", "top_p must be above 0 and at most 1, got %v", g.topP)
	case g.topK < -1:
		return badRequest("top_k", "top_k must be at least 1, or 0 or -1 for all tokens, got %d", g.topK)
	case !(g.minP >= 0 && g.minP <= 1):
		return badRequest("min_p", "min_p must be between 0 and 1, got %v", g.minP)
	case !(g.repetition > 0 && g.repetition <= 2):
		return badRequest("repetition_penalty", "repetition_penalty must be above 0 and at most 2, got %v", g.repetition)
	}
	return nil
}

func given[T any](at, value *T) {
	if value != nil {
		*at = *value
	}
}

// repetition makes tokens that stand in prompt or answer less likely, as CTRL
// does (Keskar et al., 2019): a logit above zero is divided by the penalty,
// one below is multiplied with it.
type repetition struct {
	penalty float32
	seen    []bool // by token; nil without a penalty
}

// newRepetition starts with the prompt. 0 and 1 are no penalty.
func newRepetition(penalty float64, prompt []token, vocabulary int) repetition {
	r := repetition{penalty: float32(penalty)}
	if penalty != 0 && penalty != 1 {
		r.seen = make([]bool, vocabulary)
		for _, t := range prompt {
			r.seen[t] = true
		}
	}
	return r
}

// penalise changes logits in place.
func (r repetition) penalise(logits []float32) {
	for t, seen := range r.seen {
		switch {
		case !seen:
		case logits[t] > 0:
			logits[t] /= r.penalty
		default:
			logits[t] *= r.penalty
		}
	}
}

// add counts a token of the answer.
func (r repetition) add(t token) {
	if r.seen != nil {
		r.seen[t] = true
	}
}
