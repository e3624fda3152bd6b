package plans

import (
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
)

// compileRules compiles every rule of p strictly against the typed environment
// that the plan declares, and sets their Program.
func compileRules(p *Plan, files map[string]*hcl.File) hcl.Diagnostics {
	var diags hcl.Diagnostics
	ns := newNamespace(p)
	ancestors := phaseAncestors(p)
	for _, ph := range p.Phases {
		for _, f := range ph.Features {
			sc := &scope{own: f, criterion: true}
			for _, r := range f.Criteria {
				diags = append(diags, ns.compileInto(r, sc, files)...)
			}
			diags = append(diags, ns.hypothesis(f)...)
		}
		if ph.Gate == nil {
			continue
		}
		sc := ns.gateScope(ph, ancestors[ph.Name])
		for _, r := range ph.Gate.Rules {
			diags = append(diags, ns.compileInto(r, sc, files)...)
		}
	}
	return diags
}

// gateScope lets a gate read the features of its phase and of every phase that
// it comes after: those are decided when the gate is.
func (ns *namespace) gateScope(ph *Phase, ancestors map[string]bool) *scope {
	sc := &scope{visible: map[string]*Feature{}}
	for _, other := range ns.plan.Phases {
		if other == ph || ancestors[other.Name] {
			for _, f := range other.Features {
				sc.visible[f.Name] = f
			}
		}
	}
	for _, f := range ph.Features {
		sc.candidates = append(sc.candidates, f.Name)
	}
	if len(ph.Features) == 1 {
		sc.own = ph.Features[0]
	}
	return sc
}

// phaseAncestors maps each phase to all phases it comes after.
func phaseAncestors(p *Plan) map[string]map[string]bool {
	direct := map[string][]string{}
	for _, ph := range p.Phases {
		direct[ph.Name] = append(append([]string(nil), ph.After...), ph.AfterDecided...)
	}
	all := map[string]map[string]bool{}
	var visit func(name string) map[string]bool
	visit = func(name string) map[string]bool {
		if set, ok := all[name]; ok {
			return set
		}
		set := map[string]bool{}
		all[name] = set // also ends a cycle, which is reported elsewhere
		for _, a := range direct[name] {
			set[a] = true
			for b := range visit(a) {
				set[b] = true
			}
		}
		return set
	}
	for _, ph := range p.Phases {
		visit(ph.Name)
	}
	return all
}

func (ns *namespace) compileInto(r *Rule, sc *scope, files map[string]*hcl.File) hcl.Diagnostics {
	if r.Expr == "" {
		return nil // reported by the decoder
	}
	program, errs := ns.compile(r.Expr, sc)
	var diags hcl.Diagnostics
	for _, e := range errs {
		diags = append(diags, e.diagnostic(r.ExprRange, r.Expr, files))
	}
	r.Program = program
	return diags
}

// hypothesis checks that the claim names a metric that will be measured.
func (ns *namespace) hypothesis(f *Feature) hcl.Diagnostics {
	h := f.Hypothesis
	if h == nil || h.Metric == "" {
		return nil
	}
	_, errs := ns.compile(h.Metric+" > 0", &scope{own: f, criterion: true})
	if len(errs) == 0 {
		return nil
	}
	e := errs[0]
	e.at = -1
	return hcl.Diagnostics{e.diagnostic(h.Range, "", nil)}
}

// diagnostic points into the plan file where the rule stands there letter by
// letter, and at the whole expression where escapes or a heredoc are in between.
func (e *ruleError) diagnostic(at Range, src string, files map[string]*hcl.File) *hcl.Diagnostic {
	d := &hcl.Diagnostic{Severity: hcl.DiagError, Summary: e.summary, Detail: e.detail}
	whole := hcl.Range{
		Filename: at.File,
		Start:    hcl.Pos{Line: at.Start.Line, Column: at.Start.Column, Byte: at.Start.Byte},
		End:      hcl.Pos{Line: at.End.Line, Column: at.End.Column, Byte: at.End.Byte},
	}
	d.Subject = &whole
	if f := files[at.File]; f != nil && e.at >= 0 && at.Start.Line == at.End.Line && at.End.Byte <= len(f.Bytes) {
		text := string(f.Bytes[at.Start.Byte:at.End.Byte])
		if text == `"`+src+`"` {
			from, to := byteOffset(src, e.at), byteOffset(src, e.at+e.length)
			whole.Start.Byte += 1 + from
			whole.Start.Column += 1 + e.at
			whole.End = hcl.Pos{Line: at.Start.Line, Column: whole.Start.Column + max(1, utf8.RuneCountInString(src[from:to])), Byte: at.Start.Byte + 1 + to}
		}
	}
	return d
}

func byteOffset(s string, runes int) int {
	n := 0
	for i := range s {
		if n == runes {
			return i
		}
		n++
	}
	return len(s)
}
