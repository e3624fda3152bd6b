// Package load makes a plan from files, or reports mistakes with their place and remedy:
// it follows includes, reads variables, expands for_each, and decodes each type of block,
// in one file per type. A plans.Registry declares the content of levels, steps and engine
// kinds. It starts nothing and knows nothing about a run.
package load

import (
	"path/filepath"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/lint"
	"github.com/mxflow/mxflow/plans/rules"
)

// Options are what the command line adds to a plan.
type Options struct {
	// Inputs are --var and --var-file in the order of the command line.
	Inputs []Given
	// Vars are values for the plan's variables, as text; they come after Inputs.
	Vars map[string]string
	// Env looks up environment variables, for MXFLOW_VAR_name and env(); nil is
	// the environment of the process.
	Env func(name string) (string, bool)
	// Suite is the name of the suite that benchmarks send; if empty, they send what they
	// name.
	Suite string
	// Question is HCL with a baseline, phases and perhaps a decision in place of the plan's own: something else
	// that is asked of its engines and workloads, as bisect does.
	Question string
	// Launches is the maximum per arm in place of what benchmarks set; 0 leaves it to them.
	Launches int
	// As, if set, are the inputs of an earlier load that this one must reproduce: they
	// replace all others, except for private ones.
	As *plans.Inputs
	// Anew are variables that get another value than As has.
	Anew []Given
	// Unproven only warns of knob values without evidence: a caller that starts an engine
	// to find evidence has none yet.
	Unproven bool
}

// Result is a loaded plan with everything needed to report on it to a person.
type Result struct {
	// Plan is what could be decoded. It is complete only if OK reports true, and never
	// nil.
	Plan *plans.Plan
	lang.Findings
	// Source is the text of the first file, and Sources that of all files of the plan, by
	// name.
	Source  []byte
	Sources map[string][]byte

	// loaded is the load that made it, with the scope of its expressions.
	loaded *loader
}

// Path reads, decodes and checks the plan at path: a file, or a folder whose plan files
// together are the plan. It finds all mistakes at once and starts nothing. Besides the
// plan it reads what the plan includes or names in file(), and the files of variables.
func Path(path string, reg *plans.Registry, opts Options) *Result {
	l := newLoader(path, reg, opts)
	return l.readAndLoad(func() { l.readPlan(path) })
}

// Bytes is Path for a plan file that is in memory; filename is used in
// diagnostics and to find the plan's folder.
func Bytes(filename string, src []byte, reg *plans.Registry, opts Options) *Result {
	l := newLoader(filename, reg, opts)
	return l.readAndLoad(func() { l.addSource(filename, src, nil) })
}

// readAndLoad reads the files, then loads what is in them.
func (l *loader) readAndLoad(read func()) *Result {
	whole := false
	l.survive(l.plan.File, func() {
		read()
		if q := l.opts.Question; q != "" {
			l.addSource(filepath.Join(l.plan.Dir, verdict.Question), []byte(q), nil)
		}
		// Decoding around a syntax error would report things as missing that are
		// merely unreadable.
		if !l.unreadable {
			l.load()
			l.check()
		}
		whole = true
	})
	if !whole {
		decision := plans.UsualDecision()
		l.plan = &plans.Plan{File: l.plan.File, Dir: l.plan.Dir, Decision: &decision}
	}
	l.plan.Hidden = l.Secrets.List()
	res := &Result{Plan: l.plan, Findings: lang.Findings{Files: l.Files()}, Sources: map[string][]byte{}, loaded: l}
	hide := l.tidy(l.Order, &res.Findings)
	for i, name := range l.Order {
		s := l.Sources[name]
		if i == 0 {
			res.Source = s.Text
		}
		res.Sources[name] = s.Text
		res.Files[name].Bytes = hide.Mask(s.Text)
	}
	return res
}

// check compiles the rules of a loaded plan, and checks one without errors for what was
// hardly meant. It does nothing if blocks could not be made, as rules would miss those
// too.
func (l *loader) check() {
	if l.circular || len(l.Doubted) > 0 {
		return
	}
	ns := rules.New(l.plan)
	for _, d := range rules.CompileAll(ns, l.Files()) {
		// A mistake in a protocol, or in the choice of one, has been reported at its place.
		if !l.protocolsInDoubt || !rules.OfProtocol(d) {
			l.Diags = append(l.Diags, d)
		}
	}
	l.plan.IndexRules()
	if !l.Diags.HasErrors() {
		l.Diags = append(l.Diags, lint.Check(l.plan, ns, l.Scope, l.reg)...)
	}
}

// loader is one load in progress: what it has found so far.
type loader struct {
	*eval.Scope
	plan *plans.Plan
	reg  *plans.Registry
	opts Options

	// unreadable is set when a file could not be read or parsed.
	unreadable bool
	// declared are the plan's variables, given what they got from outside.
	declared map[string]*input

	// Locals may refer to blocks, and for_each uses locals to decide which blocks there
	// are, so both are evaluated in the order of their dependencies: each node when
	// another one asks for it. settling is set until it is known which blocks there are.
	settling    bool
	locals      map[string]*hcl.Attribute
	localValues map[string]cty.Value
	// done and open are visited nodes and those being visited: "local.x",
	// "workload.chat", and "features" for the content of all phases; failed are nodes on
	// a cycle, which has been reported.
	done, open, failed map[string]bool
	path               []string
	// phases are the phases by instance, made the number of generated blocks.
	phases map[*eval.Instance]*phaseBlock
	made   int

	byName   map[string]*plans.Knob
	settings knobSettings
	observed []observedName

	features map[string]*featureNotes
	// order is the features in the order of the plan.
	order   []*featureNotes
	edges   []phaseEdge
	targets []targetNote
	// circular is set if the graph has a cycle, so nothing walks it.
	circular bool
	// protocolsInDoubt is set when a protocol, or the choice of one, is wrong.
	protocolsInDoubt bool
}

func newLoader(path string, reg *plans.Registry, opts Options) *loader {
	if reg == nil {
		reg = &plans.Registry{}
	}
	if as := opts.As; as != nil {
		opts.Suite, opts.Question, opts.Launches = as.Suite, as.Question, as.Launches
	}
	decision := plans.UsualDecision()
	l := &loader{
		Scope: eval.NewScope(path), reg: reg, opts: opts,
		plan:        &plans.Plan{File: path, Dir: filepath.Clean(lang.FolderOf(path)), Decision: &decision},
		declared:    map[string]*input{},
		localValues: map[string]cty.Value{}, done: map[string]bool{}, open: map[string]bool{},
		failed: map[string]bool{},
		phases: map[*eval.Instance]*phaseBlock{},
		byName: map[string]*plans.Knob{}, features: map[string]*featureNotes{},
	}
	l.Inputs.Dir, l.Inputs.Replays, l.Inputs.Lookup = l.plan.Dir, opts.As != nil, l.environment
	l.Whole = fileDoc
	l.Before = func(uses []hcl.Traversal) bool { return !l.settling || l.need(uses) }
	return l
}

// load decodes in passes: labels, so a reference may come before what it refers to;
// variables and locals, and which blocks for_each makes, in the order of their
// dependencies; bodies; then what needs the whole plan.
func (l *loader) load() {
	all := l.fileBlocks()
	blocks := all.ByType()
	for _, b := range all.OfType("variable") { // no expression can change their names
		l.CheckName(b, 0, 0)
		l.declare(b.Type, b.Labels[0], b.LabelRanges[0])
	}
	l.decodeVariables(blocks["variable"])
	generated := l.settle(all)

	decodePlan(l.Scope, l.plan, blocks["plan"])
	l.chooseSuite()
	decode := map[string]func(*hcl.Block){
		"knob": l.decodeKnob, "workload": l.decodeWorkload, "suite": l.decodeSuite,
		"protocol": l.decodeProtocol, "target": l.decodeTarget, "imported": l.decodeImported,
	}
	// first, as knobs set what they accept
	l.decodeGroups(generated, map[string]func(*hcl.Block){"engine": l.decodeEngine})
	l.decodeGroups(generated, decode)
	l.decodeBaseline(blocks["baseline"])
	l.decodeExecutor(blocks["executor"])
	l.decodeDecision(blocks["decision"])
	l.decodeReport(blocks["report"])
	l.decodeWatch(blocks["watch"])
	for _, g := range generated {
		if g.Kind == "phase" {
			for _, i := range g.Instances {
				l.Within(i, func() { l.decodePhase(l.phases[i]) })
			}
		}
	}
	l.checkPlan()
}

func (l *loader) decodeGroups(groups []*eval.Group, decode map[string]func(*hcl.Block)) {
	for _, g := range groups {
		if decode[g.Kind] == nil {
			continue
		}
		for _, i := range g.Instances {
			l.Within(i, func() { decode[g.Kind](l.expanded(i.Block)) })
		}
	}
}

// add puts what a block describes into the plan, unless another has its name.
func add[T any](l *loader, b *hcl.Block, list *[]T, e T) {
	if l.First(b) {
		*list = append(*list, e)
	}
}
