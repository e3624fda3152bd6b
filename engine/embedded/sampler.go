package embedded

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// sampling is the part of a request that says how tokens are drawn.
type sampling struct {
	Temperature       float64 `json:"temperature"`        // 0 is greedy
	TopP              float64 `json:"top_p"`              // mass of the nucleus, in (0, 1]
	TopK              int     `json:"top_k"`              // at most so many of the likeliest; below 1 for all
	MinP              float64 `json:"min_p"`              // at least this share of the likeliest one's probability
	RepetitionPenalty float64 `json:"repetition_penalty"` // 0 or 1 for none
	MinTokens         int     `json:"min_tokens"`         // the end token is not allowed before this
	IgnoreEOS         bool    `json:"ignore_eos"`
	Seed              *int64  `json:"seed"` // nil: derived from the engine's seed and the request's number
}

type sampler struct {
	sampling
	random *rand.Rand
}

func newSampler(s sampling, seed uint64) sampler {
	return sampler{s, rand.New(rand.NewPCG(seed, 0x73616d706c65))}
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
	if s.Temperature == 0 {
		return best, true
	}
	return s.draw(logits, forbidden, float64(logits[best])), true
}

// draw samples from the softmax at the sampler's temperature, cut by MinP, then to the
// TopK likeliest tokens, then to the fewest of those with TopP of their mass.
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
		p := math.Exp((float64(x) - largest) / s.Temperature)
		if p < s.MinP { // the likeliest has 1 here
			continue
		}
		candidates = append(candidates, candidate{token(i), p})
		total += p
	}
	cut := s.TopK > 0 && s.TopK < len(candidates)
	if cut || s.TopP < 1 {
		slices.SortStableFunc(candidates, func(a, b candidate) int { return cmp.Compare(b.p, a.p) })
		if cut {
			candidates, total = candidates[:s.TopK], 0
			for _, c := range candidates {
				total += c.p
			}
		}
		var mass float64
		for i, c := range candidates {
			mass += c.p
			if mass >= s.TopP*total {
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

// penalise makes the tokens seen in prompt or answer less likely, in place, as CTRL does
// (Keskar et al., 2019): a logit above zero is divided by the penalty, one below is
// multiplied by it.
func penalise(logits []float32, seen []bool, penalty float32) {
	for t := range seen {
		switch {
		case !seen[t]:
		case logits[t] > 0:
			logits[t] /= penalty
		default:
			logits[t] *= penalty
		}
	}
}
