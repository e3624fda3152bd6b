package plans

import (
	"fmt"
	"path/filepath"
	"runtime/debug"

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
	if !l.unordered {
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
