package load

import (
	"encoding/json"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

// fileDoc is what may be at the top level of a plan.
var fileDoc = &lang.BlockDoc{
	Times: plans.Once,
	Doc:   "A plan of mxflow: which performance features are ported, how each is measured, and which rules decide.",
	Attrs: []plans.Attr{
		{Name: "include", Type: plans.Strings, Doc: "Files whose blocks are part of the plan, such as engines and protocols that a team shares. Paths are relative to the file; each file counts once. Read before anything is evaluated, so only plain text."},
	},
	Blocks: []*lang.BlockDoc{
		planDoc, variableDoc, localsDoc, engineDoc, knobDoc, workloadDoc, suiteDoc, protocolDoc, targetDoc, importedDoc, baselineDoc, executorDoc, decisionDoc, phaseDoc,
	},
}

// Describe is the whole language: the blocks of this package with the levels,
// steps and engine kinds of reg in their places. The result may be changed.
func Describe(reg *plans.Registry) *lang.BlockDoc {
	if reg == nil {
		reg = &plans.Registry{}
	}
	return fileDoc.With(reg)
}

// JSONSchema describes plans in YAML for editors, made from the same description as
// decoders and manual. Block types are keys, labels the keys below them, and at each
// level a list may stand for several; a text with ${ } or %{ } is allowed wherever a
// value is.
func JSONSchema(reg *plans.Registry) ([]byte, error) {
	return json.MarshalIndent(lang.JSONSchema(Describe(reg), "mxflow plan"), "", "  ")
}
