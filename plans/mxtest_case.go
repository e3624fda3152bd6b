package plans

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/gates/verdict"
)

// maxCases is how many cases there may be beside one plan.
const maxCases = 5000

func internalMistake(p any) string {
	return fmt.Sprintf("This is a mistake in mxflow, please report it together with the plan and the cases: %v\n%s", p, debug.Stack())
}

// decodeCase reads one case; nil where it cannot be told what it is about.
func (l *caseLoader) decodeCase(b *hcl.Block) *Case {
	name := b.Labels[0]
	l.checkCaseName(b, name)
	f := l.fields(b, caseSchema, fmt.Sprintf("case %q", name))
	c := &Case{Name: name, Given: map[string]*GivenFeature{}, Range: rangeOf(b.DefRange)}
	rules, visible, own := l.subject(f, c)
	if rules == nil {
		return nil
	}
	l.decodeOwn(f, c, own, visible)
	for _, g := range f.blocks.OfType("given") {
		l.decodeNamed(g, c, visible)
	}
	c.Expect = verdict.Verdict(l.verdictWord(f, "expect"))
	c.ExpectRules = l.decodeExpected(f, rules)
	c.ExpectChosen = l.decodeChosen(f, c)
	if f.absent("expect") && f.absent("expect_rules") && f.absent("expect_chosen") {
		l.fail(b.DefRange, "Case expects nothing", `Say what should come out: expect = "pass", or expect_rules = { %q = "fail" } for single rules.`, rules[0].Name)
	}
	return c
}

func (l *caseLoader) checkCaseName(b *hcl.Block, name string) {
	at := b.LabelRanges[0]
	if strings.TrimSpace(name) != name || name == "" || len(name) > maxRuleName || strings.ContainsAny(name, "\n\r") {
		l.fail(at, "Invalid case name", "A case is named by a phrase of one line and up to %d characters, with no space around it.", maxRuleName)
	}
	if first, twice := l.named[name]; twice {
		l.fail(at, "Duplicate case", "There is a case %q already %s. Say in the name what is different here.", name, seenAt(first, at))
	} else if len(l.named) == maxCases {
		l.fail(at, "Too many cases", "There may be up to %d cases beside a plan.", maxCases)
	}
	l.named[name] = at
}

// subject is what a case is about: its rules, whose measurements it may give, and
// the one that they belong to where the case does not say; nil where there are
// several.
func (l *caseLoader) subject(f *body, c *Case) (rules []*Rule, visible []*Feature, own *Feature) {
	onFeature, onGate := !f.absent("feature"), !f.absent("gate")
	switch {
	case onFeature && onGate:
		l.fail(f.at("gate"), "Case about two things", "A case decides the criteria of a feature, or the gate of a phase. Make two cases of it.")
		return nil, nil, nil
	case !onFeature && !onGate:
		l.fail(f.def, "Case about nothing", "Say what is decided: feature = feature.%s for its criteria, or gate = phase.%s for a gate.", orElse(l.anyOf("feature"), "name"), orElse(l.anyOf("phase"), "name"))
		return nil, nil, nil
	case onFeature:
		r := f.ref("feature", "feature")
		if r == nil {
			return nil, nil, nil
		}
		ft := l.ns.features[r.key]
		c.Feature = ft.Name
		visible = slices.Concat([]*Feature{ft}, ft.Alternatives, ft.Confirm)
		if len(ft.Alternatives) > 0 {
			return ft.Criteria, visible[1:], nil
		}
		return ft.Criteria, visible, ft
	}
	r := f.ref("gate", "phase")
	if r == nil {
		return nil, nil, nil
	}
	ph := l.ns.phases[r.key]
	if ph.Gate == nil {
		l.fail(r.at, "Phase has no gate", "Phase %q has no gate, so that there is nothing to decide: it passes when its steps and features do. Add a gate to it, or test a feature.", ph.Name)
		return nil, nil, nil
	}
	c.Phase = ph.Name
	visible = l.gateReads(ph)
	if len(visible) == 1 {
		own = visible[0]
	}
	return ph.Gate.Rules, visible, own
}

func (l *caseLoader) anyOf(kind string) string {
	if order := l.symbols.of(kind).order; len(order) > 0 {
		return order[0]
	}
	return ""
}

// gateReads are the features of a phase, and those that its gate reads.
func (l *caseLoader) gateReads(ph *Phase) []*Feature {
	list := slices.Clone(ph.Features)
	for _, r := range ph.Gate.Rules {
		if r.Program == nil {
			continue
		}
		for _, in := range r.Program.Inputs {
			if f := l.ns.features[in.Feature]; f != nil && !slices.Contains(list, f) {
				list = append(list, f)
			}
		}
	}
	return list
}

// decodeChosen reads which alternative should win.
func (l *caseLoader) decodeChosen(f *body, c *Case) string {
	value := f.text("expect_chosen", "")
	if f.absent("expect_chosen") {
		return ""
	}
	ft := l.ns.features[c.Feature]
	switch {
	case ft == nil || ft.Choose == nil:
		l.fail(f.at("expect_chosen"), "Nothing is chosen here", "%s does not choose among alternatives. Remove expect_chosen.", orElse(c.Of(), "This"))
	case !slices.Contains(ft.Choose.Values, value):
		l.fail(f.at("expect_chosen"), "Unknown alternative", "Feature %q does not try %q.%s", ft.Name, value, l.didYouMean(value, ft.Choose.Values))
	}
	return value
}

// decodeExpected reads verdicts of rules by name.
func (l *caseLoader) decodeExpected(f *body, rules []*Rule) map[string]verdict.Verdict {
	var names []string
	for _, r := range rules {
		names = append(names, r.Name)
	}
	out := map[string]verdict.Verdict{}
	for _, p := range f.pairs("expect_rules") {
		if !slices.Contains(names, p.key) {
			l.fail(p.keyAt, "Unknown rule", "There is no rule %q here.%s", p.key, l.didYouMean(p.key, names))
			continue
		}
		if word, ok := l.asVerdict(p.v, p.at, "What is expected of a rule"); ok {
			out[p.key] = word
		}
	}
	if _, ok := f.value("expect_rules"); ok && len(out) == 0 && f.absent("expect") && !l.diags.HasErrors() {
		l.fail(f.at("expect_rules"), "Case expects nothing", "The map is empty. Name a rule and its verdict.")
	}
	return out
}
