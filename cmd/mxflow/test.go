package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/steps/cases"
)

func newTestCommand(a *app) *cobra.Command {
	var vars []load.Given
	var name string
	c := &cobra.Command{
		Use:   "test [PLAN]",
		Short: "Check that given values give the expected verdicts",
		Long: `Decides the cases in *.mxtest.hcl and *.mxtest.yaml beside the plan: do these
values give the expected verdict?

  case "a clear gain passes" {
    feature = feature.gemm
    set     = { "chat.tg.gain" = 0.21 }
    expect  = "pass"
  }

Values are taken as exact; a rule that reads a value which the case does not set
cannot pass. If plans share a folder, other.mxtest.hcl belongs to other.hcl alone.

Exit status: 0 all as expected, 2 a case differs, 1 no cases, or a mistake in one.`,
		Example: `  mxflow test plan.hcl
  mxflow test --run memory plan.hcl`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			a.fold()
			path, err := a.planOf(args)
			if err != nil {
				return err
			}
			return a.test(path, vars, name)
		},
	}
	varFlag(c, &vars)
	c.Flags().StringVar(&name, "run", "", "only cases whose name contains this text")
	a.jsonFlag(c)
	return c
}

func (a *app) test(path string, vars []load.Given, name string) error {
	loaded, _, err := a.load(path, load.Options{Inputs: vars})
	if err != nil {
		return err
	}
	all, err := readCases(a, loaded)
	switch {
	case err != nil:
		return err
	case len(all) == 0: // nothing could come out otherwise, which is no success
		return fmt.Errorf("there are no cases beside %s: no file whose name ends in .mxtest.hcl. mxflow test --help shows one", path)
	}
	var names []string
	var outcomes []*cases.Outcome
	for _, c := range all {
		names = append(names, c.Name)
		if !strings.Contains(c.Name, name) {
			continue
		}
		o := cases.Decide(loaded.Plan, c)
		outcomes = append(outcomes, o)
		if !o.OK() {
			a.exit = verdict.ExitFail
		}
	}
	if len(outcomes) == 0 {
		return fmt.Errorf("--run %s: none of %s has that in its name.%s", name, verdict.Count(len(all), "case"), lang.Suggest(name, names))
	}
	a.show(casesJSON(outcomes), func() { printCases(a.screen(), outcomes) })
	return nil
}

// readCases reads the case files beside a plan, and prints what is wrong with them.
func readCases(a *app, loaded *load.Result) ([]*cases.Case, error) {
	files, err := cases.Files(loaded)
	if err != nil {
		return nil, err
	}
	list, found := cases.Load(loaded, files)
	if len(found.Diagnostics) > 0 {
		a.diagnostics(found)
	}
	if !found.OK() {
		return nil, errShown
	}
	return list, nil
}

// printCases prints a line for each case, and why those failed that did.
func printCases(on table.Screen, outcomes []*cases.Outcome) {
	var rows [][]string
	failed := 0
	for _, o := range outcomes {
		word := "ok"
		if !o.OK() {
			word = "FAILED"
			failed++
		}
		rows = append(rows, []string{o.Case.Name, o.Case.Of(), string(o.Verdict), word})
	}
	on.Table([]string{"case", "decides", "verdict", ""}, rows)
	for _, o := range outcomes {
		if !o.OK() {
			printFailed(on, o)
		}
	}
	fmt.Fprintf(on, "\n%s: %d as expected, %d different.\n", verdict.Count(len(outcomes), "case"), len(outcomes)-failed, failed)
}

// printFailed argues why a case came out as it did.
func printFailed(on table.Screen, o *cases.Outcome) {
	at := o.Case.Range
	fmt.Fprintf(on, "\nFAILED %q on %s:%d\n", o.Case.Name, filepath.ToSlash(at.File), at.Start.Line)
	for _, u := range o.Unexpected {
		of := o.Case.Of()
		if u.Rule != "" {
			of = fmt.Sprintf("rule %q", u.Rule)
		}
		fmt.Fprintf(on, "  %s: expected %s, came out %s\n", of, u.Want, u.Got)
	}
	for _, rule := range o.Rules {
		noted := ""
		if !rule.Decides {
			noted = " (does not decide)"
		}
		fmt.Fprintf(on, "    %s: %s%s\n", rule.Name, rule.Verdict, noted)
		for i, why := range verdict.Lines(rule.Reasons) {
			mark := ""
			if len(rule.Comparisons) == len(rule.Reasons) && len(rule.Comparisons) > 1 {
				mark = string(rule.Comparisons[i].Verdict) + ": "
			}
			fmt.Fprintf(on, "      %s%s\n", mark, why)
		}
	}
}

// casesJSON is everything for programs.
func casesJSON(outcomes []*cases.Outcome) map[string]any {
	type jsonCase struct {
		Name    string `json:"name"`
		File    string `json:"file"`
		Line    int    `json:"line"`
		Feature string `json:"feature,omitempty"`
		Gate    string `json:"gate,omitempty"`
		OK      bool   `json:"ok"`

		Expect      verdict.Verdict            `json:"expect,omitempty"`
		ExpectRules map[string]verdict.Verdict `json:"expect_rules,omitempty"`
		*cases.Outcome
	}
	list := make([]jsonCase, 0, len(outcomes))
	for _, o := range outcomes {
		c := o.Case
		list = append(list, jsonCase{
			Name: c.Name, File: filepath.ToSlash(c.Range.File), Line: c.Range.Start.Line, Feature: c.Feature, Gate: c.Phase,
			OK: o.OK(), Expect: c.Expect, ExpectRules: c.ExpectRules, Outcome: o,
		})
	}
	failed := len(slices.DeleteFunc(slices.Clone(list), func(c jsonCase) bool { return c.OK }))
	out := map[string]any{"cases": list, "as_expected": len(list) - failed, "otherwise": failed}
	return out
}
