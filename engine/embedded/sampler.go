package embedded

import (
	"math"
	"math/rand/v2"
	"slices"
)

// sampler chooses tokens from logits.
type sampler struct {
	temperature float64 // 0 is greedy
	topP        float64 // mass of the nucleus, in (0, 1]
	topK        int     // at most so many of the likeliest; below 1 for all
	minP        float64 // at least this share of the likeliest one's probability
	random      *rand.Rand
}

func newSampler(temperature, topP float64, seed uint64) sampler {
	return sampler{temperature: temperature, topP: topP, random: rand.New(rand.NewPCG(seed, 0x73616d706c65))}
}

// choose returns a token and whether the logits were sound. Unsound ones (any NaN) give
// token 0, as an argmax over NaN does in the real engines. forbidden is never chosen;
// noToken forbids none.
func (s sampler) choose(logits []float32, forbidden token) (token, bool) {
	best := noToken
	for i, x := range logits {
		if x != x {
			return 0, false
		}
		if token(i) != forbidden && (best < 0 || x > logits[best]) {
			best = token(i)
		}
	}
	if s.temperature == 0 {
		return best, true
	}
	return s.draw(logits, forbidden, float64(logits[best])), true
}

// draw samples from the softmax at the sampler's temperature, cut by minP, then to the
// topK likeliest tokens, then to the fewest of those with topP of their mass.
func (s sampler) draw(logits []float32, forbidden token, largest float64) token {
	type candidate struct {
		id token
		p  float64
	}
	candidates := make([]candidate, 0, len(logits))
	var total float64
	for i, x := range logits {
		if token(i) == forbidden {
			continue
		}
		p := math.Exp((float64(x) - largest) / s.temperature)
		if p < s.minP { // the likeliest has 1 here
			continue
		}
		candidates = append(candidates, candidate{token(i), p})
		total += p
	}
	cut := s.topK > 0 && s.topK < len(candidates)
	if cut || s.topP < 1 {
		slices.SortStableFunc(candidates, func(a, b candidate) int {
			if a.p > b.p {
				return -1
			} else if a.p < b.p {
				return 1
			}
			return 0
		})
		if cut {
			candidates, total = candidates[:s.topK], 0
			for _, c := range candidates {
				total += c.p
			}
		}
		var mass float64
		for i, c := range candidates {
			mass += c.p
			if mass >= s.topP*total {
				candidates, total = candidates[:i+1], mass
				break
			}
		}
	}
	u := s.random.Float64() * total
	for _, c := range candidates {
		if u -= c.p; u < 0 {
			return c.id
		}
	}
	return candidates[len(candidates)-1].id
}

// samplingFields are a request's sampling parameters. Null counts as absent.
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

// repetition makes tokens of prompt or answer less likely, as CTRL does (Keskar et al.,
// 2019): a logit above zero is divided by the penalty, one below is multiplied by it.
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
