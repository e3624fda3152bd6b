package load

import (
	_ "embed"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
)

//go:embed examples.hcl
var examples string

// block describes a block of the plan: the tags of its struct say which labels and
// attributes it has (see plans.Fields), examples.hcl shows one.
func block(of any, d lang.BlockDoc) *lang.BlockDoc { return blockOfKind("", of, d) }

// blockOfKind is block for those with this first label.
func blockOfKind(kind string, of any, d lang.BlockDoc) *lang.BlockDoc {
	for _, f := range plans.Fields(reflect.TypeOf(of)) {
		switch {
		case f.Label:
			d.Labels = append(d.Labels, lang.Label{Name: f.Name, Doc: f.Doc})
		case f.Kinds == nil || slices.Contains(f.Kinds, kind):
			d.Attrs = append(d.Attrs, f.Attr)
		}
	}
	words := d.Type + " "
	if kind != "" {
		words += lang.Quoted(kind)
	}
	d.Example = plans.Example(examples, words)
	return &d
}

// topLevel is the content of a plan outside all blocks.
type topLevel struct {
	Include []string `hcl:"include,optional" doc:"Files whose blocks are part of the plan. So a team can share engines and protocols. Paths are relative to the file; each file counts once. Read before anything is evaluated, so only plain text."`
}

// fileDoc is what may be at the top level of a plan.
var fileDoc = &lang.BlockDoc{
	Times: plans.Once,
	Doc: "A plan of mxflow. It says which performance features are ported, how each is measured, and which rules " +
		"decide.",
	Attrs: plans.Attrs(topLevel{}),
	Blocks: []*lang.BlockDoc{
		planDoc, variableDoc, localsDoc, engineDoc, knobDoc, workloadDoc, suiteDoc, protocolDoc, targetDoc, importedDoc,
		baselineDoc, executorDoc, decisionDoc, reportDoc, watchDoc, phaseDoc,
	},
}

// TopLevel is what may be at the top level of a plan, in the order of the manual.
func TopLevel() (names []string) {
	for _, a := range fileDoc.Attrs {
		names = append(names, a.Name)
	}
	for _, b := range fileDoc.Blocks {
		names = append(names, b.Type)
	}
	return append(names, lang.DynamicType)
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

// Names are the attributes whose value is a name, so that YAML needs no ${ } around it: of
// a block, or of a type.
func Names(reg *plans.Registry) map[string]bool {
	names := map[string]bool{"iterator": true}
	var walk func(d *lang.BlockDoc)
	walk = func(d *lang.BlockDoc) {
		for _, a := range d.Attrs {
			switch a.Type {
			case plans.Reference, plans.Refs, plans.TypeExpr:
				names[a.Name] = true
			}
		}
		for _, b := range d.Blocks {
			walk(b)
		}
		for _, b := range sorted.All(d.Kinds) {
			walk(b)
		}
	}
	walk(Describe(reg))
	return names
}
