// Package bisect finds which of many versions of an engine made it slower or wrong: the
// commits of a source, images, or package pins between a good and a bad one. It searches, asks
// each question of an apply (steps/questions/arms, load.Options.Question) and reads the answer from the
// record. It decides nothing itself: rules and levels do.
package bisect

import (
	"context"

	"github.com/mxflow/mxflow/gates/verdict"
)

// State is what is known of a candidate.
type State string

const (
	// LikeGood and LikeBad are on the one and the other side of the change.
	LikeGood State = "like good"
	LikeBad  State = "like bad"
	// Unclear is what the most launches did not decide.
	Unclear State = "unclear"
	// Skipped is what does not build, start, or pass what comes before measuring.
	Skipped State = "skipped"
)

// Finding is what a comparison found.
type Finding struct {
	State State `json:"state"`
	// Brief is the rule or level that decided, or why it could not, on one line.
	Brief string `json:"brief"`
	// Gain is the change against the other arm in the metric's better direction, and Low and
	// High its bounds; nil without a test.
	Gain *float64 `json:"gain,omitempty"`
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
	// Verdict is that of the decision behind it.
	Verdict verdict.Verdict `json:"verdict,omitempty"`
}

// leans is the p value at which a comparison that ended without a verdict still turns the
// search: only the last one has to be a verdict.
const leans = 0.05

// Lean is the side that an inconclusive comparison leans to, by the p values of its last look.
func Lean(pass, fail float64) State {
	switch {
	case pass <= leans:
		return LikeGood
	case fail <= leans:
		return LikeBad
	}
	return Unclear
}

// Oracle compares candidates, which are numbered from 0, the good one, to the bad one.
type Oracle interface {
	// Ends compares the bad candidate with the good one by the user's rule.
	Ends(context.Context) (Finding, error)
	// Side tells on which side of a gain a candidate is, against the good one. The gain is
	// half of what the ends differ by; 0 where they differ by no gain.
	Side(ctx context.Context, candidate int, gain float64) (Finding, error)
	// Step compares a candidate with one before it: LikeBad if it is worse.
	Step(ctx context.Context, parent, child int) (Finding, error)
}

// Outcome is how a search ended.
type Outcome string

const (
	// Found is one candidate that is worse than the one before it.
	Found Outcome = "found"
	// Between is a change between two candidates, with skipped or unclear ones between them.
	Between Outcome = "between"
	// Same is a bad end that is not worse than the good one, by the rule.
	Same Outcome = "same"
	// Open is a search without an answer: the ends are not told apart, or no two candidates are.
	Open Outcome = "open"
)

// Answer is the outcome of a search.
type Answer struct {
	Outcome Outcome `json:"outcome"`
	// Parent is the last candidate known to be like the good one, and Child the first known to
	// be like the bad one.
	Parent int `json:"parent"`
	Child  int `json:"child"`
	// Findings are those of candidates against the good one, by candidate.
	Findings map[int]Finding `json:"findings"`
	// Step is the finding of Child against Parent; nil without one.
	Step *Finding `json:"step,omitempty"`
}

// Search finds the change among n candidates. Every candidate is compared with the good one,
// at half of what the bad one lost: that is as far as can be from either, so noise turns the
// search the wrong way as rarely as it can, and what leans to a side decides it. A wrong turn
// ends at two candidates that do not differ; so the last comparison is one of the found
// candidate with the one before it, in fresh launches, and its error rate is that of the whole
// search.
func Search(ctx context.Context, n int, o Oracle) (*Answer, error) {
	ends, err := o.Ends(ctx)
	a := &Answer{Outcome: Open, Child: n - 1, Findings: map[int]Finding{n - 1: ends}}
	switch {
	case err != nil || ends.State == Skipped || ends.State == Unclear:
		return a, err
	case ends.State == LikeGood:
		a.Outcome = Same
		return a, nil
	}
	half := 0.0
	if ends.Gain != nil {
		half = *ends.Gain / 2
	}
	for {
		next := a.next()
		if next < 0 {
			break
		}
		f, err := o.Side(ctx, next, half)
		if err != nil {
			return a, err
		}
		a.Findings[next] = f
		switch f.State {
		case LikeGood:
			a.Parent = next
		case LikeBad:
			a.Child = next
		}
	}
	step, err := o.Step(ctx, a.Parent, a.Child)
	if err != nil {
		return a, err
	}
	switch a.Step = &step; {
	case step.State == LikeBad && a.Child == a.Parent+1:
		a.Outcome = Found
	case step.State == LikeBad:
		a.Outcome = Between
	}
	return a, nil
}

// next is the candidate nearest to the middle between Parent and Child that was not measured;
// −1 if none is left.
func (a *Answer) next() int {
	middle := (a.Parent + a.Child) / 2
	for off := range a.Child - a.Parent {
		for _, i := range []int{middle - off, middle + off} {
			if _, measured := a.Findings[i]; !measured && i > a.Parent && i < a.Child {
				return i
			}
		}
	}
	return -1
}

// Most is how many comparisons a search among n candidates takes if all of them can be
// measured: the ends, the halves, and the step.
func Most(n int) int {
	most := 2
	for left := n - 1; left > 1; left = (left + 1) / 2 {
		most++
	}
	return most
}
