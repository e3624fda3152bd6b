// Package tested prints the results of the cases beside a plan, and what they show about
// its rules. It decides no case.
package tested

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	decided "github.com/mxflow/mxflow/steps/cases"
)

// Run is one run of the cases beside a plan.
type Run struct {
	Outcomes []*decided.Outcome
	// Coverage is nil where only some cases were chosen.
	Coverage []*decided.RuleCoverage
	// Never are the phases whose gate was not shown to pass as a whole.
	Never []string
}

// Print prints a line a case, why those failed that did, and what the cases have shown of
// the rules.
func (r *Run) Print(on table.Screen) {
	var rows [][]string
	failed := 0
	for _, o := range r.Outcomes {
		word := "ok"
		if !o.OK() {
			word = "FAILED"
			failed++
		}
		rows = append(rows, []string{o.Case.Name, o.Case.Of(), expected(o), string(o.Verdict), word})
	}
	on.Table([]string{"case", "decides", "expected", "came out", ""}, rows)
	for _, o := range r.Outcomes {
		if !o.OK() {
			printFailed(on, o)
		}
	}
	fmt.Fprintf(on, "\n%s: %d as expected, %d different.\n", tell.Count(len(r.Outcomes), "case"), len(r.Outcomes)-failed, failed)
	if r.Coverage != nil {
		r.printCoverage(on)
	}
}

// expected is what a case expects, in a table.
func expected(o *decided.Outcome) string {
	switch {
	case o.Case.Expect != "":
		return string(o.Case.Expect)
	case o.Case.ExpectChosen != "":
		return "chooses " + o.Case.ExpectChosen
	}
	words := map[verdict.Verdict]bool{}
	for _, v := range o.Case.ExpectRules {
		words[v] = true
	}
	var list []string
	for _, w := range verdict.Words() {
		if words[verdict.Verdict(w)] {
			list = append(list, w)
		}
	}
	return "rules " + strings.Join(list, ", ")
}

// printFailed argues why a case came out as it did.
func printFailed(on table.Screen, o *decided.Outcome) {
	at := o.Case.Range
	fmt.Fprintf(on, "\nFAILED %q on %s:%d\n", o.Case.Name, filepath.ToSlash(at.File), at.Start.Line)
	for _, u := range o.Unexpected {
		switch {
		case u.WantChosen != "":
			got := "nothing was chosen"
			if u.GotChosen != "" {
				got = "chosen was " + u.GotChosen
			}
			fmt.Fprintf(on, "  %s: expected to choose %s, %s\n", o.Case.Of(), u.WantChosen, got)
		case u.Rule == "":
			fmt.Fprintf(on, "  %s: expected %s, came out %s\n", o.Case.Of(), u.Want, u.Got)
		default:
			fmt.Fprintf(on, "  rule %q: expected %s, came out %s\n", u.Rule, u.Want, u.Got)
		}
	}
	for _, why := range tell.Lines(o.Reasons) {
		fmt.Fprintf(on, "    %s\n", why)
	}
	for _, rule := range o.Rules {
		noted := ""
		if !rule.Decides {
			noted = " (does not decide)"
		}
		fmt.Fprintf(on, "    %s: %s%s\n", rule.Name, rule.Verdict, noted)
		for i, why := range tell.Lines(rule.Reasons) {
			mark := ""
			if len(rule.Comparisons) == len(rule.Reasons) && len(rule.Comparisons) > 1 {
				mark = string(rule.Comparisons[i].Verdict) + ": "
			}
			fmt.Fprintf(on, "      %s%s\n", mark, why)
		}
	}
}

// printCoverage lists the rules of which nothing was shown. A rule that cannot
// fail protects nothing.
func (r *Run) printCoverage(on table.Screen) {
	for _, phase := range r.Never {
		fmt.Fprintf(on, "Never shown to pass with all rules at once: the gate of %s.\n", phase)
	}
	var passes, fails []string
	for _, c := range r.Coverage {
		if !c.Passes {
			passes = append(passes, ruleWords(c))
		}
		if !c.Fails {
			fails = append(fails, ruleWords(c))
		}
	}
	if len(passes)+len(fails) == 0 {
		fmt.Fprintf(on, "%s: each shown to pass and to fail.\n", tell.Count(len(r.Coverage), "rule"))
		return
	}
	for _, part := range []struct {
		what string
		list []string
	}{{"pass", passes}, {"fail", fails}} {
		if len(part.list) > 0 {
			fmt.Fprintf(on, "Never shown to %s, %d of %s:\n  %s\n", part.what, len(part.list), tell.Count(len(r.Coverage), "rule"), strings.Join(part.list, "\n  "))
		}
	}
}

func ruleWords(c *decided.RuleCoverage) string {
	if c.Feature != "" {
		return fmt.Sprintf("criterion %q of feature %s", c.Rule, c.Feature)
	}
	return fmt.Sprintf("rule %q of the gate of %s", c.Rule, c.Phase)
}

// JSON is everything for programs.
func (r *Run) JSON() map[string]any {
	type jsonCase struct {
		Name    string `json:"name"`
		File    string `json:"file"`
		Line    int    `json:"line"`
		Feature string `json:"feature,omitempty"`
		Gate    string `json:"gate,omitempty"`
		OK      bool   `json:"ok"`

		Expect      verdict.Verdict            `json:"expect,omitempty"`
		ExpectRules map[string]verdict.Verdict `json:"expect_rules,omitempty"`
		*decided.Outcome
	}
	list := make([]jsonCase, 0, len(r.Outcomes))
	for _, o := range r.Outcomes {
		c := o.Case
		list = append(list, jsonCase{
			Name: c.Name, File: filepath.ToSlash(c.Range.File), Line: c.Range.Start.Line, Feature: c.Feature, Gate: c.Phase,
			OK: o.OK(), Expect: c.Expect, ExpectRules: c.ExpectRules, Outcome: o,
		})
	}
	failed := len(slices.DeleteFunc(slices.Clone(list), func(c jsonCase) bool { return c.OK }))
	out := map[string]any{"cases": list, "as_expected": len(list) - failed, "otherwise": failed}
	if r.Coverage != nil {
		out["rules"] = r.Coverage
		out["never_whole"] = append([]string{}, r.Never...)
	}
	return out
}
