package answers

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// distribution is that of a vocabulary with random logits.
func distribution(r *rand.Rand, vocabulary int, sharp float64) []float64 {
	p := make([]float64, vocabulary)
	var sum float64
	for i := range p {
		p[i] = math.Exp(sharp * r.NormFloat64())
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// position lists the k likeliest tokens of a distribution and the token own, in random order.
func position(r *rand.Rand, p []float64, k, own int) Token {
	order := r.Perm(len(p))
	slices.SortStableFunc(order, func(a, b int) int {
		if p[a] > p[b] {
			return -1
		}
		return 1
	})
	t := Token{ID: own, LogProb: Of(math.Log(p[own]))}
	for _, id := range order[:k] {
		t.Top = append(t.Top, Alternative{ID: id, LogProb: Of(math.Log(p[id]))})
	}
	r.Shuffle(len(t.Top), func(i, j int) { t.Top[i], t.Top[j] = t.Top[j], t.Top[i] })
	return t
}

func exact(p, q []float64) (kl float64) {
	for i := range p {
		kl += p[i] * math.Log(p[i]/q[i])
	}
	return kl
}

func least(t *testing.T, p, q Token) float64 {
	t.Helper()
	var a, b list
	var flaws Flaws
	if !a.read(&p, &flaws) || !b.read(&q, &flaws) {
		t.Fatalf("a sound list is refused: %+v", flaws)
	}
	if !a.named || !b.named {
		a.merge()
		b.merge()
	}
	return kl(&a, &b)
}

// The divergence of whole distributions is at least what their lists give, whatever is in
// them, and exactly that if all tokens are listed.
func TestLowerBound(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		const vocabulary = 60
		p := distribution(r, vocabulary, 0.2+4*r.Float64())
		q := distribution(r, vocabulary, 0.2+4*r.Float64())
		if r.IntN(2) == 0 { // a variant of the same model
			for i := range q {
				q[i] = p[i] * math.Exp(0.1*r.NormFloat64())
			}
			var sum float64
			for _, v := range q {
				sum += v
			}
			for i := range q {
				q[i] /= sum
			}
		}
		want := exact(p, q)
		own, k := r.IntN(vocabulary), 1+r.IntN(vocabulary)
		a, b := position(r, p, k, own), position(r, q, 1+r.IntN(vocabulary), own)
		if low := least(t, a, b); !(low <= want+1e-9) {
			t.Fatalf("the divergence %v is below %v, lists of %d and %d", want, low, len(a.Top), len(b.Top))
		}
		if all := least(t, position(r, p, vocabulary, own), position(r, q, vocabulary, own)); math.Abs(all-want) > 1e-4*
			(1+want) {
			t.Fatalf("with all tokens listed the divergence %v is %v", want, all)
		}
		// Texts instead of ids say as much, if no two tokens have the same text.
		blind := func(t Token) Token {
			t.Top = slices.Clone(t.Top)
			for i := range t.Top {
				t.Top[i].Text, t.Top[i].ID = string(rune('a'+t.Top[i].ID)), -1
			}
			t.Text, t.ID = string(rune('a'+t.ID)), -1
			return t
		}
		if low := least(t, blind(a), blind(b)); low > want+1e-9 {
			t.Fatalf("by their texts the least divergence is %v, above the whole %v", low, want)
		}
	}
}

// A wrong model lists other tokens: a single bucket for everything that the lists do not
// share would show no divergence at all.
func TestNothingInCommon(t *testing.T) {
	list := func(first int) Token {
		token := Token{ID: first, LogProb: Of(math.Log(0.9))}
		for i, p := range []float64{0.9, 0.05, 0.02} {
			token.Top = append(token.Top, Alternative{ID: first + i, LogProb: Of(math.Log(p))})
		}
		return token
	}
	if low := least(t, list(0), list(10)); low < 2 {
		t.Errorf("lists of other tokens are %v apart", low)
	}
	if low := least(t, list(0), list(0)); low != 0 {
		t.Errorf("a list is %v from itself", low)
	}
}

// Two tokens with the same text, such as halves of a character, cannot be distinguished
// by it: they count as one.
func TestMerged(t *testing.T) {
	list := func(first, second float64) Token {
		return Token{ID: -1, Text: "\ufffd", LogProb: Of(math.Log(first)), Top: []Alternative{
			{ID: -1, Text: "\ufffd", LogProb: Of(math.Log(first))},
			{ID: -1, Text: "\ufffd", LogProb: Of(math.Log(second))},
		}}
	}
	if low := least(t, list(0.6, 0.3), list(0.5, 0.4)); low > 1e-9 {
		t.Errorf("a shift among tokens of one text is %v", low)
	}
}
