// Package plans turns a plan file into a Plan, or into diagnostics that say
// what is wrong, where, and how to mend it. It knows the language: blocks,
// references, rules and their typed environment. It does not know how anything
// is run; what levels, steps and engine kinds accept reaches it as a Registry.
//
// One block, one file: the struct, its schema and its decoder stand together.
package plans

import (
	"regexp"

	"github.com/hashicorp/hcl/v2"
)

// Plan is a decoded, checked plan. Everything in it is resolved: variables and
// locals are gone, references are names that exist.
type Plan struct {
	Name    string
	Summary string
	// File is the path as it was given; Dir the folder it lies in.
	File string `json:"-"`
	Dir  string `json:"-"`

	Variables []*Variable
	Engines   []*Engine
	Knobs     []*Knob
	Workloads []*Workload
	Suites    []*Suite
	// Suite is the name of the suite that was chosen (--suite), empty for what
	// the benchmark itself names.
	Suite     string
	Protocols []*Protocol
	Targets   []*Target
	Imported  []*Imported
	Baseline  *Baseline
	// Decision is never nil after Load.
	Decision *Decision `json:",omitempty"`
	Phases   []*Phase

	Range Range `json:"-"`

	// Hidden are the sensitive texts that a load came across; see Secrets.
	Hidden []string `json:"-"`
}

// Secrets are the sensitive texts that a load came across, those computed from
// sensitive values too. The plan keeps them in what it starts (env, args,
// settings, command); everything else has to take them out (see plans/redact).
func (p *Plan) Secrets() []string { return append([]string(nil), p.Hidden...) }

// fileDoc is what may stand at the top level of a plan.
var fileDoc = &BlockDoc{
	Times: Once,
	Doc:   "A plan of mxflow: which ports of performance features are made, how each is measured, and which rules decide.",
	Attrs: []Attr{
		{Name: "include", Type: Strings, Doc: "Files whose blocks belong to the plan too, such as engines and protocols that a team shares. Paths are relative to the file; each file counts once. Read before anything is evaluated, so plain text only."},
	},
	Blocks: []*BlockDoc{
		planDoc, variableDoc, localsDoc, engineDoc, knobDoc, workloadDoc, suiteDoc, protocolDoc, targetDoc, importedDoc, baselineDoc, decisionDoc, phaseDoc,
	},
}

var planDoc = &BlockDoc{
	Type: "plan", Times: Once,
	Labels: []Label{{Name: "name", Doc: "Becomes part of file names: letters, digits and `_ . -`."}},
	Doc:    "Names the plan.",
	Attrs:  []Attr{{Name: "summary", Type: String, Doc: "What the effort is for, in one sentence."}},
	Example: `plan "mxfp4_v2" {
  summary = "Make vLLM the fastest engine for gpt-oss-120b on GB10"
}`,
}

var (
	rootSchema = fileDoc.schema()
	planSchema = planDoc.schema()
)

// planName also becomes part of file names, so it keeps to characters that are
// plain in every file system.
var planName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$`)

// decodePlan reads the plan block, of which there is exactly one.
func (l *loader) decodePlan(blocks hcl.Blocks) {
	if len(blocks) == 0 {
		l.fail(l.start(), "Missing plan block", `A plan file has one plan block, which names it. Add: plan "name" { summary = "what it is for" }.`)
		return
	}
	b := l.single(blocks)
	name := b.Labels[0]
	if !planName.MatchString(name) {
		l.fail(b.LabelRanges[0], "Invalid plan name", "A plan's name has up to 64 letters, digits, underscores, hyphens and dots: it becomes part of file names.")
	}
	f := l.fields(b, planSchema, b.Type)
	l.plan.Name, l.plan.Summary = name, f.text("summary", "")
	l.plan.Range = rangeOf(b.DefRange)
}
