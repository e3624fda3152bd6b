package coherence

import (
	"cmp"
	"math"
	"slices"

	"github.com/mxflow/mxflow/engine/measure"
)

// Coherence is how a candidate's answers to the prompts of one cell compare with
// the parent's to the same ones. All numbers are of prompts.
type Coherence struct {
	Cell string
	// Of prompts both have answered; Unpaired only one of them.
	Of, Unpaired int
	// Garbage is the number of prompts whose answers are garbage of the candidate
	// and not of the parent: one makes its speed worthless. Doubtful are those
	// that differ to the candidate's disadvantage in a way that so few prompts
	// cannot show to be more than chance. Parent counts the parent's own answers
	// that look like garbage.
	Garbage, Doubtful, Parent int
	// Compared is the number of prompts whose answers were long enough to compare
	// their wording, Bits how much more surprising the candidate's wording is, in
	// bits a character.
	Compared int
	Bits     float64
	// Why is what was found, with examples: the first five.
	Why []Finding
}

const (
	// sureOf is how many prompts it takes for a sign test at 1 in 64.
	sureOf = 6
	// minShare is the share of prompts by which soft signs must be more frequent
	// to be called garbage: what a change of numerics does to how often a model
	// turns in circles is less.
	minShare = 0.25
)

// Relative compares the answers of a candidate with its parent's to the same
// prompts, cell by cell. It is for texts of forced length, whose second half may
// be anything: what a sound engine says after the end of its answer is the
// model's affair. So nothing is held against the candidate that the parent does
// as well, as often. There are three kinds of evidence:
//
//   - hard signs, each of which counts for itself, unless an answer of the
//     parent's to the same prompt has one too;
//   - soft signs (circles, empty texts), which count when they are more frequent
//     than the parent's by more than chance: a sign test over the prompts on
//     which the two differ, and by a quarter of all prompts; among three to five
//     prompts only if all of them differ that way;
//   - wording, which tells random words from other words: see wording.
//
// Answers of several launches to one prompt are one piece of evidence, since
// greedy decoding repeats itself.
func Relative(parent, candidate []measure.Sample) []Coherence {
	cells, order := map[string][2]answers{}, []string{}
	for side, samples := range [][]measure.Sample{parent, candidate} {
		measured(samples, func(s measure.Sample) {
			both, known := cells[s.Workload]
			if !known {
				both = [2]answers{{}, {}}
				cells[s.Workload] = both
				order = append(order, s.Workload)
			}
			key := Request{s.Index, s.Turn}
			both[side][key] = append(both[side][key], generatedText(s))
		})
	}
	found := make([]Coherence, len(order))
	for i, cell := range order {
		found[i] = compare(cell, cells[cell][0], cells[cell][1])
	}
	return found
}

// answers are the texts of each request of a cell, of one or more launches.
type answers map[Request][]string

// compare judges one cell.
func compare(cell string, parent, candidate answers) Coherence {
	c := Coherence{Cell: cell}
	var keys []Request
	for key := range parent {
		if len(candidate[key]) > 0 {
			keys = append(keys, key)
		}
	}
	c.Of = len(keys)
	c.Unpaired = len(parent) + len(candidate) - 2*c.Of
	slices.SortFunc(keys, func(a, b Request) int { return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.Turn, b.Turn)) })
	var more, less int
	var example Finding
	var level []Request // whose wording may be compared
	for _, key := range keys {
		theirs, ours := count(parent[key], hard), count(candidate[key], hard)
		softTheirs, softOurs := count(parent[key], soft), count(candidate[key], soft)
		if theirs.n > 0 {
			c.Parent++
		}
		circles, circled := 2*softOurs.n > len(candidate[key]), 2*softTheirs.n > len(parent[key])
		switch {
		case ours.n > 0 && theirs.n == 0:
			c.Garbage++
			c.found(Finding{Code: Garbage, Request: key, Sign: ours.why, Excerpt: excerpt(ours.text)})
			continue
		case ours.n > 0 || theirs.n > 0:
			continue
		case circles && !circled:
			more++
			if example.Code == "" {
				example = Finding{Code: Circles, Request: key, Sign: softOurs.why, Excerpt: excerpt(softOurs.text)}
			}
			continue
		case circled && !circles:
			less++
		}
		level = append(level, key)
	}
	c.soft(more, less, example)
	c.wording(parent, candidate, level)
	return c
}

// soft decides whether soft signs that only one of both shows on a prompt are
// too many to be chance.
func (c *Coherence) soft(more, less int, example Finding) {
	surplus := more - less
	switch {
	case surplus <= 0:
		return
	case c.Of >= sureOf && float64(surplus) >= minShare*float64(c.Of) && signTest(more, more+less) <= 1.0/64,
		c.Of >= 3 && more == c.Of:
		c.Garbage += surplus
	case more == c.Of, signTest(more, more+less) <= 0.1:
		c.Doubtful += surplus
	default:
		return
	}
	example.Count, example.Of, example.Reverse = more, c.Of, less
	c.found(example)
}

// signTest is the chance that a fair coin shows heads at least k times in n.
func signTest(k, n int) float64 {
	p, term := 0.0, math.Pow(0.5, float64(n))
	for i := 0; i <= n; i++ {
		if i >= k {
			p += term
		}
		term *= float64(n-i) / float64(i+1)
	}
	return min(p, 1)
}

func (c *Coherence) found(f Finding) {
	if f.Cell = c.Cell; len(c.Why) < 5 {
		c.Why = append(c.Why, f)
	}
}

// signs are how many of several texts have a sign, and the first that does.
type signs struct {
	n    int
	why  Sign
	text string
}

func count(texts []string, sign func(string) Sign) signs {
	var found signs
	for _, text := range texts {
		if why := sign(text); why.Code != "" {
			if found.n == 0 {
				found.why, found.text = why, text
			}
			found.n++
		}
	}
	return found
}
