package plans

import (
	"fmt"
	"path/filepath"
	"runtime/debug"
	"sort"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Diagnostics is everything found wrong with a plan, in order of appearance.
type Diagnostics = hcl.Diagnostics

// Options are what the command line adds to a plan.
type Options struct {
	// Vars are values for the plan's variables, as text (--var name=value).
	Vars map[string]string
}

// Result is a loaded plan with everything needed to tell a person about it.
type Result struct {
	// Plan is what could be decoded. It is whole only if OK says so, and never
	// nil.
	Plan *Plan
	// Diagnostics are sorted by position.
	Diagnostics Diagnostics
	// Files and Source are the text that the diagnostics point into.
	Files  map[string]*hcl.File
	Source []byte
}

// OK reports whether the plan is free of errors and may be used.
func (r *Result) OK() bool { return !r.Diagnostics.HasErrors() }

// Load reads, decodes and checks the plan file at path. It finds everything
// that is wrong at once, starts nothing, and does no I/O but reading that file.
func Load(path string, reg *Registry, opts Options) *Result {
	src, diag := readSource(path)
	if diag != nil {
		return failed(path, src, diag)
	}
	return LoadBytes(path, src, reg, opts)
}

// LoadBytes is Load for a plan that is in memory; filename is used in
// diagnostics and to find the plan's folder.
func LoadBytes(filename string, src []byte, reg *Registry, opts Options) (res *Result) {
	loops, diag := checkSource(filename, src)
	if diag != nil {
		return failed(filename, src, diag)
	}
	// A plan is foreign input: a mistake in this package or in a parser must
	// end as a message, not as a dead process.
	defer func() {
		if p := recover(); p != nil {
			res = failed(filename, src, &hcl.Diagnostic{
				Severity: hcl.DiagError,
				Summary:  "Internal error while reading the plan",
				Detail:   fmt.Sprintf("This is a mistake in mxflow, please report it together with the plan: %v\n%s", p, debug.Stack()),
				Subject:  startOf(filename).Ptr(),
			})
		}
	}()
	file, diags := hclsyntax.ParseConfig(src, filename, hcl.InitialPos)
	if brokenSyntax(diags) {
		// Decoding around a syntax error would report things as missing that
		// are merely unreadable.
		return failed(filename, src, diags...)
	}
	l := newLoader(filename, reg, opts)
	l.src, l.loops = src, loops
	l.diags = diags
	l.load(file.Body)
	files := map[string]*hcl.File{filename: file}
	if !l.cyclic {
		l.diags = append(l.diags, l.withoutEchoes(compileRules(l.plan, files))...)
	}
	return &Result{Plan: l.plan, Diagnostics: tidyDiagnostics(l.diags), Files: files, Source: src}
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

func failed(filename string, src []byte, diags ...*hcl.Diagnostic) *Result {
	return &Result{
		Plan:        &Plan{File: filename, Dir: filepath.Dir(filename)},
		Diagnostics: tidyDiagnostics(diags),
		Files:       map[string]*hcl.File{filename: {Bytes: src}},
		Source:      src,
	}
}

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
	// cyclic is set when the graph has no order, so that nothing walks it.
	cyclic bool
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
	l.checkPlan()
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

// maxDiagnostics bounds what a plan that is not a plan can make us print.
const maxDiagnostics = 500

// tidyDiagnostics sorts by position and drops repetitions.
func tidyDiagnostics(diags hcl.Diagnostics) hcl.Diagnostics {
	offset := func(d *hcl.Diagnostic) int {
		if d.Subject == nil {
			return -1
		}
		return d.Subject.Start.Byte
	}
	sort.SliceStable(diags, func(i, j int) bool { return offset(diags[i]) < offset(diags[j]) })
	type key struct {
		at              int
		summary, detail string
	}
	seen := map[key]bool{}
	var kept hcl.Diagnostics
	for _, d := range diags {
		k := key{offset(d), d.Summary, d.Detail}
		if seen[k] {
			continue
		}
		seen[k] = true
		kept = append(kept, d)
	}
	if n := len(kept); n > maxDiagnostics {
		kept = append(kept[:maxDiagnostics:maxDiagnostics], &hcl.Diagnostic{
			Severity: hcl.DiagError,
			Summary:  "Too many errors",
			Detail:   fmt.Sprintf("%d more were found. Mend these first.", n-maxDiagnostics),
			Subject:  kept[maxDiagnostics].Subject,
		})
	}
	return kept
}
