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
	Protocols []*Protocol
	Targets   []*Target
	Baseline  *Baseline
	Phases    []*Phase

	Range Range `json:"-"`
}

// rootSchema is what may stand at the top level of a plan.
var rootSchema = &hcl.BodySchema{
	Blocks: []hcl.BlockHeaderSchema{
		{Type: "plan", LabelNames: []string{"name"}},
		{Type: "variable", LabelNames: []string{"name"}},
		{Type: "locals"},
		{Type: "engine", LabelNames: []string{"kind", "name"}},
		{Type: "knob", LabelNames: []string{"name"}},
		{Type: "workload", LabelNames: []string{"name"}},
		{Type: "protocol", LabelNames: []string{"name"}},
		{Type: "target", LabelNames: []string{"name"}},
		{Type: "baseline"},
		{Type: "phase", LabelNames: []string{"name"}},
	},
}

var planSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "summary"}}}

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
