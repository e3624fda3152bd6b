package gates

import (
	"slices"

	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
)

// share is a comparison's share of the chances of a wrong verdict: the levels of p are
// divided by pass and fail.
type share struct {
	pass, fail int
	parts      []verdict.Share
}

// divided is one of n parts of s; what is divided depends on the operator. Where all
// parts must hold, a false pass of the whole requires one of the part that does not hold,
// so its level stays; a false fail of any part is one of the whole, so their levels add
// up. Where one part is enough, it is the reverse.
func (s share) divided(op string, n int) share {
	if n < 2 {
		return s
	}
	part := verdict.Share{Of: verdict.ShareAll, N: n}
	if op == plans.Or {
		s.pass *= n
		part.Of = verdict.ShareOne
	} else {
		s.fail *= n
	}
	s.parts = append(slices.Clone(s.parts), part)
	return s
}

// Tried says which try at a feature a measurement is, and what false pass rate is left
// for it.
func Tried(feature string, try int, falsePass float64) verdict.Reason {
	rate, left := stats.Rung(falsePass, try)
	bound, most := stats.Bound(falsePass)
	args := []verdict.Arg{verdict.Int("try", try), verdict.Num("of", falsePass, "share"), verdict.Num("bound", bound, "share")}
	if !left {
		return verdict.New(code.TriesSpent, append(args, verdict.Int("tries", most))...).On(feature)
	}
	return verdict.New(code.Tried, append(args, verdict.Num("rate", rate, "share"))...).On(feature)
}

// shares divides the budget among the comparisons of rules that must all hold. Parts
// decided on exact values, or on the whole range of launches, take none of it.
func shares(rules []*plans.Rule, alternatives int) map[*plans.Compare]share {
	out := map[*plans.Compare]share{}
	all := share{pass: 1, fail: 1}
	if alternatives > 1 {
		all.pass = alternatives
		all.parts = []verdict.Share{{Of: verdict.ShareAlternatives, N: alternatives}}
	}
	var roots []*plans.Cond
	for _, r := range rules {
		if r != nil && r.Cond != nil {
			roots = append(roots, r.Cond)
		}
	}
	split(plans.And, roots, all, out)
	return out
}

func split(op string, parts []*plans.Cond, s share, out map[*plans.Compare]share) {
	n := 0
	for _, part := range parts {
		if tested(part) {
			n++
		}
	}
	s = s.divided(op, n)
	for _, part := range parts {
		if part.Compare != nil {
			out[part.Compare] = s
		} else {
			split(part.Op, part.Args, s, out)
		}
	}
}

// tested reports whether a t-test decides any part of l.
func tested(l *plans.Cond) bool {
	if l.Compare != nil {
		return l.Compare.Tested()
	}
	return slices.ContainsFunc(l.Args, tested)
}
