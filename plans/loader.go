package plans

import (
	"fmt"
	"path/filepath"

	"github.com/hashicorp/hcl/v2"
)

// loader is one Load in progress: what it has found so far.
type loader struct {
	plan  *Plan
	reg   *Registry
	opts  Options
	diags hcl.Diagnostics

	src []byte
	// loops are the offsets of the for expressions in the text.
	loops   []int
	eval    evaluation
	symbols symbols
	schemas map[string]*hcl.BodySchema
	checks  crossChecks
	// unordered is set when the graph has a circle, or is too large to be
	// looked at whole, so that nothing walks it.
	unordered bool
	// settings are what knobs may set; see knobSettings.
	settings *knobSettings
	// protocolsInDoubt is set when a protocol, or the choice of one, is wrong.
	protocolsInDoubt bool
	// suggestions is how many more spelling suggestions this load will make.
	suggestions int
}

func newLoader(filename string, reg *Registry, opts Options) *loader {
	if reg == nil {
		reg = &Registry{}
	}
	return &loader{
		plan:        &Plan{File: filename, Dir: filepath.Dir(filename)},
		reg:         reg,
		opts:        opts,
		symbols:     symbols{},
		schemas:     map[string]*hcl.BodySchema{},
		checks:      crossChecks{knobs: map[string]*Knob{}, features: map[string]*featureNotes{}},
		suggestions: 200,
	}
}

// load decodes in three passes: names, so that a reference may stand before
// what it refers to; bodies; then what needs the whole plan.
func (l *loader) load(body hcl.Body) {
	content := l.content(body, rootSchema, "a plan")
	blocks := content.Blocks.ByType()
	phases := l.declareAll(content.Blocks)

	l.buildScope()
	l.decodeVariables(blocks["variable"])
	l.decodeLocals(blocks["locals"])

	l.decodePlan(blocks["plan"])
	for _, b := range content.Blocks {
		switch b.Type {
		case "engine":
			l.decodeEngine(b)
		case "knob":
			l.decodeKnob(b)
		case "workload":
			l.decodeWorkload(b)
		case "protocol":
			l.decodeProtocol(b)
		case "target":
			l.decodeTarget(b)
		}
	}
	l.decodeBaseline(blocks["baseline"])
	for _, ph := range phases {
		l.decodePhase(ph)
	}
	if !l.unordered {
		l.checkPlan()
	}
}

// fail reports an error: what is wrong in a few words, then how to mend it.
func (l *loader) fail(at hcl.Range, summary, format string, args ...any) {
	detail := format
	if len(args) > 0 {
		detail = fmt.Sprintf(format, args...)
	}
	l.diags = append(l.diags, &hcl.Diagnostic{
		Severity: hcl.DiagError, Summary: summary, Detail: detail, Subject: &at,
	})
}

// start is where a mistake of the whole file is reported.
func (l *loader) start() hcl.Range { return startOf(l.plan.File) }

func startOf(filename string) hcl.Range {
	return hcl.Range{Filename: filename, Start: hcl.InitialPos, End: hcl.InitialPos}
}
