package main

import (
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/store"
)

// ruleArgument is a rule, argued comparison by comparison.
type ruleArgument struct {
	Name    string `json:"name"`
	Role    string `json:"role"`
	Of      string `json:"of,omitempty"` // an alternative's name
	Expr    string `json:"expr"`
	Source  string `json:"source"`
	Verdict string `json:"verdict"`
	// Decides is false for a criterion that is recorded only.
	Decides  bool             `json:"decides"`
	Reasons  []verdict.Reason `json:"reasons,omitempty"`
	Compared []argument       `json:"comparisons"`
	// Missing are the inputs that were not there, with why.
	Missing []verdict.Reason `json:"missing,omitempty"`
	// Read are the inputs that stand in no comparison.
	Read []string `json:"read,omitempty"`
	Open []string `json:"open,omitempty"`
	// Ended is why no more launches are made for what is open.
	Ended string `json:"ended,omitempty"`
}

// argument is one comparison in words and numbers.
type argument struct {
	Text string `json:"text"`
	// Not is "not " where the rule wants that it does not hold.
	Not     string `json:"not,omitempty"`
	Verdict string `json:"verdict,omitempty"`
	// Claim is what is tested, How by which test.
	Claim string  `json:"claim,omitempty"`
	How   string  `json:"how,omitempty"`
	Unit  string  `json:"unit,omitempty"`
	Data  []datum `json:"data,omitempty"`
	Looks []look  `json:"looks,omitempty"`
	// Said are the sentences below the looks: levels, what decided, the interval,
	// what would have changed it, how many more launches.
	Said []string `json:"said,omitempty"`
	// Change and More are among Said, by themselves for programs.
	Change string `json:"what_would_change_it,omitempty"`
	More   string `json:"more_launches,omitempty"`
	// series is what Data are values of.
	series string
	// levels are among Said, from levelsAt on; interval is too, at intervalAt, and
	// plain the same without what is to be known of all intervals.
	levels               []string
	levelsAt, intervalAt int
	interval, plain      string
	// shortHow is How without what is to be known of all tests.
	shortHow string
}

// datum is one launch's value.
type datum struct {
	// Number is the launch's as the progress had it, and Order counts every start.
	Number int     `json:"number"`
	Order  int     `json:"order"`
	Round  int     `json:"round"`
	Arm    string  `json:"arm"`
	Launch string  `json:"launch"`
	Value  float64 `json:"value"`
}

// look is one look at the data, in the rule's own numbers.
type look struct {
	verdict.Look
	// Change is the estimate in the rule's own number; Came what followed from it.
	Change string `json:"change"`
	Came   string `json:"came"`
}

// arguesRules argues rules that were decided together.
func arguesRules(st *store.Store, rules []verdict.Rule) (out []ruleArgument) {
	for i, r := range rules {
		out = append(out, arguesRule(st, r, noMore(rules, i)))
	}
	return out
}

// arguesRule argues a rule. ended is why no more launches are made for what stayed
// open; empty where more are.
func arguesRule(st *store.Store, r verdict.Rule, ended string) ruleArgument {
	out := ruleArgument{
		Name: r.Name, Role: r.Role, Expr: r.Expr, Source: r.Source, Verdict: string(r.Verdict), Decides: r.Decides, Open: r.Open,
		Compared: []argument{}, Ended: ended,
	}
	tested := false
	for _, c := range r.Comparisons {
		tested = tested || c.Test != nil
		out.Compared = append(out.Compared, argues(st, r, c, ended))
	}
	for _, in := range r.Inputs {
		switch {
		case !in.Missing.IsZero():
			out.Missing = append(out.Missing, verdict.New(code.IsMissing).On(in.Path).From(in.Missing))
		case !compared(r, in):
			out.Read = append(out.Read, inputLine(in))
		}
	}
	if len(r.Comparisons) == 0 || !tested {
		for _, reason := range r.Reasons {
			if !slices.ContainsFunc(r.Inputs, func(in verdict.Input) bool { return !in.Missing.IsZero() && in.Absence().Equal(reason) }) {
				out.Reasons = append(out.Reasons, reason)
			}
		}
	}
	return out
}

// only leaves out the rules of other alternatives than the one that was asked for.
func (e *explanation) only(alternative string) {
	if alternative == "" {
		return
	}
	e.Alternative = alternative
	e.Rules = slices.DeleteFunc(e.Rules, func(r ruleArgument) bool { return r.Of != alternative })
}

// compared reports whether an input stands in one of the rule's comparisons.
func compared(r verdict.Rule, in verdict.Input) bool {
	for _, c := range r.Comparisons {
		if strings.Contains(c.Text, in.Path) {
			return true
		}
	}
	return false
}
