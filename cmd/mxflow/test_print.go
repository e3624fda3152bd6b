package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/steps"
)

// printCases prints a line a case, why those failed that did, and what the cases
// have shown of the plan's rules.
func (r *caseRun) printCases() {
	var rows [][]string
	failed := 0
	for _, o := range r.outcomes {
		word := "ok"
		if !o.OK() {
			word = "FAILED"
			failed++
		}
		rows = append(rows, []string{o.Case.Name, o.Case.Of(), expected(o), string(o.Verdict), word})
	}
	r.printTable([]string{"case", "decides", "expected", "came out", ""}, rows)
	for _, o := range r.outcomes {
		if !o.OK() {
			r.printFailed(o)
		}
	}
	fmt.Fprintf(r.stdout, "\n%s: %d as expected, %d otherwise.\n", count(len(r.outcomes), "case"), len(r.outcomes)-failed, failed)
	if r.coverage != nil {
		r.printCoverage()
	}
}

// expected is what a case expects, in a table.
func expected(o *steps.CaseOutcome) string {
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
func (r *caseRun) printFailed(o *steps.CaseOutcome) {
	at := o.Case.Range
	fmt.Fprintf(r.stdout, "\nFAILED %q on %s:%d\n", o.Case.Name, filepath.ToSlash(at.File), at.Start.Line)
	for _, u := range o.Unexpected {
		switch {
		case u.WantChosen != "":
			got := "nothing was chosen"
			if u.GotChosen != "" {
				got = "chosen was " + u.GotChosen
			}
			fmt.Fprintf(r.stdout, "  %s: expected to choose %s, %s\n", o.Case.Of(), u.WantChosen, got)
		case u.Rule == "":
			fmt.Fprintf(r.stdout, "  %s: expected %s, came out %s\n", o.Case.Of(), u.Want, u.Got)
		default:
			fmt.Fprintf(r.stdout, "  rule %q: expected %s, came out %s\n", u.Rule, u.Want, u.Got)
		}
	}
	for _, why := range tell.Lines(o.Reasons) {
		fmt.Fprintf(r.stdout, "    %s\n", why)
	}
	for _, rule := range o.Rules {
		noted := ""
		if !rule.Decides {
			noted = " (does not decide)"
		}
		fmt.Fprintf(r.stdout, "    %s: %s%s\n", rule.Name, rule.Verdict, noted)
		for i, why := range tell.Lines(rule.Reasons) {
			mark := ""
			if len(rule.Comparisons) == len(rule.Reasons) && len(rule.Comparisons) > 1 {
				mark = string(rule.Comparisons[i].Verdict) + ": "
			}
			fmt.Fprintf(r.stdout, "      %s%s\n", mark, why)
		}
	}
}

// printCoverage lists the rules of which nothing was shown. A rule that cannot
// fail protects nothing.
func (r *caseRun) printCoverage() {
	for _, phase := range r.never {
		fmt.Fprintf(r.stdout, "Never shown to pass as a whole, all rules at once: the gate of %s.\n", phase)
	}
	var passes, fails []string
	for _, c := range r.coverage {
		if !c.Passes {
			passes = append(passes, ruleWords(c))
		}
		if !c.Fails {
			fails = append(fails, ruleWords(c))
		}
	}
	if len(passes)+len(fails) == 0 {
		fmt.Fprintf(r.stdout, "%s: each shown to pass and to fail.\n", count(len(r.coverage), "rule"))
		return
	}
	for _, part := range []struct {
		what string
		list []string
	}{{"pass", passes}, {"fail", fails}} {
		if len(part.list) > 0 {
			fmt.Fprintf(r.stdout, "Never shown to %s, %d of %s:\n  %s\n", part.what, len(part.list), count(len(r.coverage), "rule"), strings.Join(part.list, "\n  "))
		}
	}
}

func ruleWords(c *steps.RuleCoverage) string {
	if c.Feature != "" {
		return fmt.Sprintf("criterion %q of feature %s", c.Rule, c.Feature)
	}
	return fmt.Sprintf("rule %q of the gate of %s", c.Rule, c.Phase)
}

// printCasesJSON prints everything for programs.
func (r *caseRun) printCasesJSON() {
	type jsonCase struct {
		Name    string `json:"name"`
		File    string `json:"file"`
		Line    int    `json:"line"`
		Feature string `json:"feature,omitempty"`
		Gate    string `json:"gate,omitempty"`
		OK      bool   `json:"ok"`

		Expect      verdict.Verdict            `json:"expect,omitempty"`
		ExpectRules map[string]verdict.Verdict `json:"expect_rules,omitempty"`
		*steps.CaseOutcome
	}
	list := make([]jsonCase, 0, len(r.outcomes))
	for _, o := range r.outcomes {
		c := o.Case
		list = append(list, jsonCase{
			Name: c.Name, File: filepath.ToSlash(c.Range.File), Line: c.Range.Start.Line, Feature: c.Feature, Gate: c.Phase,
			OK: o.OK(), Expect: c.Expect, ExpectRules: c.ExpectRules, CaseOutcome: o,
		})
	}
	failed := len(slices.DeleteFunc(slices.Clone(list), func(c jsonCase) bool { return c.OK }))
	out := map[string]any{"cases": list, "as_expected": len(list) - failed, "otherwise": failed}
	if r.coverage != nil {
		out["rules"] = r.coverage
		out["never_whole"] = append([]string{}, r.never...)
	}
	r.printJSON(out)
}
