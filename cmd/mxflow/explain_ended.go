package main

import (
	"fmt"

	"github.com/mxflow/mxflow/gates/verdict"
)

// goesOn is what a comparison is called that more launches are made for.
const goesOn = "it goes on with more launches"

// noMore is why no more launches are made for what a rule left open, of the set of
// which it is the one at i; empty where more are.
func noMore(rules []verdict.Rule, i int) string {
	if !rules[i].Decides {
		return "launches are made for what decides, and it is recorded only"
	}
	if v := rules[i].Verdict; v == verdict.Pass || v == verdict.Fail {
		return "no more were made, since the rule is decided without it"
	}
	for _, other := range rules {
		switch {
		case !other.Decides || other.Verdict == verdict.Pass || other.Verdict == verdict.Inconclusive:
		case other.Verdict == verdict.Fail:
			return fmt.Sprintf("no more were made, since %s had failed", other.Name)
		default:
			return fmt.Sprintf("no more were made, since %s is %s", other.Name, other.Verdict)
		}
	}
	return ""
}

// openSaid says of a comparison that stayed open after a look what follows.
func openSaid(at, what string) string { return fmt.Sprintf("Still open after %s: %s.", at, what) }
