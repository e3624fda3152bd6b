package logprob

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
	token   *Token
	entries []entry
	// sum of their probabilities, rest what is left for all others, and most the maximum
	// for any one other.
	sum, rest, most float64
	// least of the probabilities except that of the position's own token.
	least float64
	// named is set if each has an ID.
	named bool
}

type entry struct {
	logProb, p float64
	id         int
	// at is its index in Top, negative for the position's token if its list lacks it.
	at      int32
	matched bool
}

// text of an entry. IDs distinguish most tokens, so few need it.
func (l *list) text(e *entry) string {
	if e.at < 0 {
		return l.token.Text
	}
	return l.token.Top[e.at].Text
}

// same reports whether an entry and one of another list are the same token.
func (l *list) same(e *entry, other *list, o *entry) bool {
	if e.id >= 0 && o.id >= 0 {
		return e.id == o.id
	}
	return l.text(e) == other.text(o)
}

// read reads the list of a position and reports whether it is a distribution as far as it
// goes. Flaws are counted.
func (l *list) read(t *Token, flaws *Flaws) (sound bool) {
	l.token, l.entries, l.sum, l.least, l.named = t, l.entries[:0], 0, math.Inf(1), true
	sound, held := true, false
	for i := range t.Top {
		a := &t.Top[i]
		own := same(a.ID, a.Text, t.ID, t.Text)
		if !l.add(a.ID, i, a.LogProb, own, flaws) {
			sound = false
		}
		// An engine that names tokens by their text may have listed another with the same
		// text.
		held = held || own && (!t.LogProb.given || a.ID >= 0 && t.ID >= 0 || near(a.LogProb, t.LogProb))
		if own && a.ID >= 0 && t.ID >= 0 && t.LogProb.given && !near(a.LogProb, t.LogProb) {
			flaws.Repeated++
			sound = false
		}
	}
	switch {
	case held:
	case t.LogProb.given:
		sound = l.add(t.ID, -1, t.LogProb, true, flaws) && sound
	case len(t.Top) == 0:
		return false
	}
	if l.named && l.repeats() {
		flaws.Repeated++
		sound = false
	}
	if sound && l.sum > 1+excess {
		flaws.Sums++
		sound = false
	}
	l.rest = max(0, 1-l.sum)
	l.most = l.rest
	if l.named {
		l.most = min(l.most, l.least)
	}
	return sound
}

// near compares a token's value with its value in the list, which some engines round
// differently.
func near(a, b Value) bool {
	if a.number == b.number || math.IsNaN(a.number) && math.IsNaN(b.number) {
		return true
	}
	return math.Abs(a.number-b.number) <= excess*(1+math.Abs(a.number)) && !math.IsInf(a.number, 0) && !math.IsInf(b.number, 0)
}

func (l *list) add(id, at int, logProb Value, own bool, flaws *Flaws) (sound bool) {
	v := logProb.number
	if !(logProb.given && v <= excess && (v >= -math.MaxFloat64 || !own)) {
		flaws.count(logProb)
		return false
	}
	p := math.Exp(v)
	l.sum += p
	l.named = l.named && id >= 0
	if !own {
		l.least = min(l.least, p)
	}
	l.entries = append(l.entries, entry{logProb: v, p: p, id: id, at: int32(at)})
	return true
}

// count counts a value that is not the logarithm of a probability.
func (f *Flaws) count(logProb Value) {
	switch v, given := logProb.Given(); {
	case !given:
	case math.IsNaN(v):
		f.NaN++
	case math.IsInf(v, 0):
		f.Inf++
	default:
		f.Above++
	}
}

// repeats reports whether an ID occurs twice. Most IDs differ in their last bits, without
// checking the others.
func (l *list) repeats() bool {
	var seen [4]uint64
	for i := range l.entries {
		id := l.entries[i].id
		word, bit := &seen[id>>6&3], uint64(1)<<(id&63)
		if *word&bit != 0 {
			for j := range i {
				if l.entries[j].id == id {
					return true
				}
			}
		}
		*word |= bit
	}
	return false
}

// merge adds up entries with the same text, if IDs cannot distinguish them.
func (l *list) merge() {
	kept := l.entries[:0]
next:
	for _, e := range l.entries {
		e.id = -1
		for j := range kept {
			if l.text(&kept[j]) == l.text(&e) {
				kept[j].p += e.p
				kept[j].logProb = math.Log(kept[j].p)
				continue next
			}
		}
		kept = append(kept, e)
	}
	l.entries, l.most = kept, l.rest
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
		x := &a.entries[i]
		if x.logProb != bestA {
			continue
		}
		for j := range b.entries {
			if y := &b.entries[j]; y.logProb == bestB && a.same(x, b, y) {
				return true
			}
		}
	}
	return false
}

// kl bounds the Kullback-Leibler divergence KL(P‖Q) = Σ P(x) ln(P(x)/Q(x)) of two
// distributions of which each gives a list of some tokens, in nats.
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
// (of the engine's k likeliest), so that d ≤ |D|·most of Q and e ≤ |E|·most of P, and
// lists that have no token in common are far apart. The function is convex in (d, e),
// so that its least value is that of one of four points: each of d and e free or at
// its limit.
//
// From above, a token that Q does not list may have any small probability, and the
// divergence any size, unless P has no probability there or a floor of Q is known:
//
//	high = Σ_C p ln(p/q) + Σ_D p ln(p/floor) + (rest of P)·ln(most of P/floor)
//
// since there p is at most what P's list leaves for one token. Probability up to slack
// that is missing from P's list counts as rounding: with a whole vocabulary listed
// both bounds are the divergence.
//
// Tokens without ids are known by their texts, and those of one text are one. There
// most is the whole rest, since several may share a text; and where a list holds one
// of them and leaves out another, low is too high by what that one would bring. Engines
// that can give ids are asked for them.
func kl(p, q *list, floor Value) (low, high float64) {
	if !p.named || !q.named {
		p.merge()
		q.merge()
	}
	for i := range q.entries {
		q.entries[i].matched = false
	}
	var common, commonP, commonQ, pD, qE, ceiling float64
	nD, nE := 0, len(q.entries)
	least := math.Inf(1)
	for i := range p.entries {
		x := &p.entries[i]
		y := q.find(p, x, i)
		if y == nil {
			nD++
			pD += x.p
			if x.p > 0 {
				ceiling += x.p * x.logProb
			}
			continue
		}
		y.matched = true
		nE--
		commonP, commonQ = commonP+x.p, commonQ+y.p
		if x.p > 0 {
			common += x.p * (x.logProb - y.logProb)
		}
	}
	for i := range q.entries {
		if e := &q.entries[i]; !e.matched {
			qE += e.p
			least = min(least, e.logProb)
		}
	}
	rest := remainder{
		pD: pD, qE: qE, restP: p.rest, restQ: max(q.rest, slack),
		mostD: max(min(q.rest, float64(nD)*q.most), slack), mostE: min(p.rest, float64(nE)*p.most),
	}
	low = max(0, common+rest.least())

	bottom, known := floor.Finite()
	bottom = min(bottom, least)
	switch {
	case pD == 0 && p.rest <= slack:
		high = common
	case !known:
		high = math.Inf(1)
	default:
		high = common + ceiling - pD*bottom
		if p.rest > slack {
			high += p.rest * max(0, math.Log(p.most)-bottom)
		}
	}
	return low, max(low, high)
}

// find looks for an entry in another list, starting at its index there.
func (l *list) find(other *list, x *entry, at int) *entry {
	if at < len(l.entries) && other.same(x, l, &l.entries[at]) {
		return &l.entries[at]
	}
	for i := range l.entries {
		if other.same(x, l, &l.entries[i]) {
			return &l.entries[i]
		}
	}
	return nil
}

// remainder is what is known outside the tokens that two lists share; see kl.
type remainder struct {
	pD, qE, restP, restQ, mostD, mostE float64
}

// least is the smallest divergence that it allows.
func (r remainder) least() float64 {
	at := func(d, e float64) float64 {
		return term(r.pD, d) + term(e, r.qE) + term(r.restP-e, r.restQ-d)
	}
	share := func(part, of, whole float64) float64 {
		if of <= 0 {
			return 0
		}
		return whole * part / of
	}
	freeD, freeE := share(r.pD, r.pD+r.restP, r.qE+r.restQ), share(r.qE, r.qE+r.restQ, r.pD+r.restP)
	if freeD <= r.mostD && freeE <= r.mostE {
		return at(freeD, freeE)
	}
	best := at(r.mostD, r.mostE)
	if e := share(r.qE, r.qE+r.restQ-r.mostD, r.restP); e <= r.mostE {
		best = min(best, at(r.mostD, e))
	}
	if d := share(r.pD, r.pD+r.restP-r.mostE, r.restQ); d <= r.mostD {
		best = min(best, at(d, r.mostE))
	}
	return best
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
