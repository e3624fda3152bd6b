package answers

import "math"

const (
	// excess is how far the sum of probabilities may exceed 1: engines round.
	excess = 1e-3
	// slack is probability that rounding alone can remove from a list or add: less than
	// that never counts as remainder.
	slack = 1e-6
)

// list are the tokens of one position with known probability.
type list struct {
	entries []entry
	// sum of their probabilities, rest what is left for all others, and most the maximum
	// for any one other: the least of those listed, except that of the position's own token.
	sum, rest, most float64
	// named is set if each has an ID, which tells it from all others.
	named bool
}

// entry is a token known by its ID, or by its text where the ID is negative.
type entry struct {
	text       string
	id         int
	logProb, p float64
	matched    bool
}

func (e *entry) same(o *entry) bool { return same(e.id, e.text, o.id, o.text) }

// read reads the list of a position and reports whether it is a distribution as far as it
// goes. Flaws are counted.
func (l *list) read(t *Token, flaws *Flaws) (sound bool) {
	*l = list{entries: l.entries[:0], most: math.Inf(1), named: true}
	sound, listed := true, false
	for i := range t.Top {
		a := &t.Top[i]
		own := same(a.ID, a.Text, t.ID, t.Text)
		sound = l.add(a.Text, a.ID, a.LogProb, own, flaws) && sound
		// An engine that names tokens by their text may have listed another with the same
		// text.
		if certain := a.ID >= 0 && t.ID >= 0; own && t.LogProb.given && !near(a.LogProb, t.LogProb) {
			if certain {
				flaws.Repeated++
				sound = false
			}
			own = certain
		}
		listed = listed || own
	}
	switch {
	case listed:
	case t.LogProb.given:
		sound = l.add(t.Text, t.ID, t.LogProb, true, flaws) && sound
	case len(t.Top) == 0:
		return false
	}
	for i := 0; l.named && i < len(l.entries); i++ {
		if l.find(&l.entries[i], len(l.entries)) != &l.entries[i] {
			flaws.Repeated++
			sound = false
			break
		}
	}
	if sound && l.sum > 1+excess {
		flaws.Sums++
		sound = false
	}
	l.rest = max(0, 1-l.sum)
	l.most = min(l.most, l.rest)
	return sound
}

// near compares a token's value with its value in the list, which some engines round
// differently.
func near(a, b Value) bool {
	if a.number == b.number || math.IsNaN(a.number) && math.IsNaN(b.number) {
		return true
	}
	return math.Abs(a.number-b.number) <= excess*(1+math.Abs(a.number)) && !math.IsInf(a.number, 0) &&
		!math.IsInf(b.number, 0)
}

func (l *list) add(text string, id int, logProb Value, own bool, flaws *Flaws) (sound bool) {
	v, given := logProb.Number()
	switch {
	case !given:
		return false
	case math.IsNaN(v):
		flaws.NaN++
		return false
	case math.IsInf(v, 1), own && math.IsInf(v, -1):
		flaws.Inf++
		return false
	case v > excess:
		flaws.Above++
		return false
	}
	p := math.Exp(v)
	l.sum += p
	l.named = l.named && id >= 0
	if !own {
		l.most = min(l.most, p)
	}
	l.entries = append(l.entries, entry{text: text, id: id, logProb: v, p: p})
	return true
}

// merge names tokens by their texts, if IDs cannot tell them from another list's, and adds
// up those of one text. Then any other may have all of the rest, since several may share a
// text.
func (l *list) merge() {
	merged := l.entries[:0]
next:
	for _, e := range l.entries {
		e.id = -1
		for j := range merged {
			if merged[j].text == e.text {
				merged[j].p += e.p
				merged[j].logProb = math.Log(merged[j].p)
				continue next
			}
		}
		merged = append(merged, e)
	}
	l.entries, l.most = merged, l.rest
}

// likeliest reports whether two lists have the same likeliest token. Of several that are
// exactly equally likely, any counts.
func likeliest(a, b *list) bool {
	top := func(l *list) float64 {
		best := math.Inf(-1)
		for i := range l.entries {
			best = max(best, l.entries[i].logProb)
		}
		return best
	}
	bestA, bestB := top(a), top(b)
	for i := range a.entries {
		for j := range b.entries {
			if a.entries[i].logProb != bestA {
				break
			}
			if b.entries[j].logProb == bestB && a.entries[i].same(&b.entries[j]) {
				return true
			}
		}
	}
	return false
}

// kl is a lower bound of the Kullback-Leibler divergence KL(P‖Q) = Σ P(x) ln(P(x)/Q(x)) of
// two distributions of which each gives a list of some tokens, in nats. With a whole
// vocabulary listed it is the divergence.
//
// With C the tokens in both lists, D those in P's alone, E those in Q's alone and R
// all others, P is known on C and D, Q on C and E. Merging tokens never raises the
// divergence (data-processing inequality; Cover and Thomas, Elements of Information
// Theory, 2nd ed., 2.7 to 2.8: the log sum inequality), so
//
//	low = Σ_C p ln(p/q) + least of { P(D) ln(P(D)/d) + e ln(e/Q(E)) + P(R) ln(P(R)/Q(R)) }
//
// over what is not known, d = Q(D) and e = P(E), where P(R) = rest of P − e and Q(R) =
// rest of Q − d. One bucket for D, E and R together would be the least of it without
// limits; but a token that is not listed has at most the least probability that is
// (of the engine's k likeliest), so d ≤ |D|·most of Q and e ≤ |E|·most of P, and
// lists that have no token in common are far apart. The function is convex in (d, e),
// so that its least value is that of one of four points: each of d and e free or at
// its limit.
//
// Tokens without IDs are known by their texts, and those of one text are one: where a list
// holds one of them and leaves out another, the bound is too high by what that one would
// bring. Engines that can give IDs are asked for them.
func kl(p, q *list) float64 {
	var common, pD, qE float64
	nD, nE := 0, len(q.entries)
	for i := range p.entries {
		x := &p.entries[i]
		y := q.find(x, i)
		if y == nil {
			nD++
			pD += x.p
			continue
		}
		y.matched = true
		nE--
		if x.p > 0 {
			common += x.p * (x.logProb - y.logProb)
		}
	}
	for i := range q.entries {
		if !q.entries[i].matched {
			qE += q.entries[i].p
		}
	}
	restP, restQ := p.rest, max(q.rest, slack)
	mostD, mostE := max(min(q.rest, float64(nD)*q.most), slack), min(p.rest, float64(nE)*p.most)
	at := func(d, e float64) float64 { return term(pD, d) + term(e, qE) + term(restP-e, restQ-d) }
	share := func(part, of, whole float64) float64 {
		if of <= 0 {
			return 0
		}
		return whole * part / of
	}
	least := 0.0
	if d, e := share(pD, pD+restP, qE+restQ), share(qE, qE+restQ, pD+restP); d <= mostD && e <= mostE {
		least = at(d, e)
	} else {
		least = at(mostD, mostE)
		if e := share(qE, qE+restQ-mostD, restP); e <= mostE {
			least = min(least, at(mostD, e))
		}
		if d := share(pD, pD+restP-mostE, restQ); d <= mostD {
			least = min(least, at(d, mostE))
		}
	}
	return max(0, common+least)
}

// find looks for an entry of another list, starting at its index there.
func (l *list) find(x *entry, at int) *entry {
	if at < len(l.entries) && l.entries[at].same(x) {
		return &l.entries[at]
	}
	for i := range l.entries {
		if l.entries[i].same(x) {
			return &l.entries[i]
		}
	}
	return nil
}

// term is p ln(p/q).
func term(p, q float64) float64 {
	switch {
	case p <= 0:
		return 0
	case q <= 0:
		return math.Inf(1)
	}
	return p * math.Log(p/q)
}
