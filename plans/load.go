package plans

import (
	"fmt"
	"path/filepath"
	"runtime/debug"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/plans/redact"
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
	// Guard, where set, watches over time and memory of the load.
	Guard *Guard
	// Suite is the name of the suite that benchmarks send; empty is what they name.
	Suite string
	// As, where set, are the inputs of another load that this one is to come out
	// as: they stand in the place of all others, except for those that are private.
	As *Inputs
	// Unproven only warns of knob values without evidence: whoever starts an
	// engine to find its evidence has none yet.
	Unproven bool
}

// Result is a loaded plan with everything needed to tell a person about it.
type Result struct {
	// Plan is what could be decoded. It is whole only if OK says so, and never
	// nil.
	Plan *Plan
	Findings
	// Source is the text of the first file, and Sources that of all files that
	// the plan is made of, by name.
	Source  []byte
	Sources map[string][]byte

	// loaded is the load that made it, with the scope of its expressions.
	loaded *loader
}

// scope is the scope of the plan's expressions, and guard what watched the load: for
// who reads more in it, and not at the same time as others do.
func (r *Result) scope() *evalScope { return r.loaded.evalScope }
func (r *Result) guard() *Guard     { return r.loaded.opts.Guard }

// Load reads, decodes and checks the plan at path: a file, or a folder whose
// plan files together are the plan. It finds everything that is wrong at once
// and starts nothing. Besides the plan it reads what the plan includes or names
// in file(), and the files of variables.
func Load(path string, reg *Registry, opts Options) *Result {
	l := newLoader(path, reg, opts)
	return l.guarded(func() { l.readPlan(path) })
}

// LoadBytes is Load for a plan file that is in memory; filename is used in
// diagnostics and to find the plan's folder.
func LoadBytes(filename string, src []byte, reg *Registry, opts Options) *Result {
	l := newLoader(filename, reg, opts)
	return l.guarded(func() { l.addSource(filename, src, nil) })
}

// guarded reads the files, then loads what is in them. A plan is foreign input:
// a mistake in this package or in a parser must end as a message, not as a dead
// process.
func (l *loader) guarded(read func()) (res *Result) {
	stop := l.opts.Guard.watch(l.evalScope)
	defer stop()
	defer func() {
		if p := recover(); p != nil {
			l.diags = hcl.Diagnostics{{
				Severity: hcl.DiagError,
				Summary:  "Internal error while reading the plan",
				Detail:   fmt.Sprintf("This is a mistake in mxflow, please report it together with the plan: %v\n%s", p, debug.Stack()),
				Subject:  startOf(l.plan.File).Ptr(),
			}}
			l.plan = &Plan{File: l.plan.File, Dir: l.plan.Dir, Decision: ownDecision()}
			res = l.result()
		}
	}()
	read()
	if l.unreadable {
		// Decoding around a syntax error would report things as missing that
		// are merely unreadable.
		return l.result()
	}
	l.load()
	if !l.unordered && len(l.doubted) == 0 {
		// Rules would miss what could not be made, too.
		ns := newNamespace(l.plan)
		l.at("rules", hcl.Range{Filename: l.plan.File})
		l.diags = append(l.diags, l.withoutEchoes(compileRules(ns, l.files()))...)
		l.at("checks", hcl.Range{Filename: l.plan.File})
		if !l.diags.HasErrors() {
			l.diags = append(l.diags, checkSense(l.plan, ns, l.evalScope)...)
		}
	}
	return l.result()
}

func (l *texts) files() map[string]*hcl.File {
	files := map[string]*hcl.File{}
	for name, s := range l.sources {
		files[name] = &hcl.File{Body: s.body, Bytes: s.text}
	}
	return files
}

func (l *loader) result() *Result {
	l.plan.Hidden = l.secrets.list()
	hide := redact.New(append(l.secrets.list(), l.secrets.unseen...))
	res := &Result{Plan: l.plan, Findings: Findings{Files: l.files()}, Sources: map[string][]byte{}, loaded: l}
	for i, name := range l.order {
		s := l.sources[name]
		if i == 0 {
			res.Source = s.text
		}
		res.Sources[name] = s.text
		res.Files[name].Bytes = hide.Bytes(s.text)
	}
	l.explainAll(l.diags)
	for _, d := range l.diags {
		d.Summary, d.Detail = hide.Text(d.Summary), hide.Text(d.Detail)
	}
	res.Diagnostics = tidyDiagnostics(l.diags, l.order)
	return res
}

// brokenSyntax tells parse errors from an attribute that is set twice, which
// the parser reports as well but which hides nothing else.
func brokenSyntax(diags hcl.Diagnostics) bool {
	for _, d := range diags {
		if d.Severity == hcl.DiagError && d.Summary != "Attribute redefined" {
			return true
		}
	}
	return false
}

// echoes are complaints of rules about what their protocol lacks.
var echoes = map[string]bool{"Workload is not measured": true, "Level not in the protocol": true}

// withoutEchoes drops complaints that only repeat a mistake in a protocol, or
// in the choice of one, which has been reported where it stands.
func (l *loader) withoutEchoes(diags hcl.Diagnostics) (kept hcl.Diagnostics) {
	for _, d := range diags {
		if !l.protocolsInDoubt || !echoes[d.Summary] {
			kept = append(kept, d)
		}
	}
	return kept
}

// folderOf is the folder that paths in a plan are relative to.
func folderOf(path string) string {
	if isFolder(path) {
		return filepath.Clean(path)
	}
	return filepath.Dir(path)
}
