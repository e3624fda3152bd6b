package cases

import (
	"encoding/json"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

// Types of attributes that only cases have.
const (
	measurements plans.AttrType = "map of metrics to their launches"
	verdicts     plans.AttrType = "map of names to verdicts"
	noiseRecords plans.AttrType = "map of metrics to sd and df"
)

// caseVerdicts are what a case may expect, or give. Nobody overrules a case.
var caseVerdicts = []string{"pass", "fail", "inconclusive", "invalid", "error"}

// describe is the language of case files, as Describe is that of plans.
func describe() *lang.BlockDoc { return caseFileDoc.With(&plans.Registry{}) }

// JSONSchema describes files of cases.
func JSONSchema() ([]byte, error) {
	root := lang.JSONSchema(describe(), "mxflow cases")
	delete(root["properties"].(lang.Object), "dynamic") // cases are written one by one
	for _, def := range root["$defs"].(lang.Object) {
		if properties, ok := def.(lang.Object)["properties"].(lang.Object); ok {
			delete(properties, "dynamic")
		}
	}
	return json.MarshalIndent(root, "", "  ")
}

var caseFileDoc = &lang.BlockDoc{
	Times:  plans.Once,
	Doc:    "Cases for the rules of the plan beside it: given these measurements, this verdict is expected.",
	Blocks: []*lang.BlockDoc{caseDoc},
}

var caseDoc = &lang.BlockDoc{
	Type: "case", Times: plans.AtLeast1,
	Labels: []lang.Label{{Name: "name", Doc: "What is shown, as a phrase of one line. Unique beside the plan."}},
	Doc:    "One test of a gate or of a feature's criteria. What it does not give is missing, as in life.",
	Attrs: append([]plans.Attr{
		{Name: "feature", Type: plans.Reference, Ref: "feature", Doc: "The feature whose criteria are decided. This, or `gate`."},
		{Name: "gate", Type: plans.Reference, Ref: "phase", Doc: "The phase whose gate is decided. This, or `feature`."},
		{Name: "expect", Type: plans.String, OneOf: caseVerdicts, Doc: "The verdict of the whole: of the gate, or of the feature with its levels."},
		{Name: "expect_rules", Type: verdicts, Doc: "Verdicts of single rules or criteria by name, where they matter."},
		{Name: "expect_chosen", Type: plans.String, Doc: "The value that should win, of a feature that chooses among several."},
	}, givenAttrs...),
	Blocks: []*lang.BlockDoc{givenDoc},
	Example: `case "a clear gain passes" {
  feature = feature.gemm
  launches = {
    "chat.tg"       = { base = [31.6, 31.8, 31.6, 31.9], candidate = [38.4, 38.6, 38.5, 38.4] }
    "gpu.memory_gb" = { base = 60, delta = 1 }
  }
  expect = "pass"
}

case "kernels that were not proven" {
  gate     = phase.cutlass
  broken   = "kernels"
  launches = { "chat.tg" = { gain = 0.2 } }
  expect   = "invalid"
}`,
}

var givenDoc = &lang.BlockDoc{
	Type: "given", Times: plans.AnyTimes,
	Labels: []lang.Label{{Name: "feature", Doc: "Whose: a feature that the gate decides over or reads, or what a feature is decided from: `spec[short]` for an alternative, `gemm@production` for a confirmation."}},
	Doc:    "What was measured of one feature, where there are several. A case about one feature writes the same attributes without the block.",
	Attrs:  givenAttrs,
	Example: `given "gemm" {
  launches = { "chat.tg" = { gain = 0.2 } }
  verdict  = "pass"
}`,
}

var givenAttrs = []plans.Attr{
	{Name: "launches", Type: measurements, Doc: "What each launch measured, by metric address, in the metric's own unit. An address without statistic is the median within a launch. See below."},
	{Name: "levels", Type: verdicts, Doc: "Verdicts of the protocol's levels. One that is not `pass` makes what was measured invalid (broken, where it is `error`)."},
	{Name: "broken", Type: plans.String, Doc: "The level that failed: those before it passed, those after it are invalid, and no measurement counts."},
	{Name: "knobs", Type: plans.Choices, Doc: "Knob values of the candidate where they differ from what the plan sets."},
	{Name: "observed", Type: plans.Values, Doc: "Words and truths that the engine says of itself in every launch of the candidate. Numbers stand in `launches`, as `engine.observed.<name>`."},
	{Name: "verdict", Type: plans.String, OneOf: caseVerdicts, Doc: "How the feature itself came out, for gates that read it."},
	{Name: "accepted", Type: plans.Bool, Doc: "Whether it entered the stack. Without it, whether the verdict is `pass`."},
	{Name: "noise", Type: noiseRecords, Doc: "Launch noise that was recorded before, as in `{ \"chat.tg\" = { sd = 0.004, df = 9 } }`: the standard deviation of the logs of launches. From 8 degrees of freedom on, rules are looked at from 3 launches."},
}
