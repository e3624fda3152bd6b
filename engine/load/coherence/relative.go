package coherence

import (
	"cmp"
	"fmt"
	"math"

	"github.com/mxflow/mxflow/engine/measure"
)

// Coherence is how a candidate's answers to prompts of one cell compare with the
// parent's to others of the same kind. All numbers are of answers.
type Coherence struct {
	Cell string
	// Of answers the candidate gave, Parents the parent.
	Of, Parents int
	// Garbage is the number of the candidate's answers that are garbage beyond the
	// parent's: one makes its speed worthless. Doubtful are those that are worse in a way
	// that so few cannot show to be more than chance.
	Garbage, Doubtful int
	// Why are the findings, with examples: the first five.
	Why []Finding
}

const (
	// sure is the chance below which a more frequent sign counts, doubted that below
	// which it is noted.
	sure, doubted = 1.0 / 64, 0.1
	// minShare is the share of answers by which soft signs must be more frequent to be
	// called garbage: a change of numerics affects how often a model loops by less.
	minShare = 0.25
	// longRun is how many bytes of one repeated character are more than a number or a
	// drawn line.
	longRun = 48
)

// Signs compares the answers of a candidate with its parent's to prompts of the same kind,
// cell by cell. Answers may be forced past their end, and what a sound engine says there
// is the model's affair. So nothing is held against the candidate that the parent does as
// well, as often. There are two kinds of evidence:
//
//   - hard signs, each of which counts for itself where no answer of the parent's has
//     one, and otherwise, or where some answers repeat themselves from the beginning, when they
//     are more frequent by more than chance;
//   - soft signs (one word or character again and again, empty texts), which count when they are more frequent than the parent's by more
//     than chance (Fisher's exact test) and by a quarter of all answers.
func Signs(parent, candidate []measure.Sample) []Coherence {
	return byCell(parent, candidate, func(c *Coherence, parent, candidate []answer) {
		c.signs(parent, candidate)
	})
}

// byCell judges the answers to each cell's prompts.
func byCell(parent, candidate []measure.Sample, judge func(c *Coherence, parent, candidate []answer)) []Coherence {
	cells, order := map[string][2][]answer{}, []string{}
	for side, samples := range [][]measure.Sample{parent, candidate} {
		seen := map[string]bool{}
		for s := range measure.Answered(samples) {
			// If a prompt is repeated, as those of a file are in every launch, the same
			// answer is no further evidence: greedy decoding repeats itself.
			prompt := cmp.Or(s.PromptSum, fmt.Sprint(s.Index))
			key := fmt.Sprintf("%q %q %d %s", s.Workload, prompt, s.Turn, generatedText(s))
			if seen[key] {
				continue
			}
			seen[key] = true
			both, known := cells[s.Workload]
			if !known {
				order = append(order, s.Workload)
			}
			both[side] = append(both[side], answer{Request{s.Index, s.Turn}, generatedText(s)})
			cells[s.Workload] = both
		}
	}
	found := make([]Coherence, len(order))
	for i, cell := range order {
		c := Coherence{Cell: cell, Of: len(cells[cell][1]), Parents: len(cells[cell][0])}
		if c.Of > 0 && c.Parents > 0 {
			judge(&c, cells[cell][0], cells[cell][1])
		}
		found[i] = c
	}
	return found
}

// answer is one text.
type answer struct {
	to   Request
	text string
}

// signs judges hard signs and soft ones.
func (c *Coherence) signs(parent, candidate []answer) {
	bad, sound := split(candidate, hard)
	theirBad, theirSound := split(parent, hard)
	chance := fisher(len(bad), c.Of, len(theirBad), c.Parents)
	// A small model that is forced on occasionally repeats one word or character: among
	// many answers, one is not a sign of broken numerics, nor are more if they are short.
	// NaNs come out as one token, for long and repeatedly.
	stuck := 0
	for _, f := range bad {
		if f.why.Code == Repeated && len(f.text) >= longRun {
			stuck++
		}
	}
	for _, f := range bad {
		repeats := f.why.Code == OneWord || f.why.Code == Repeated
		switch {
		case len(theirBad) == 0 && (!repeats || stuck > 1 || len(bad) == c.Of), chance <= sure:
			c.Garbage++
			c.found(f.is(Garbage))
		case chance <= doubted:
			c.Doubtful++
			c.found(f.is(Garbage))
		}
	}
	circling, _ := split(sound, soft)
	theirs, _ := split(theirSound, soft)
	c.soft(circling, len(theirs), len(sound), len(theirSound))
}

// soft decides whether soft signs are too frequent to be chance.
func (c *Coherence) soft(circling []signed, theirs, of, ofTheirs int) {
	if len(circling) == 0 || ofTheirs == 0 {
		return
	}
	chance := fisher(len(circling), of, theirs, ofTheirs)
	surplus := float64(len(circling))/float64(of) - float64(theirs)/float64(ofTheirs)
	n := int(math.Ceil(surplus * float64(of)))
	switch {
	case surplus >= minShare && chance <= sure, of >= 3 && surplus == 1:
		c.Garbage += n
	case surplus > 0 && (chance <= doubted || len(circling) == of):
		c.Doubtful += n
	default:
		return
	}
	f := circling[0].is(Circles)
	f.Count, f.Of, f.Reverse = len(circling), of, theirs
	c.found(f)
}

func (c *Coherence) found(f Finding) {
	if f.Cell = c.Cell; len(c.Why) < 5 {
		c.Why = append(c.Why, f)
	}
}

// signed is an answer with the sign it shows.
type signed struct {
	answer
	why Sign
}

func (s signed) is(c Code) Finding {
	return Finding{Code: c, Request: s.to, Sign: s.why, Excerpt: excerpt(s.text)}
}

// split separates the answers that show a sign from those that do not.
func split(all []answer, sign func(string) Sign) (with []signed, without []answer) {
	for _, a := range all {
		if why := sign(a.text); why.Code != "" {
			with = append(with, signed{a, why})
		} else {
			without = append(without, a)
		}
	}
	return with, without
}

// fisher is the chance that at least k of k+l agreements fall among n of n+m answers:
// Fisher's exact test, one-sided.
func fisher(k, n, l, m int) (p float64) {
	for i := k; i <= min(n, k+l); i++ {
		if j := k + l - i; j <= m {
			p += math.Exp(logChoose(n, i) + logChoose(m, j) - logChoose(n+m, k+l))
		}
	}
	return min(p, 1)
}

// logChoose is the logarithm of the binomial coefficient.
func logChoose(n, k int) float64 {
	lg := func(x int) float64 { v, _ := math.Lgamma(float64(x + 1)); return v }
	return lg(n) - lg(k) - lg(n-k)
}
