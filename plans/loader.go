package plans

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
)

// report collects what a load finds wrong.
type report struct {
	diags hcl.Diagnostics
	// evaluated are the expressions so far, by where they stand.
	evaluated map[hcl.Range]evaluated
	// suggestions is how many more spelling suggestions this load will make.
	suggestions int
}

// texts are the files of a plan.
type texts struct {
	// named is the path as it was given.
	named string
	// sources are the files by name, order their names as they were read.
	sources map[string]*source
	order   []string
}

// loader is one Load in progress: what it has found so far.
type loader struct {
	*evalScope
	plan *Plan
	reg  *Registry
	opts Options

	// open are the files whose includes are being followed.
	open []string
	// unreadable is set when a file could not be read or parsed.
	unreadable bool

	// settling is set while it is not known yet which blocks there are.
	settling *settling
	// phases are the opened bodies of phases.
	phases map[*instance]*phaseBlock
	// datasets are the files of prompts that were read, by path.
	datasets map[string]readOnce
	schemas  map[string]*hcl.BodySchema
	checks   crossChecks
	// cells counts those of all workloads.
	cells int
	// made counts the blocks that for_each, count and dynamic have made.
	made int
	// unordered is set when the graph has a circle, or is too large to be
	// looked at whole, so that nothing walks it.
	unordered bool
	// settings are what knobs may set; see knobSettings.
	settings *knobSettings
	// addedSettings are those that blocks of engines add to their kinds, and
	// unknownSettings those of knobs that no kind has; see checkUnknownSettings.
	addedSettings   map[string]bool
	unknownSettings []unknownSetting
	// protocolsInDoubt is set when a protocol, or the choice of one, is wrong.
	protocolsInDoubt bool
}

func newLoader(path string, reg *Registry, opts Options) *loader {
	if reg == nil {
		reg = &Registry{}
	}
	l := &loader{
		evalScope: newScope(path),
		plan:      &Plan{File: path, Dir: folderOf(path), Decision: ownDecision()},
		reg:       reg,
		opts:      opts,
		schemas:   map[string]*hcl.BodySchema{},
		phases:    map[*instance]*phaseBlock{},
		checks:    crossChecks{knobs: map[string]*Knob{}, features: map[string]*featureNotes{}},
	}
	l.dir, l.replays, l.env, l.language = l.plan.Dir, opts.As != nil, l.environment, planBlock
	l.whole = rootSchema
	l.before = func(uses []hcl.Traversal) bool { return l.settling == nil || l.settling.need(uses) }
	return l
}

// load decodes in passes: labels, so that a reference may stand before what it
// refers to; variables and locals, and which blocks for_each and count make, in
// the order of what they need; bodies; then what needs the whole plan.
func (l *loader) load() {
	all := l.planBlocks()
	blocks := all.ByType()
	l.declareNames(all)
	l.decodeVariables(blocks["variable"])
	generated := l.settle(all)
	l.closeScope()

	l.decodePlan(blocks["plan"])
	l.chooseSuite()
	for _, g := range generated {
		l.decodeGroup(g)
	}
	l.checkUnknownSettings()
	l.decodeBaseline(blocks["baseline"])
	l.decodeDecision(blocks["decision"])
	for _, g := range generated {
		if g.kind == "phase" {
			for _, i := range g.instances {
				l.within(i, func() { l.decodePhase(l.phases[i]) })
			}
		}
	}
	if !l.unordered {
		l.checkPlan()
	}
}

// decodeGroup decodes what one block has made.
func (l *loader) decodeGroup(g *group) {
	decode := map[string]func(*hcl.Block){
		"engine": l.decodeEngine, "knob": l.decodeKnob, "workload": l.decodeWorkload,
		"suite": l.decodeSuite, "protocol": l.decodeProtocol, "target": l.decodeTarget, "imported": l.decodeImported,
	}[g.kind]
	if decode == nil {
		return
	}
	for _, i := range g.instances {
		l.within(i, func() { decode(i.block) })
	}
}

// fail reports an error: what is wrong in a few words, then how to mend it.
func (l *report) fail(at hcl.Range, summary, format string, args ...any) {
	l.note(hcl.DiagError, at, summary, format, args...)
}

func (l *report) warn(at hcl.Range, summary, format string, args ...any) {
	l.note(hcl.DiagWarning, at, summary, format, args...)
}

func (l *report) note(severity hcl.DiagnosticSeverity, at hcl.Range, summary, format string, args ...any) {
	detail := format
	if len(args) > 0 {
		detail = fmt.Sprintf(format, args...)
	}
	d := &hcl.Diagnostic{Severity: severity, Summary: summary, Detail: detail, Subject: &at}
	l.explain(d)
	l.diags = append(l.diags, d)
}

// start is where a mistake of the whole plan is reported.
func (l *texts) start() hcl.Range {
	if len(l.order) > 0 {
		return startOf(l.order[0])
	}
	return startOf(l.named)
}

func startOf(filename string) hcl.Range {
	return hcl.Range{Filename: filename, Start: hcl.InitialPos, End: hcl.InitialPos}
}

// seenAt words where something stands, for a mistake at another place.
func seenAt(first, now hcl.Range) string {
	if first.Filename != now.Filename {
		return fmt.Sprintf("on line %d of %s", first.Start.Line, first.Filename)
	}
	return fmt.Sprintf("on line %d", first.Start.Line)
}

// textAt is the text of the plan from where a range begins.
func (l *texts) textAt(at hcl.Range) []byte {
	s := l.sources[at.Filename]
	if s == nil || at.Start.Byte >= len(s.text) {
		return nil
	}
	return s.text[at.Start.Byte:]
}

// ownDecision is the usual decision, for a plan to change.
func ownDecision() *Decision {
	d := usual
	return &d
}
