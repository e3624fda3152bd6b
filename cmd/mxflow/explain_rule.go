package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
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
	Decides  bool       `json:"decides"`
	Reasons  []string   `json:"reasons,omitempty"`
	Compared []argument `json:"comparisons"`
	// Missing are the inputs that were not there, with why.
	Missing []string `json:"missing,omitempty"`
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
	// series is what Data are values of; levels are among Said.
	series string
	levels []string
	// at is the last look, where it stayed open there.
	at string
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
		argued := arguesRule(st, r)
		argued.endedBy(noMore(rules, i))
		out = append(out, argued)
	}
	return out
}

// arguesRule argues a rule.
func arguesRule(st *store.Store, r verdict.Rule) ruleArgument {
	out := ruleArgument{
		Name: r.Name, Role: r.Role, Expr: r.Expr, Source: r.Source, Verdict: string(r.Verdict), Decides: r.Decides, Open: r.Open,
		Compared: []argument{},
	}
	tested := false
	for _, c := range r.Comparisons {
		tested = tested || c.Test != nil
		out.Compared = append(out.Compared, argues(st, r, c))
	}
	for _, in := range r.Inputs {
		switch {
		case in.Missing != "":
			out.Missing = append(out.Missing, fmt.Sprintf("%s is missing: %s", in.Path, in.Missing))
		case !compared(r, in):
			out.Read = append(out.Read, inputLine(in))
		}
	}
	if len(r.Comparisons) == 0 || !tested {
		for _, reason := range r.Reasons {
			if !says(out.Missing, reason) {
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

// says reports whether a list of what is missing holds a reason already.
func says(missing []string, reason string) bool {
	path, why, ok := strings.Cut(reason, ": ")
	for _, m := range missing {
		if ok && m == path+" is missing: "+why {
			return true
		}
	}
	return false
}
