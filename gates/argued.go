package gates

import (
	"fmt"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// argued is a comparison that launches decide, as a sentence: what was found, what
// was wanted, and what was shown. An estimate that stopped a test at a pass is
// too good on average, so the bound is quoted beside it.
func (c *ruling) argued(leaf *plans.Leaf, f *finding) string {
	t := f.Test
	wanted := f.Verdict == verdict.Pass
	s := found(leaf, f.Comparison, wanted)
	in := leaf.Claim.Input
	w := wording{unit: unitOf(in), most: c.most(in)}
	if !direct(leaf) {
		w.name = in.Path + " "
	}
	s += ": " + w.shown(t, f.Verdict)
	if len(t.Unpaired) > 0 {
		s += fmt.Sprintf("; without a launch of the other arm beside it, and not counted: %s", verdict.And(t.Unpaired))
	}
	return s
}

// wording is how a test is spoken of.
type wording struct {
	// name is what was tested, where that is not what the comparison names.
	name string
	unit string
	// most is the most launches an arm.
	most int
}

// shown is what a test says, after the colon.
func (w wording) shown(t *verdict.Test, v verdict.Verdict) string {
	each := ""
	if t.Against != "" {
		each = " an arm"
	}
	n := len(t.Values)
	var last verdict.Look
	if len(t.Looks) > 0 {
		last = t.Looks[len(t.Looks)-1]
		n = last.N
	} else if t.Against != "" {
		n = min(n, len(t.Base))
	}
	count := verdict.Launches(n) + each
	switch {
	case t.Note != "":
		return t.Note
	case t.Form == verdict.Range:
		return w.ranged(t, v, count)
	case t.Stop == verdict.StopPass:
		return fmt.Sprintf("%s%s shown, %s, %s ≤ %s", w.name, w.bound(t, t.More), count, verdict.PIs(last.PPass), verdict.PLevel(t.Pass))
	case t.Stop == verdict.StopFail:
		return fmt.Sprintf("%sshown to be %s, %s, %s ≤ %s", w.name, w.bound(t, !t.More), count, verdict.PIs(last.PFail), verdict.PLevel(t.Fail))
	case t.Stop == verdict.StopScreen:
		return count + ", so far off that more are not worth it"
	case t.Stop == verdict.StopFutile:
		return fmt.Sprintf("%s: %s, and a chance of %s that more would tell", w.name+w.between(t), count, percentOf(last.Chance))
	case t.Stop == verdict.StopEnd && n > 1 && last.DF == 0:
		return tooFew(t, n, count)
	case n == 1:
		return oneLaunch(t.Against != "")
	case t.Stop == verdict.StopEnd:
		return fmt.Sprintf("%s: %s could not tell", w.name+w.between(t), count)
	case len(t.Looks) == 0 && len(t.Plan) > 0:
		return fmt.Sprintf("%s, and the first look is at %d", count, t.Plan[0])
	}
	return fmt.Sprintf("%s after %s of at most %d", w.name+w.between(t), count, w.most)
}

func oneLaunch(comparing bool) string {
	if comparing {
		return "1 launch an arm says nothing of how launches differ"
	}
	return "1 launch says nothing of how launches differ"
}

// tooFew says why a last look had no p values.
func tooFew(t *verdict.Test, n int, count string) string {
	if n < t.First {
		s := fmt.Sprintf("%s cannot tell, since a verdict takes %d", count, t.First)
		if t.FloorDF == 0 {
			s += " where no launch noise is recorded"
		}
		return s
	}
	return count + " say nothing of how launches differ"
}

// ranged is what the whole range of launches says.
func (w wording) ranged(t *verdict.Test, v verdict.Verdict, count string) string {
	n := len(t.Values)
	of := "launches"
	if t.Against != "" {
		n, of = min(n, len(t.Base)), "any two launches"
	}
	switch {
	case v == verdict.Pass:
		return fmt.Sprintf("%s of %s, %s", w.name+w.bound(t, t.More), of, count)
	case v == verdict.Fail:
		return fmt.Sprintf("%s%s even at best, %s", w.name, w.bound(t, !t.More), count)
	case n == 1:
		return oneLaunch(t.Against != "")
	case t.Stop == verdict.StopFutile:
		return fmt.Sprintf("%s of %s, %s, so that the limit lies within", w.name+w.between(t), of, count)
	case t.Stop == verdict.StopEnd:
		return fmt.Sprintf("%s cannot tell, since a verdict takes %d", count, t.First)
	}
	return fmt.Sprintf("%s of at least %d", count, t.First)
}
