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

// caseVerdicts are the verdicts that a case may expect, or give. Cases are never
// overridden.
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
	Doc:    "Tests of the rules of the plan in the same folder: given these measurements, expect this verdict.",
	Blocks: []*lang.BlockDoc{caseDoc},
}

var caseDoc = &lang.BlockDoc{
	Type: "case", Times: plans.AtLeast1,
	Labels: []lang.Label{{Name: "name", Doc: "What the case shows, as a one-line phrase. Unique among the plan's cases."}},
	Doc:    "One test of a gate or of a feature's criteria. Values that it does not give are missing, as in a real run.",
	Attrs: append([]plans.Attr{
		{Name: "feature", Type: plans.Reference, Ref: "feature", Doc: "The feature whose criteria are decided. Either this or `gate`."},
		{Name: "gate", Type: plans.Reference, Ref: "phase", Doc: "The phase whose gate is decided. Either this or `feature`."},
		{Name: "expect", Type: plans.String, OneOf: caseVerdicts, Doc: "The overall verdict: of the gate, or of the feature with its levels."},
		{Name: "expect_rules", Type: verdicts, Doc: "Verdicts of single rules or criteria, by name."},
		{Name: "expect_chosen", Type: plans.String, Doc: "The value that should win, for a feature that chooses among several."},
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
	Labels: []lang.Label{{Name: "feature", Doc: "The feature: one that the gate decides on or reads, or a part of the decided one: `spec[short]` for an alternative, `gemm@production` for a confirmation."}},
	Doc:    "Measurements of one feature, if there are several. A case about one feature writes the same attributes without the block.",
	Attrs:  givenAttrs,
	Example: `given "gemm" {
  launches = { "chat.tg" = { gain = 0.2 } }
  verdict  = "pass"
}`,
}

var givenAttrs = []plans.Attr{
	{Name: "launches", Type: measurements, Doc: "The value of each launch, by metric address, in the metric's unit. An address without a statistic is the median within a launch. See below."},
	{Name: "levels", Type: verdicts, Doc: "Verdicts of the protocol's levels. One that is not `pass` makes the measurements invalid (or an error, if it is `error`)."},
	{Name: "broken", Type: plans.String, Doc: "The level that failed: levels before it passed, levels after it are invalid, and no measurement counts."},
	{Name: "knobs", Type: plans.Choices, Doc: "Knob values of the candidate that differ from those that the plan sets."},
	{Name: "observed", Type: plans.Values, Doc: "Text and boolean observations of the engine, the same in every launch of the candidate. Numbers go into `launches`, as `engine.observed.<name>`."},
	{Name: "verdict", Type: plans.String, OneOf: caseVerdicts, Doc: "The feature's own verdict, for gates that read it."},
	{Name: "accepted", Type: plans.Bool, Doc: "Whether it entered the stack. By default, if the verdict is `pass`."},
	{Name: "noise", Type: noiseRecords, Doc: "Launch-to-launch variance recorded earlier, as in `{ \"chat.tg\" = { sd = 0.004, df = 9 } }`: the standard deviation of the logs of launches. With 8 degrees of freedom or more, the first look is at 3 launches."},
}
