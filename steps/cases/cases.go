// Package cases tests the rules of a plan: a case sets the values that rules read, and
// names the expected verdict. Cases are in their own files (*.mxtest.hcl, *.mxtest.yaml)
// next to the plan. They are decided like an apply, except that values are known exactly.
// Nothing is launched, and no record is read.
package cases

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
)

// Case is one test of a feature's criteria, or of a phase's gate.
type Case struct {
	Name string
	// Feature is set for a case of a feature's criteria, Phase for a gate's.
	Feature, Phase string
	// Set are the values by the input that reads them: numbers, words, or true and false.
	// A value that is not in it is absent.
	Set map[*plans.Input]any
	// Expect is the verdict of the whole; empty if only rules are checked.
	Expect verdict.Verdict
	// ExpectRules are verdicts by the name of a rule or criterion.
	ExpectRules map[string]verdict.Verdict
	Range       plans.Range
}

// Of names what the case decides: `feature gemm`, `gate cutlass`.
func (c *Case) Of() string {
	if c.Feature != "" {
		return "feature " + c.Feature
	}
	return "gate " + c.Phase
}

func (c *Case) rules(p *plans.Plan) []*plans.Rule {
	if c.Feature != "" {
		return p.Feature(c.Feature).Criteria
	}
	return p.Phase(c.Phase).Gate.Rules
}

// Files are the case files beside the plan, in lexical order. If several plans share a
// folder, other.mxtest.hcl belongs only to other.hcl.
func Files(r *load.Result) ([]string, error) {
	dir := r.Plan.Dir
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	others := map[string]bool{} // the stems of files that are separate plans
	var files []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir():
		case lang.IsPlanFile(e.Name()) && r.Sources[path] == nil:
			others[stemOf(path)] = true
		case lang.IsCaseFile(e.Name()) && !strings.HasPrefix(e.Name(), "."):
			files = append(files, path)
		}
	}
	for name := range r.Sources {
		if filepath.Dir(name) == filepath.Clean(dir) {
			delete(others, stemOf(name)) // plan.yaml beside plan.hcl
		}
	}
	return slices.DeleteFunc(files, func(path string) bool { return others[stemOf(path)] }), nil
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

// verdicts lists the verdicts that a case may expect, or set. Cases are never overridden.
var verdicts = []string{"pass", "fail", "inconclusive", "invalid", "error"}

var fileDoc = &lang.BlockDoc{
	Times:  plans.Once,
	Doc:    "Tests of the rules of the plan in the same folder: with these values, expect this verdict.",
	Blocks: []*lang.BlockDoc{caseDoc},
}

var caseDoc = &lang.BlockDoc{
	Type: "case", Times: plans.AtLeast1,
	Labels: []lang.Label{{Name: "name", Doc: "Name of the case, as a one-line phrase. Unique among the plan's cases."}},
	Doc:    "One test of a gate or of a feature's criteria. A value that it does not set is absent, and never passes.",
	Attrs: []plans.Attr{
		{Name: "feature", Type: plans.Reference, Ref: "feature", Doc: "The feature whose criteria are decided. Either this or `gate`."},
		{Name: "gate", Type: plans.Reference, Ref: "phase", Doc: "The phase whose gate is decided. Either this or `feature`."},
		{Name: "set", Type: plans.Values, Doc: "The values that the rules read, by address as rules write it: `chat.tg.gain`, `levels.kernels`. Numbers are in the unit of the address; a gain or a change is a fraction."},
		{Name: "expect", Type: plans.String, OneOf: verdicts, Doc: "The overall verdict: of the gate, or of the feature."},
		{Name: "expect_rules", Type: plans.Map, Doc: "Verdicts of single rules or criteria, by name."},
	},
	Example: `case "a clear gain passes" {
  feature = feature.gemm
  set     = { "chat.tg.gain" = 0.21, "gpu.memory_gb.delta" = 1 }
  expect  = "pass"
}

case "kernels that were not proven" {
  gate   = phase.cutlass
  set    = { "chat.tg.gain" = 0.21, "levels.kernels" = "fail" }
  expect = "invalid"
}`,
}

func JSONSchema() ([]byte, error) {
	return json.MarshalIndent(lang.JSONSchema(fileDoc.With(&plans.Registry{}), "mxflow cases"), "", "  ")
}
