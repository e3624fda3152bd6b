// Package cases reads files of cases (*.mxtest.hcl, *.mxtest.yaml): measurements, and the
// verdict that a gate or a feature's criteria should give. It decides none of them;
// mxflow test does.
package cases

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
)

// Case is one test of a gate, or of a feature's criteria: given these measurements, this
// verdict is expected. Cases are in separate files (*.mxtest.hcl, *.mxtest.yaml) beside
// the plan.
type Case struct {
	Name string
	// Feature is set for a case of a feature's criteria, Phase for a gate's.
	Feature, Phase string
	// Given are the measurements, by feature; by "spec[short]" for an alternative and
	// "gemm@production" for a confirmation. What is not given is missing.
	Given map[string]*GivenFeature
	// Expect is the verdict of the whole; empty if only rules are checked.
	Expect verdict.Verdict
	// ExpectRules are verdicts by the name of a rule or criterion.
	ExpectRules map[string]verdict.Verdict
	// ExpectChosen is the value that should win, for a feature that chooses.
	ExpectChosen string
	Range        plans.Range
}

// Of names the subject of the case: `feature gemm`, `gate cutlass`.
func (c *Case) Of() string {
	if c.Feature != "" {
		return "feature " + c.Feature
	}
	return "gate " + c.Phase
}

// GivenFeature is what a case gives of one feature.
type GivenFeature struct {
	Launches []GivenMetric
	// Levels are verdicts by level. An unknown one is absent.
	Levels map[string]verdict.Verdict
	// Knobs replace the candidate's from the plan.
	Knobs map[string]string
	// Observed are words and bools that every launch of the candidate reports.
	Observed map[string]any
	// Verdict is the feature's own, empty if it is not decided; Accepted is whether it
	// entered the stack.
	Verdict  verdict.Verdict
	Accepted bool
	// Noise is the recorded launch noise, by address.
	Noise map[string]givenNoise
}

// GivenMetric is the value in every launch of the arms for one statistic of a metric.
type GivenMetric struct {
	// Address has no statistic: "chat.tg". Stat is "median" unless the case says
	// otherwise.
	Address, Stat string
	Unit, Better  string
	// Requests is how many requests each launch's number comes from, 0 for a value that a
	// launch has once. Values is the resulting number of values: gaps, for itl.
	Requests, Values int
	// Base, Candidate and Root are by round; nil if a launch lacks it.
	Base, Candidate, Root []*float64
}

// of returns the values of an arm, by its name in a case.
func (g GivenMetric) of(arm string) []*float64 {
	switch arm {
	case "base":
		return g.Base
	case "candidate":
		return g.Candidate
	}
	return g.Root
}

// givenNoise is the standard deviation of the logs of launches, with its degrees
// of freedom.
type givenNoise struct{ SD, DF float64 }

// Files are the case files beside the plan, in lexical order. If several plans share a
// folder, other.mxtest.hcl belongs only to other.hcl.
func Files(r *load.Result) ([]string, error) {
	dir := r.Plan.Dir
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	// The stems of files that are separate plans.
	other := map[string]bool{}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !e.IsDir() && lang.IsPlanFile(e.Name()) && r.Sources[path] == nil {
			other[stemOf(e.Name())] = true
		}
	}
	for name := range r.Sources {
		if filepath.Dir(name) == filepath.Clean(dir) {
			delete(other, stemOf(name)) // plan.yaml beside plan.hcl
		}
	}
	var files []string
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || strings.HasPrefix(name, ".") || !lang.IsCaseFile(name) || other[stemOf(name)] {
			continue
		}
		files = append(files, filepath.Join(dir, name))
	}
	return files, nil
}

// stemOf is a file name without the part that shows its type.
func stemOf(path string) string {
	name := filepath.Base(path)
	name = strings.TrimSuffix(name, filepath.Ext(name))
	if ext := filepath.Ext(name); strings.EqualFold(ext, lang.CaseSuffix) {
		name = strings.TrimSuffix(name, ext)
	}
	return name
}

// UntestedGates are the phases whose gate no case expects to pass, or none to fail: a
// rule that cannot fail protects nothing, and one that cannot pass stops everything.
// Cases are not decided here: mxflow test checks that they hold.
func UntestedGates(p *plans.Plan, cases []*Case) (phases []string) {
	for _, ph := range p.Phases {
		if ph.Gate != nil && untested(ph, cases) != "" {
			phases = append(phases, ph.Name)
		}
	}
	return phases
}

// untested says which cases a gate lacks; empty if none.
func untested(ph *plans.Phase, cases []*Case) string {
	passes, fails := false, false
	shown := map[string]bool{}
	for _, c := range cases {
		if c.Phase != ph.Name {
			continue
		}
		for name, v := range c.ExpectRules {
			shown[name] = shown[name] || v == verdict.Pass
			fails = fails || v == verdict.Fail
		}
		passes = passes || c.Expect == verdict.Pass
		fails = fails || c.Expect == verdict.Fail
	}
	each := true
	for _, r := range ph.Gate.Rules {
		each = each && shown[r.Name]
	}
	passes = passes || each
	switch {
	case !passes && !fails:
		return "no case"
	case !passes:
		return "no case that passes"
	case !fails:
		return "no case that fails"
	}
	return ""
}

// WarnUntested adds a warning to the findings on case files for each gate that lacks
// cases.
func WarnUntested(r *load.Result, found *lang.Findings, cases []*Case) {
	for _, ph := range r.Plan.Phases {
		if ph.Gate == nil {
			continue
		}
		lacks := untested(ph, cases)
		if lacks == "" {
			continue
		}
		at := lang.HCL(ph.Gate.Range)
		found.Diagnostics = append(found.Diagnostics, &hcl.Diagnostic{
			Severity: hcl.DiagWarning, Extra: lang.Coded("gate-not-tested"), Summary: "Gate is not tested",
			Detail:  fmt.Sprintf("There is %s for the gate of phase %q, so nothing shows that it can pass and can fail. Write gate = phase.%s in a case beside the plan; mxflow test --print prints the missing cases.", lacks, ph.Name, ph.Name),
			Subject: &at,
		})
	}
}
