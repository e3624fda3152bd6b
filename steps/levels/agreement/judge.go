package agreement

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/internal/sorted"
)

const (
	// Margin is how much less often than with itself the parent may agree with a
	// candidate, as a share of positions.
	Margin = 0.15
	// shownAt and refutedAt are the one-sided bounds in standard errors: 5% and 1% over the
	// four looks.
	shownAt, refutedAt = 2.24, 2.81
	// sure is the same for what answers recite, with at least this standard deviation.
	sure, leastSpread = 3, 0.5
	// mostHidden is the share of a candidate's answers that may be hidden.
	mostHidden = 0.05
	// leastOwn is how often the parent must agree with itself to tell anything, and steadyOwn
	// without a temperature to show that another is right: one that takes another word at a
	// fifth of the positions hides as many of a candidate's.
	leastOwn, steadyOwn = 0.5, 0.8
)

// Claim is that a candidate's answers are its parent's model's.
type Claim struct {
	// Own are the launches of the parent, Other those of the candidate.
	Own, Other []string
	// Least is the declared limit of agreement; nil for Margin below the parent's own.
	Least *float64
	// self is set if the parent agrees with itself in the cell that is judged.
	self bool
}

// PartResult is the agreement in one part of the answers to a cell.
type PartResult struct {
	Cell string
	// Of is a Part, the faster or slower half of the answers, that to shorter or longer
	// prompts, or the quarter that agrees least; empty for all of a cell.
	Of string
	// Own and Other are how often the parent agrees with its own answers and with the
	// candidate's.
	Own, Other stats.Share
	// Unreached is at how many positions of the candidate's answers nothing is known, as an
	// answer differs before them.
	Unreached int
	// RecitesMore is set if more of the candidate's answers than of the parent's occurs
	// elsewhere.
	RecitesMore bool
	// Unsteady is set if the parent agrees with itself too seldom, without a temperature.
	Unsteady bool
	// Low and High are bounds of how much less often it agrees with the candidate's, or with a
	// limit of how much less than that.
	Low, High float64
	// Shown and Refuted are what is decided; neither if too little was asked.
	Shown, Refuted bool
}

// Result is what a parent's answers show of a claim.
type Result struct {
	Parts []PartResult
	// Missing are launches of which too little can be asked in some cell.
	Missing []string
	// SelfDisagrees are the cells in which the parent mostly does not agree with its own
	// answers, without a temperature: it shows nothing about another's.
	SelfDisagrees []PartResult
	// Decoys are how often the parent says what the candidate said where that does not follow.
	Decoys stats.Share
}

// LookedUp reports whether the parent seems to look up what the candidate said.
func (r Result) LookedUp() bool {
	low, _ := endless(r.Decoys).Bounds(refutedAt)
	return low > 0.5
}

// Holds reports whether the claim is shown in every part.
func (r Result) Holds() bool {
	return len(r.Parts) > 0 && !r.LookedUp() && len(r.Missing) == 0 && len(r.SelfDisagrees) == 0 &&
		!slices.ContainsFunc(r.Parts, func(f PartResult) bool { return !f.Shown })
}

// Refuted reports whether it is refuted in some part.
func (r Result) Refuted() bool {
	return slices.ContainsFunc(r.Parts, func(f PartResult) bool { return f.Refuted })
}

// Worst is the part that decides: a refuted one, or the one least shown.
func (r Result) Worst() PartResult {
	worst := r.Parts[0]
	for _, f := range r.Parts[1:] {
		if f.Refuted && !worst.Refuted || f.Refuted == worst.Refuted && worst.Shown && !f.Shown ||
			f.Refuted == worst.Refuted && f.Shown == worst.Shown && f.High > worst.High {
			worst = f
		}
	}
	return worst
}

func (r Result) Least() (least PartResult) {
	for _, f := range r.Parts {
		if f.Of == "" && (least.Other.Of == 0 || f.Other.Value() < least.Other.Value()) {
			least = f
		}
	}
	return least
}

// looked are the looks at one arm, with how many positions there were.
type looked struct {
	looks []Probe
	all   int
}

func (l looked) share(yes func(Probe) bool) (s stats.Share) {
	for _, look := range l.looks {
		if look.Unreached {
			continue
		}
		if s.Of++; yes(look) {
			s.Yes++
		}
	}
	s.All = max(s.Of, l.all)
	if s.Of < len(l.looks) {
		s.All++ // not all could be seen
	}
	return s
}

// reached is the share of looks at which the parent's answer was known. Answers that differ
// are unknown behind the difference, and those that are left are the ones that agree.
func (l looked) reached() stats.Share {
	known := l.share(func(Probe) bool { return true })
	return stats.Share{Yes: known.Of, Of: len(l.looks), All: max(l.all, len(l.looks))}
}

// recites is the mean over answers of the share that is recited, and its standard error.
func (l looked) recites() (mean, err float64) {
	all, recited := map[answer]float64{}, map[answer]float64{}
	for _, look := range l.looks {
		of := answerOf(look)
		if look.Untold {
			continue
		}
		if all[of]++; look.Recited {
			recited[of]++
		}
	}
	n, sum, squares := float64(len(all)), 0.0, 0.0
	for of := range sorted.By(all, answer.compare) {
		share := recited[of] / all[of]
		sum, squares = sum+share, squares+share*share
	}
	mean = sum / n
	return mean, math.Sqrt(max(squares/n-mean*mean, leastSpread*leastSpread) / n)
}

// answer is one answer of a launch to a cell.
type answer struct {
	launch        string
	request, turn int
}

func answerOf(look Probe) answer { return answer{look.Launch, look.Request, look.Turn} }

func (a answer) compare(b answer) int {
	return cmp.Or(cmp.Compare(a.launch, b.launch), a.request-b.request, a.turn-b.turn)
}

// leastAgreed are looks at the quarter of the answers with which the parent agrees least: every
// second look at an answer picks it, the others judge it, and the other way round. Another model
// that gives few of the answers is found so, where all answers together hide it within Margin.
func (l looked) leastAgreed() (out looked) {
	looks := map[answer][]Probe{}
	for _, look := range l.looks {
		looks[answerOf(look)] = append(looks[answerOf(look)], look)
	}
	for picks := range 2 {
		differs := map[answer]int{}
		for of, all := range looks {
			for i, look := range all {
				if i%2 == picks && !look.Unreached && !look.Agrees() {
					differs[of]++
				}
			}
		}
		by := slices.SortedFunc(maps.Keys(looks), func(a, b answer) int {
			return cmp.Or(differs[b]-differs[a], a.compare(b))
		})
		for _, of := range by[:(len(by)+3)/4] {
			for i, look := range looks[of] {
				if i%2 != picks {
					out.looks = append(out.looks, look)
				}
			}
		}
	}
	out.all = len(out.looks)
	return out
}

// half are the looks at answers whose value is above the median, or not.
func (l looked) half(value func(Probe) float64, above bool) looked {
	var all []float64
	for _, look := range l.looks {
		all = append(all, value(look))
	}
	slices.Sort(all)
	var out looked
	for _, look := range l.looks {
		if above == (value(look) > all[(len(all)-1)/2]) {
			out.looks = append(out.looks, look)
		}
	}
	out.all = (l.all*len(out.looks) + len(l.looks) - 1) / max(len(l.looks), 1)
	return out
}

// Judge is what was asked so far shows of a claim.
func (c Claim) Judge(a *Probes) (r Result) {
	took := func(l Probe) float64 { return l.Took }
	length := func(l Probe) float64 { return float64(l.Prompt) }
	own, other := a.byPlace(c.Own), a.byPlace(c.Other)
	var decoys looked
	for _, l := range a.Decoys {
		if slices.Contains(c.Other, l.Launch) {
			decoys.looks = append(decoys.looks, l)
		}
	}
	r.Decoys = decoys.share(Probe.Agrees)
	cells := map[string]bool{}
	for _, id := range slices.Concat(c.Own, c.Other) {
		for cell := range a.All[id] {
			cells[cell] = true
		}
	}
	for _, cell := range slices.Sorted(maps.Keys(cells)) {
		hidden, seen := 0, 0
		for _, id := range c.Other {
			hidden, seen = hidden+a.All[id][cell][Hidden], seen+a.All[id][cell][First]
		}
		for _, id := range c.Other {
			all := a.All[id][cell]
			few := all[First] == 0 || all[Hidden] > 0 && float64(hidden) > mostHidden*float64(hidden+seen)
			if few && !slices.Contains(r.Missing, id) {
				r.Missing = append(r.Missing, id)
			}
		}
		var ownRest, rest, ownAll looked
		for _, part := range parts {
			ownAll.add(own[place{cell, part}])
		}
		itself := ownAll.share(Probe.Agrees)
		c.self = itself.Of == 0 || itself.Value() >= leastOwn || slices.Contains(a.Sampled, cell)
		if !c.self {
			r.SelfDisagrees = append(r.SelfDisagrees, PartResult{Cell: cell, Own: itself})
		}
		for _, part := range parts {
			mine, theirs := own[place{cell, part}], other[place{cell, part}]
			if theirs.all == 0 {
				continue // answers of few tokens
			}
			if len(mine.looks) == 0 {
				mine = ownAll
			}
			r.Parts = append(r.Parts, c.part(a, cell, string(part), mine, theirs))
			if part != First {
				ownRest.add(own[place{cell, part}])
				rest.add(theirs)
			}
		}
		if rest.all == 0 { // answers of one token
			rest = other[place{cell, First}]
		}
		if len(ownRest.looks) == 0 {
			ownRest = ownAll
		}
		whole := c.part(a, cell, "", ownRest, rest)
		// An opening is known before anything is computed, whoever made it up.
		opens, usual := a.openingShare(c.Other, cell), a.openingShare(c.Own, cell)
		if more, _ := opens.Excess(usual, refutedAt); more > 0 && opens.Value()-usual.Value() > Margin {
			whole.RecitesMore, whole.Shown = true, false
		}
		r.Parts = append(r.Parts, whole)
		for _, half := range []struct {
			of    string
			by    func(Probe) float64
			above bool
		}{
			{"faster", took, false},
			{"slower", took, true},
			{"shorter prompts", length, false},
			{"longer prompts", length, true},
		} {
			theirs, mine := rest.half(half.by, half.above), ownRest.half(half.by, half.above)
			if len(theirs.looks) == 0 || len(theirs.looks) == len(rest.looks) {
				continue
			}
			if len(mine.looks) == 0 {
				mine = ownRest // one answer, or all alike
			}
			r.Parts = append(r.Parts, c.part(a, cell, half.of, mine, theirs))
		}
		// Few looks are at a quarter: too few to demand that it is shown.
		least := c.part(a, cell, "least agreed", ownRest.leastAgreed(), rest.leastAgreed())
		if low, _ := endless(least.Own).Excess(endless(least.Other), shownAt); c.Least == nil && low > Margin {
			least.Shown, least.Refuted = false, false
			r.Parts = append(r.Parts, least)
		}
	}
	return r
}

// openingShare is the share of opening tokens among the tokens of some launches' answers,
// as one of n answers.
func (a *Probes) openingShare(launches []string, cell string) stats.Share {
	opens, all, answers := 0, 0, 0
	for _, id := range launches {
		opens += a.All[id][cell][Opening]
		answers += a.All[id][cell][First]
		for part, n := range a.All[id][cell] {
			if part != Hidden {
				all += n
			}
		}
	}
	return endless(stats.Share{Yes: opens * answers / max(all, 1), Of: answers})
}

func (l *looked) add(o looked) { l.looks, l.all = append(l.looks, o.looks...), l.all+o.all }

func (c Claim) part(a *Probes, cell, of string, own, other looked) PartResult {
	f := PartResult{Cell: cell, Of: of, Own: own.share(Probe.Agrees), Other: other.share(Probe.Agrees)}
	f.Unreached = len(other.looks) - f.Other.Of
	// Any engine continues text that occurs elsewhere. Its share depends on the prompts,
	// so answers of both arms are compared.
	recites, more := other.recites()
	usual, spread := own.recites()
	f.RecitesMore = !(recites-usual <= max(Margin, sure*math.Hypot(more, spread))) // nor where none is known
	if c.Least != nil && c.self {
		low, _ := f.Other.Bounds(shownAt)
		_, high := endless(f.Other).Bounds(refutedAt)
		f.Low, f.High = *c.Least-high, *c.Least-low
		f.Shown, f.Refuted = f.Other.Of > 0 && f.High <= 0, f.Other.Of > 0 && f.Low > 0
	} else {
		_, f.High = f.Own.Excess(f.Other, shownAt)
		f.Low, _ = endless(f.Own).Excess(endless(f.Other), refutedAt)
		f.Shown, f.Refuted = f.High < Margin && (f.Own.Value() >= leastOwn || slices.Contains(a.Sampled, cell)),
			f.Low > Margin
	}
	if f.Unsteady = of == "" && c.Least == nil && !slices.Contains(a.Sampled, cell) &&
		f.Own.Value() < steadyOwn; f.Unsteady {
		f.Shown = false
	}
	if f.Unreached > 0 && c.Least == nil {
		_, more := own.reached().Excess(other.reached(), shownAt)
		f.Shown = f.Shown && more < Margin
	}
	f.Shown = f.Shown && !f.RecitesMore
	return f
}

// endless is a share of all answers that an engine could give, which an accusation is about:
// a few unlucky ones, all of them asked, are no other model.
func endless(s stats.Share) stats.Share {
	s.All = math.MaxInt
	return s
}

// place is a part of the answers to a cell.
type place struct {
	cell string
	part Part
}

// byPlace are the looks at an arm's launches, by place.
func (a *Probes) byPlace(launches []string) map[place]looked {
	out := map[place]looked{}
	for _, id := range launches {
		for cell, all := range a.All[id] {
			for part, n := range all {
				l := out[place{cell, part}]
				l.all += n
				out[place{cell, part}] = l
			}
		}
	}
	for _, look := range a.Looks {
		if slices.Contains(launches, look.Launch) {
			l := out[place{look.Cell, look.Part}]
			l.looks = append(l.looks, look)
			out[place{look.Cell, look.Part}] = l
		}
	}
	return out
}
