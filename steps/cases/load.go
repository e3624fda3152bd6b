package cases

import (
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/plans/rules"
)

// loader reads the cases of a loaded plan, in the scope of its expressions and with its
// limits.
type loader struct {
	*eval.Scope
	plan  *plans.Plan
	ns    *rules.Namespace
	cases []*Case
	// named are the positions of the names of cases.
	named map[string]hcl.Range
}

func newLoader(r *load.Result) *loader {
	return &loader{Scope: r.Scope(), plan: r.Plan, ns: rules.New(r.Plan), named: map[string]hcl.Range{}}
}

// Load reads case files for a plan without errors. The second result is what is wrong
// with the files; the cases may be used if it is OK. It is not safe for concurrent use.
func Load(r *load.Result, files []string) ([]*Case, *lang.Findings) {
	if len(files) == 0 {
		return nil, &lang.Findings{Files: r.Files}
	}
	l := newLoader(r)
	found := r.CompileAlone(files, func() {
		for _, path := range files {
			if text, diag := lang.ReadSource(path, "case"); diag != nil {
				l.Diags = append(l.Diags, diag)
			} else {
				l.file(path, text)
			}
		}
	})
	return l.cases, found
}

func (l *loader) file(name string, text []byte) {
	s, diags := lang.Parse(name, text)
	l.Sources[name] = s
	var blocks hcl.Blocks
	if s.Body != nil && !lang.BrokenSyntax(diags) {
		blocks = l.Content(s.Body, fileDoc.Schema(), "a file of cases").Blocks
	}
	for _, b := range blocks {
		if c := l.decode(b); c != nil {
			l.cases = append(l.cases, c)
		}
	}
	empty := slices.ContainsFunc(diags, func(d *hcl.Diagnostic) bool { return lang.CodeOf(d) == "plan-empty" })
	if !empty {
		l.Diags = append(l.Diags, diags...)
	}
	if empty || len(blocks) == 0 && !l.Diags.HasErrors() {
		example := `case "what it shows" { feature = feature.name }`
		if lang.IsYAML(name) {
			example = "case: {what it shows: {feature: feature.name}}"
		}
		l.Fail(lang.StartOf(name), "case-file-unreadable", "Case file is empty", "The file has no case. A case starts with: %s.", example)
	}
}

// decode reads one case; nil if it is unclear what it decides.
func (l *loader) decode(b *hcl.Block) *Case {
	name, at := b.Labels[0], b.LabelRanges[0]
	if strings.TrimSpace(name) != name || name == "" || len(name) > load.MaxRuleName || strings.ContainsAny(name, "\n\r") {
		l.Fail(at, "invalid-value", "Invalid case name", "The name of a case is a one-line phrase of up to %d characters, without surrounding spaces.", load.MaxRuleName)
	}
	if first, twice := l.named[name]; twice {
		l.Fail(at, "duplicate-name", "Duplicate case", "Case %q is already declared %s. Choose a name that tells the difference.", name, lang.SeenAt(first, at))
	}
	l.named[name] = at
	f := l.Fields(b, caseDoc)
	c := &Case{Name: name, Set: map[*plans.Input]any{}, ExpectRules: map[string]verdict.Verdict{}, Range: lang.RangeOf(b.DefRange)}
	scope := l.subject(f, c)
	if scope == nil {
		return nil
	}
	for _, p := range f.Pairs("set") {
		l.set(c, scope, p)
	}
	c.Expect = verdict.Verdict(f.Text("expect"))
	names, expected := plans.NamesOf(c.rules(l.plan)), f.Pairs("expect_rules")
	for _, p := range expected {
		if !slices.Contains(names, p.Key) {
			l.Fail(p.KeyAt, "unknown-reference", "Unknown rule", "There is no rule %q here.%s", p.Key, l.DidYouMean(p.Key, names))
		} else if word, ok := l.Scalar(plans.Attr{Name: p.Key, Type: plans.String, OneOf: verdicts}, p.V, p.At); ok {
			c.ExpectRules[p.Key] = verdict.Verdict(word.(string))
		}
	}
	if f.Absent("expect") && len(expected) == 0 {
		l.Fail(b.DefRange, "case-says-nothing", "Case expects nothing", `Add the expected verdict: expect = "pass", or expect_rules = { %q = "fail" } for single rules.`, names[0])
	}
	return c
}

// subject reads what a case decides, and returns the scope of its rules; nil if there is
// none.
func (l *loader) subject(f *eval.Body, c *Case) *rules.Scope {
	onFeature, onGate := !f.Absent("feature"), !f.Absent("gate")
	switch {
	case onFeature && onGate:
		l.Fail(f.At("gate"), "case-says-nothing", "Case about two things", "A case decides either the criteria of a feature or the gate of a phase. Split it into two cases.")
	case onFeature:
		if r := f.Ref("feature", "feature"); r != nil {
			c.Feature = r.Key
			return &rules.Scope{Own: l.ns.Features[r.Key], Criterion: true}
		}
	case onGate:
		r := f.Ref("gate", "phase")
		if r == nil {
			return nil
		}
		ph := l.ns.Phases[r.Key]
		if ph.Gate == nil {
			l.Fail(r.At, "case-says-nothing", "Phase has no gate", "Phase %q has no gate: it passes when its steps and features do. Add a gate to it, or test a feature.", ph.Name)
			return nil
		}
		c.Phase = ph.Name
		return l.ns.GateScope(ph)
	default:
		l.Fail(f.Def, "case-says-nothing", "Case about nothing", "Name what the case decides: feature = feature.<name> for its criteria, or gate = phase.<name> for a gate.")
	}
	return nil
}

// set reads one value. It has to be one that a rule reads from a run, under any spelling
// of its address.
func (l *loader) set(c *Case, scope *rules.Scope, p eval.Pair) {
	in, wrong := l.ns.Address(p.Key, scope)
	if wrong != nil {
		l.Fail(p.KeyAt, wrong.Code, wrong.Summary, "%s", wrong.Detail)
		return
	}
	var readers []*plans.Input
	var others []string
	for _, r := range c.rules(l.plan) {
		for _, other := range r.Inputs() {
			if other.Kind == plans.InputTarget {
				continue // which the plan itself sets
			}
			same := *other
			same.Path = in.Path
			if reflect.DeepEqual(*in, same) { // under any spelling
				readers = append(readers, other)
			} else if !slices.Contains(others, other.Path) {
				others = append(others, other.Path)
			}
		}
	}
	if len(readers) == 0 {
		l.Fail(p.KeyAt, "case-not-read", "Value is not read here", "No rule of %s reads %s from a run. They read %s.", c.Of(), p.Key, lang.OrNothing(others))
		return
	}
	value, ok := l.value(p, in)
	for _, in := range readers {
		if _, twice := c.Set[in]; twice && ok {
			l.Fail(p.KeyAt, "given-twice", "Value set twice", "%s is already set, under another spelling. Remove one.", p.Key)
			return
		}
		if ok {
			c.Set[in] = value
		}
	}
}

// value reads what an input is set to.
func (l *loader) value(p eval.Pair, in *plans.Input) (any, bool) {
	a := plans.Attr{Name: p.Key, Type: plans.Number}
	switch in.Type {
	case plans.BoolInput:
		a.Type = plans.Bool
	case plans.WordInput:
		a.Type = plans.String
		switch {
		case in.Kind == plans.InputLevel || in.Kind == plans.InputFeature:
			a.OneOf = verdicts
		case in.Kind == plans.InputKnob:
			a.OneOf = l.ns.Knobs[in.Name].ValueNames()
		case in.Words != "":
			a.OneOf = strings.Split(in.Words, ",")
		}
	}
	v, ok := l.Scalar(a, p.V, p.At)
	if in.Name == "decided" && in.Kind == plans.InputFeature && v == false {
		l.Fail(p.At, "invalid-value", "Undecided feature", "A feature that is not decided has no value to read. Remove %s.", p.Key)
		return nil, false
	}
	return v, ok
}
