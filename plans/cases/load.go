package cases

import (
	"bytes"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/plans/rules"
)

// caseLoader reads the cases of a loaded plan, in the scope of its expressions and with
// its limits.
type caseLoader struct {
	*eval.Scope
	plan  *plans.Plan
	ns    *rules.Namespace
	cases []*Case
	// named are the positions of the names of cases.
	named map[string]hcl.Range
}

// Load reads case files for a plan without errors. The second result is what is wrong
// with the files; the cases may be used if it is OK. Like Evaluate it is not safe for
// concurrent use.
func Load(r *load.Result, files []string) (cases []*Case, found *lang.Findings) {
	return loadCases(r, files, func(path string) ([]byte, *hcl.Diagnostic) { return lang.ReadSource(path, "case") })
}

// Bytes is Load for one file in memory.
func Bytes(r *load.Result, name string, text []byte) (cases []*Case, found *lang.Findings) {
	return loadCases(r, []string{name}, func(string) ([]byte, *hcl.Diagnostic) { return text, nil })
}

func loadCases(r *load.Result, files []string, read func(string) ([]byte, *hcl.Diagnostic)) (cases []*Case, found *lang.Findings) {
	c := &caseLoader{Scope: r.Scope(), plan: r.Plan, ns: rules.New(r.Plan), named: map[string]hcl.Range{}}
	if len(files) == 0 {
		return nil, &lang.Findings{Files: r.Files}
	}
	found = r.Aside(files, func() {
		for _, path := range files {
			if text, diag := read(path); diag != nil {
				c.Diags = append(c.Diags, diag)
			} else {
				c.file(path, text)
			}
		}
		cases = c.cases
	})
	return cases, found
}

// beginning is what a file of cases of that name starts with.
func beginning(name string) string {
	if lang.IsYAML(name) {
		return "case: {what it shows: {feature: feature.name}}"
	}
	return `case "what it shows" { feature = feature.name }`
}

// file reads one file of cases.
func (c *caseLoader) file(name string, text []byte) {
	c.At("the text of "+name, hcl.Range{Filename: name})
	if len(bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\uFEFF")))) == 0 {
		c.Sources[name] = &lang.Source{Name: name, Text: text}
		c.Fail(lang.StartOf(name), "case-file-unreadable", "Case file is empty", "The file is empty. A case starts with: %s; mxflow test --write writes starter cases.", beginning(name))
		return
	}
	s, diags := lang.Parse(name, text)
	c.Sources[name] = s
	c.Diags = append(c.Diags, diags...)
	if s.Body == nil || lang.BrokenSyntax(diags) {
		return
	}
	content := c.Content(s.Body, c.Schema(caseFileDoc), "a file of cases")
	for _, b := range content.Blocks {
		if made := c.decodeCase(b); made != nil {
			c.cases = append(c.cases, made)
		}
	}
	if len(content.Blocks) == 0 && !diags.HasErrors() && !c.Diags.HasErrors() {
		c.Fail(lang.StartOf(name), "case-file-unreadable", "Case file is empty", "The file has no case. A case starts with: %s.", beginning(name))
	}
}

// maxCases limits the cases beside one plan.
const maxCases = 5000

// decodeCase decodes one case; nil if its subject cannot be determined.
func (l *caseLoader) decodeCase(b *hcl.Block) *Case {
	name := b.Labels[0]
	l.checkCaseName(b, name)
	f := l.Fields(b, caseDoc)
	c := &Case{Name: name, Given: map[string]*GivenFeature{}, Range: lang.RangeOf(b.DefRange)}
	rules, visible, own := l.subject(f, c)
	if rules == nil {
		return nil
	}
	l.decodeOwn(f, c, own, visible)
	for _, g := range f.Blocks.OfType("given") {
		l.decodeNamed(g, c, visible)
	}
	c.Expect = verdict.Verdict(l.verdictWord(f, "expect"))
	c.ExpectRules = l.decodeExpected(f, rules)
	c.ExpectChosen = l.decodeChosen(f, c)
	if f.Absent("expect") && f.Absent("expect_rules") && f.Absent("expect_chosen") {
		l.Fail(b.DefRange, "case-says-nothing", "Case expects nothing", `Add the expected verdict: expect = "pass", or expect_rules = { %q = "fail" } for single rules.`, rules[0].Name)
	}
	return c
}

func (l *caseLoader) checkCaseName(b *hcl.Block, name string) {
	at := b.LabelRanges[0]
	if strings.TrimSpace(name) != name || name == "" || len(name) > load.MaxRuleName || strings.ContainsAny(name, "\n\r") {
		l.Fail(at, "invalid-value", "Invalid case name", "The name of a case is a one-line phrase of up to %d characters, without surrounding spaces.", load.MaxRuleName)
	}
	if first, twice := l.named[name]; twice {
		l.Fail(at, "duplicate-name", "Duplicate case", "Case %q is already declared %s. Choose a name that says what is different here.", name, lang.SeenAt(first, at))
	} else if len(l.named) == maxCases {
		l.Fail(at, "too-many-cases", "Too many cases", "A plan may have up to %d cases.", maxCases)
	}
	l.named[name] = at
}

// subject is the subject of a case: its rules, whose measurements it may give, and the
// feature that they belong to by default; nil if there are several.
func (l *caseLoader) subject(f *eval.Body, c *Case) (rules []*plans.Rule, visible []*plans.Feature, own *plans.Feature) {
	onFeature, onGate := !f.Absent("feature"), !f.Absent("gate")
	switch {
	case onFeature && onGate:
		l.Fail(f.At("gate"), "case-says-nothing", "Case about two things", "A case decides either the criteria of a feature or the gate of a phase. Split it into two cases.")
		return nil, nil, nil
	case !onFeature && !onGate:
		l.Fail(f.Def, "case-says-nothing", "Case about nothing", "Name what the case decides: feature = feature.%s for its criteria, or gate = phase.%s for a gate.", lang.OrElse(l.anyOf("feature"), "name"), lang.OrElse(l.anyOf("phase"), "name"))
		return nil, nil, nil
	case onFeature:
		r := f.Ref("feature", "feature")
		if r == nil {
			return nil, nil, nil
		}
		ft := l.ns.Features[r.Key]
		c.Feature = ft.Name
		visible = slices.Concat([]*plans.Feature{ft}, ft.Alternatives, ft.Confirm)
		if len(ft.Alternatives) > 0 {
			return ft.Criteria, visible[1:], nil
		}
		return ft.Criteria, visible, ft
	}
	r := f.Ref("gate", "phase")
	if r == nil {
		return nil, nil, nil
	}
	ph := l.ns.Phases[r.Key]
	if ph.Gate == nil {
		l.Fail(r.At, "case-says-nothing", "Phase has no gate", "Phase %q has no gate: it passes when its steps and features do. Add a gate to it, or test a feature.", ph.Name)
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
	if order := l.Symbols.Of(kind).Order; len(order) > 0 {
		return order[0]
	}
	return ""
}

// gateReads are the features of a phase, and those that its gate reads.
func (l *caseLoader) gateReads(ph *plans.Phase) []*plans.Feature {
	list := slices.Clone(ph.Features)
	for _, r := range ph.Gate.Rules {
		if r.Program == nil {
			continue
		}
		for _, in := range r.Program.Inputs {
			if f := l.ns.Features[in.Feature]; f != nil && !slices.Contains(list, f) {
				list = append(list, f)
			}
		}
	}
	return list
}

// decodeChosen decodes which alternative should win.
func (l *caseLoader) decodeChosen(f *eval.Body, c *Case) string {
	value := f.Text("expect_chosen")
	if f.Absent("expect_chosen") {
		return ""
	}
	ft := l.ns.Features[c.Feature]
	switch {
	case ft == nil || ft.Choose == nil:
		l.Fail(f.At("expect_chosen"), "case-not-read", "Feature without alternatives", "%s does not choose among alternatives. Remove expect_chosen.", lang.OrElse(c.Of(), "This"))
	case !slices.Contains(ft.Choose.Values, value):
		l.Fail(f.At("expect_chosen"), "unknown-reference", "Unknown alternative", "Feature %q does not try %q.%s", ft.Name, value, l.DidYouMean(value, ft.Choose.Values))
	}
	return value
}

// decodeExpected decodes verdicts of rules by name.
func (l *caseLoader) decodeExpected(f *eval.Body, rules []*plans.Rule) map[string]verdict.Verdict {
	names := plans.NamesOf(rules)
	out := map[string]verdict.Verdict{}
	for _, p := range f.Pairs("expect_rules") {
		if !slices.Contains(names, p.Key) {
			l.Fail(p.KeyAt, "unknown-reference", "Unknown rule", "There is no rule %q here.%s", p.Key, l.DidYouMean(p.Key, names))
			continue
		}
		if word, ok := l.asVerdict(p.V, p.At, "The expected verdict of a rule"); ok {
			out[p.Key] = word
		}
	}
	if _, ok := f.Value("expect_rules"); ok && len(out) == 0 && f.Absent("expect") && !l.Diags.HasErrors() {
		l.Fail(f.At("expect_rules"), "case-says-nothing", "Case expects nothing", "The map is empty. Name a rule and its verdict.")
	}
	return out
}

// decodeOwn decodes what a case gives without a given block.
func (l *caseLoader) decodeOwn(f *eval.Body, c *Case, own *plans.Feature, visible []*plans.Feature) {
	first := ""
	for _, a := range givenAttrs {
		if first == "" && !f.Absent(a.Name) {
			first = a.Name
		}
	}
	switch {
	case first == "":
	case own == nil:
		l.Fail(f.At(first), "whose-value", "Whose value?", "This case reads several features: %s. Put %s into a block for one of them, on separate lines: given %q { %s = … }.", lang.OrNothing(namesOf(visible)), first, nameOrNone(visible), first)
	default:
		c.Given[own.Name] = l.decodeGiven(f, own, c.Feature != "")
	}
}

// decodeNamed decodes a given block.
func (l *caseLoader) decodeNamed(b *hcl.Block, c *Case, visible []*plans.Feature) {
	name := b.Labels[0]
	ft := plans.Find(visible, func(f *plans.Feature) bool { return f.Name == name })
	switch {
	case ft == nil && l.ns.Features[name] != nil:
		l.Fail(b.LabelRanges[0], "case-not-read", "Feature is not read here", "This case does not read feature %q. It reads %s.", name, lang.OrNothing(namesOf(visible)))
		return
	case ft == nil:
		l.Fail(b.LabelRanges[0], "unknown-reference", "Unknown feature", "This case cannot read a feature %q.%s", name, l.DidYouMean(name, namesOf(visible)))
		return
	case c.Given[name] != nil:
		l.Fail(b.DefRange, "duplicate-name", "Duplicate given", "Feature %s already has a given block. Merge them.", name)
		return
	}
	c.Given[name] = l.decodeGiven(l.Fields(b, givenDoc), ft, c.Feature != "")
}

func namesOf(list []*plans.Feature) []string {
	return plans.Names(list, func(f *plans.Feature) string { return f.Name })
}

func nameOrNone(list []*plans.Feature) string {
	if len(list) == 0 {
		return "name"
	}
	return list[0].Name
}

// decodeGiven decodes what is given of one feature. If the feature is being decided, its
// own outcome cannot be given.
func (l *caseLoader) decodeGiven(f *eval.Body, ft *plans.Feature, decided bool) *GivenFeature {
	g := &GivenFeature{Knobs: map[string]string{}, Observed: map[string]any{}}
	g.Launches = l.decodeLaunches(f, ft)
	g.Levels = l.decodeLevels(f, ft)
	l.decodeKnobs(f, g)
	l.decodeSaid(f, g)
	l.decodeNoise(f, g, ft)
	for _, name := range []string{"verdict", "accepted"} {
		if decided && !f.Absent(name) {
			l.Fail(f.At(name), "case-not-read", "Result is given", "%s is the result of this case, which decides %s. Remove it; write the expected result in expect.", name, ft.Name)
			return g
		}
	}
	g.Verdict = verdict.Verdict(l.verdictWord(f, "verdict"))
	g.Accepted = f.Truth("accepted") || f.Absent("accepted") && g.Verdict == verdict.Pass
	if !f.Absent("accepted") && g.Accepted && g.Verdict != verdict.Pass {
		l.Fail(f.At("accepted"), "given-twice", "Accepted without a pass", `A feature enters the stack when it passes. Add verdict = "pass".`)
	}
	return g
}

// decodeLevels decodes the verdicts of levels.
func (l *caseLoader) decodeLevels(f *eval.Body, ft *plans.Feature) map[string]verdict.Verdict {
	out := map[string]verdict.Verdict{}
	order := l.plan.Protocol(ft.Protocol).LevelNames()
	unknown := func(at hcl.Range, name string) bool {
		if slices.Contains(order, name) {
			return false
		}
		l.Fail(at, "not-measured", "Level not in the protocol", "Protocol %q of feature %q has no level %q.%s", ft.Protocol, ft.Name, name, l.DidYouMean(name, order))
		return true
	}
	if name := f.Text("broken"); name != "" && !unknown(f.At("broken"), name) {
		v := verdict.Pass
		for _, level := range order {
			if level == name {
				v = verdict.Fail
			}
			if out[level] = v; v == verdict.Fail {
				v = verdict.Invalid
			}
		}
	} else if !f.Absent("broken") && name == "" {
		if _, ok := f.Value("broken"); ok {
			l.Fail(f.At("broken"), "empty-value", "Empty broken", "Name the level that failed: %s.", lang.OrNothing(order))
		}
	}
	for _, p := range f.Pairs("levels") {
		if unknown(p.KeyAt, p.Key) {
			continue
		}
		word, ok := l.asVerdict(p.V, p.At, "The verdict of a level")
		if was := out[p.Key]; ok && was != "" && was != word {
			l.Fail(p.At, "given-twice", "Level given twice", "broken already makes level %s %s. Remove one of the two.", p.Key, was)
			continue
		}
		if ok {
			out[p.Key] = word
		}
	}
	return out
}

// verdictWord decodes an attribute that is a verdict; empty if absent.
func (l *caseLoader) verdictWord(f *eval.Body, name string) string {
	v, ok := f.Value(name)
	if !ok {
		return ""
	}
	word, _ := l.asVerdict(v, f.At(name), name)
	return string(word)
}

func (l *caseLoader) asVerdict(v cty.Value, at hcl.Range, what string) (verdict.Verdict, bool) {
	word, ok := l.AsText(v, at, what)
	switch {
	case !ok:
		return "", false
	case slices.Contains(caseVerdicts, word):
		return verdict.Verdict(word), true
	case word == string(verdict.Waived):
		l.Fail(at, "unknown-verdict", "Unknown verdict", "A case cannot be waived; only recorded verdicts can. Write one of %s.", plans.OrList(caseVerdicts))
	case strings.EqualFold(word, "failed"), strings.EqualFold(word, "passed"):
		l.Fail(at, "unknown-verdict", "Unknown verdict", "A verdict must be one of %s, not %q. Did you mean %q?", plans.OrList(caseVerdicts), word, strings.ToLower(word[:4]))
	default:
		l.Fail(at, "unknown-verdict", "Unknown verdict", "A verdict must be one of %s, not %q.%s", plans.OrList(caseVerdicts), word, l.DidYouMean(word, caseVerdicts))
	}
	return "", false
}

// decodeKnobs decodes knob values of the candidate.
func (l *caseLoader) decodeKnobs(f *eval.Body, g *GivenFeature) {
	for _, p := range f.Pairs("knobs") {
		k := l.ns.Knobs[p.Key]
		if k == nil {
			l.Fail(p.KeyAt, "unknown-reference", "Unknown knob", "The plan declares no knob %q.%s", p.Key, l.DidYouMean(p.Key, lang.KeysOf(l.ns.Knobs)))
			continue
		}
		name, ok := l.AsText(p.V, p.At, "The value of knob "+lang.Quoted(p.Key))
		if ok && load.KnobValue(l.Scope, k, name, p.At) != nil {
			g.Knobs[p.Key] = name
		}
	}
}

// decodeSaid decodes words and bools that the engine reports about itself.
func (l *caseLoader) decodeSaid(f *eval.Body, g *GivenFeature) {
	e := l.plan.UnderTest()
	for _, p := range f.Pairs("observed") {
		if e == nil {
			l.Fail(p.KeyAt, "unknown-reference", "Unknown observation", "observed gives observations of the baseline's engine, but the plan has no baseline.")
			return
		}
		o, names, ok := plans.FindObserved(e.Observed, p.Key)
		if !ok {
			l.Fail(p.KeyAt, "unknown-reference", "Unknown observation", "engine.%[2]s.%[3]s has no observation %[1]q.%[4]s", p.Key, e.Kind, e.Name, l.DidYouMean(p.Key, names))
			continue
		}
		ty := rules.InputType(o.Type)
		want := map[plans.InputType]cty.Type{plans.WordInput: cty.String, plans.BoolInput: cty.Bool}[ty]
		switch {
		case p.V.IsNull(): // which means not reported
		case ty == plans.NumberInput:
			l.Fail(p.At, "not-measured-so", "Observation is a number", "%s is a number, which can differ between launches. Write it in launches: \"engine.observed.%s\" = { candidate = %s }.", p.Key, p.Key, lang.OrElse(plainNumber(p.V), "1"))
		case p.V.Type() != want:
			l.Fail(p.At, "wrong-type", "Wrong type for observed", "%s must be a %s, not %s.", p.Key, o.Type, lang.Describe(p.V))
		default:
			g.Observed[p.Key] = lang.Plain(p.V)
		}
	}
}

func plainNumber(v cty.Value) string {
	if v.IsNull() || v.Type() != cty.Number {
		return ""
	}
	return v.AsBigFloat().Text('g', 6)
}

// decodeNoise decodes the recorded launch noise.
func (l *caseLoader) decodeNoise(f *eval.Body, g *GivenFeature, ft *plans.Feature) {
	for _, p := range f.Pairs("noise") {
		in := l.measured(p.Key, p.KeyAt, ft)
		if in == nil {
			continue
		}
		if !in.Positive() || in.Once() {
			l.Fail(p.KeyAt, "not-measured-so", "Metric has no noise", "Launch-to-launch variance is only recorded for positive metrics that a t-test decides, on a log scale. %s is not one.", p.Key)
			continue
		}
		var n givenNoise
		var has [2]bool
		entries, ok := l.entries(p, "noise", "{ sd = 0.004, df = 9 }")
		for _, e := range entries {
			most := 10.0
			into, i := &n.SD, 0
			switch e.Key {
			case "df":
				into, i, most = &n.DF, 1, 1e6
			case "sd":
			default:
				l.Fail(e.KeyAt, "unknown-reference", "Unknown name in noise", "noise has sd, the standard deviation of the logs of launches, and df, its degrees of freedom, but no %q.", e.Key)
				continue
			}
			var v any
			if v, has[i] = l.Scalar(plans.Attr{Name: e.Key, Type: plans.Number, Min: 1e-9, MinSet: true, Max: most}, e.V, e.At); has[i] {
				*into = v.(float64)
			}
		}
		if !has[0] || !has[1] {
			if ok && len(entries) < 2 {
				l.Fail(p.At, "not-measured-so", "Missing sd or df", "Write a standard deviation and its degrees of freedom: { sd = 0.004, df = 9 }.")
			}
			continue
		}
		if g.Noise == nil {
			g.Noise = map[string]givenNoise{}
		}
		key := in.LaunchAddress()
		if in.Stat != "median" && in.Stat != "p50" {
			key += "." + in.Stat
		}
		g.Noise[key] = n
	}
}

// entries are the pairs of a map within a map.
func (l *caseLoader) entries(p eval.Pair, attr, example string) (pairs []eval.Pair, ok bool) {
	pairs, ok = l.Pairs(l.ValueAt(p), p.V)
	if !ok {
		l.Fail(p.At, "wrong-type", "Wrong type for "+attr, "%s must be a map, such as %s, not %s.", p.Key, example, lang.Describe(p.V))
	}
	return pairs, ok
}

// numberIn is a number of a case; what says what a text in its place should be.
func (l *caseLoader) numberIn(v cty.Value, at hcl.Range, what, unit string) (float64, bool) {
	if !v.IsNull() && v.Type() == cty.Number {
		n, _ := v.AsBigFloat().Float64()
		return n, true
	}
	l.Fail(at, "rule-type", "Not a number", "%s", notNumber(v, what, unit))
	return 0, false
}
