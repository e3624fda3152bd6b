package load

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/eval"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/rules"
)

var featureDoc = &lang.BlockDoc{
	Type: "feature", Times: plans.AnyTimes, Repeats: true,
	Labels: []lang.Label{{Name: "name", Doc: "Its name in references and rules: `feature.<name>`. Unique in the plan."}},
	Doc:    "A feature port under test. Its candidate is its parent with the knobs of `set` changed; both are measured, and the criteria decide whether the port enters the stack.",
	Attrs: []plans.Attr{
		{Name: "summary", Type: plans.String, Doc: "What is ported, in one sentence."},
		{Name: "priority", Type: plans.Int, Default: 0.0, MinSet: true, Max: math.MaxInt32, Doc: "Lower runs first within the phase."},
		{Name: "set", Type: plans.Choices, Doc: "Knob values in which the candidate differs from its parent. Required unless `choose` is given."},
		{Name: "choose", Type: plans.Alternatives, Doc: "One knob and 2 to 12 values to try: each is measured as an alternative, on top of `set`, and at most one enters the stack. They share the chance of a false pass."},
		{Name: "prefer", Type: plans.String, Doc: "The metric, such as `chat.tg`, whose gain over the parent picks the winner among the alternatives that pass. Without it, the first that a criterion in `accept` compares with the parent."},
		{Name: "builds_on", Type: plans.Reference, Ref: "feature", OneOf: []string{"baseline", "accepted"}, Doc: "The parent: the baseline (the default), another feature's candidate, or `accepted`, the stack of everything accepted before it."},
		{Name: "protocol", Type: plans.Reference, Ref: "protocol", Doc: "The levels for it. Without it, the baseline's."},
		{Name: "accept", Type: plans.Strings, Doc: "Names of the criteria that let it into the stack; the others are only recorded. Without it, all criteria. `[]` makes it a trial: all criteria give its verdict, and it never enters the stack."},
		{Name: "notes", Type: plans.Strings, Doc: "Notes on the port, one per element: decisions, trade-offs. Shown by `report`; like the three below it is not part of any digest, so editing it neither measures nor decides anything."},
		{Name: "improve", Type: plans.Strings, Doc: "Possible improvements, one per element. Shown by `report`."},
		{Name: "blocked_by", Type: plans.Strings, Doc: "What blocks the port outside the plan, one per element: an upstream issue, missing hardware. Shown by `report` while the feature is undecided; it prevents nothing from running."},
		{Name: "superseded_by", Type: plans.Reference, Ref: "feature", Doc: "The feature that replaces this one. Shown by `report`."},
	},
	Blocks: []*lang.BlockDoc{hypothesisDoc, criterionDoc, confirmDoc},
	Example: `feature "gemm" {
  summary = "Grouped GEMM in place of Marlin"
  set     = { moe_kernel = "gemm" }

  hypothesis {
    metric  = "chat.tg"
    expect  = "+10%"
    because = "the grouped GEMM avoids Marlin's dequantisation"
  }
  criterion "decode" {
    rule = "chat.tg.gain >= 0.10"
  }
}`,
}

func (l *loader) decodeFeature(i *eval.Instance, ph *plans.Phase) *plans.Feature {
	b := i.Block
	f := l.Fields(l.expanded(b), featureDoc)
	ft := &plans.Feature{
		Name: b.Labels[0], Phase: ph.Name, Summary: f.Text("summary"),
		Priority: f.Whole("priority"), Range: lang.RangeOf(b.DefRange),
	}
	if ft.Name == string(plans.OnBaseline) || ft.Name == string(plans.OnAccepted) {
		l.Fail(b.DefRange, "invalid-name", "Reserved name", "%q has another meaning in builds_on. Choose another name for this feature.", ft.Name)
	}
	notes := &featureNotes{feature: ft, instance: i, def: b.DefRange, parentAt: b.DefRange}
	ft.Set, notes.setAt = l.decodeSet(f)
	ft.Choose = l.decodeChoose(f, ft, notes)
	switch v, ok := f.Value("set"); {
	case f.Lacks("choose") && f.Lacks("set"):
		l.Fail(f.Def, "nothing-under-test", "Nothing under test", `Feature %q sets no knob, so its candidate is its parent. Add: set = { knob = "value" }, or choose = { knob = ["one", "other"] } to try several.`, ft.Name)
	case ok && v.CanIterateElements() && v.LengthInt() == 0:
		l.Fail(f.At("set"), "nothing-under-test", "Nothing under test", `set is empty, so the candidate is its parent. Name the knob under test: set = { knob = "value" }.`)
	}
	ft.BuildsOn = decodeBuildsOn(f, notes)
	if r := f.Ref("protocol", "protocol"); r != nil {
		ft.Protocol = r.Key
	} else if !f.Absent("protocol") {
		l.protocolsInDoubt = true
	} else if l.plan.Baseline != nil {
		ft.Protocol = l.plan.Baseline.Protocol
	}
	if h := f.Single("hypothesis"); h != nil {
		ft.Hypothesis = decodeHypothesis(l.Scope, h)
	}
	ft.Criteria = decodeCriteria(f)
	ft.Accept, ft.Trial = decodeAccept(f, ft.Criteria)
	ft.Notes, ft.Improve, ft.BlockedBy = f.Texts("notes"), f.Texts("improve"), f.Texts("blocked_by")
	if r := f.Ref("superseded_by", "feature"); r != nil {
		if ft.SupersededBy = r.Key; r.Key == ft.Name {
			l.Fail(r.At, "cycle", "Feature supersedes itself", "Feature %q cannot be superseded by itself. Name another feature.", ft.Name)
		}
	}
	if p := l.plan.Protocol(ft.Protocol); p != nil {
		more := p.Regression.Criteria()
		ft.Criteria, ft.Accept = append(ft.Criteria, more...), append(ft.Accept, plans.NamesOf(more)...)
	}
	makeAlternatives(ft)
	decodeConfirm(f, ft, notes)
	if l.First(b) {
		l.features[ft.Name] = notes
		l.order = append(l.order, notes)
	}
	return ft
}

func decodeBuildsOn(f *eval.Body, notes *featureNotes) plans.BuildsOn {
	r := f.Ref("builds_on", "feature", "baseline", "accepted")
	if r == nil {
		return plans.BuildsOn{Kind: plans.OnBaseline}
	}
	notes.parentAt = r.At
	if r.Key == notes.feature.Name && r.Block == "feature" {
		f.Scope.Fail(r.At, "cycle", "Feature builds on itself", "Feature %q cannot be its own parent. Name another feature, baseline or accepted.", r.Key)
		return plans.BuildsOn{Kind: plans.OnBaseline}
	}
	return plans.BuildsOn{Kind: plans.BuildsOnKind(r.Block), Feature: r.Key}
}

// featureNotes are the places in the source that checks of the whole plan point
// at.
type featureNotes struct {
	feature  *plans.Feature
	instance *eval.Instance
	def      hcl.Range
	parentAt hcl.Range
	setAt    map[string]hcl.Range
	// chooseAt is the place of each value to try.
	chooseAt map[string]hcl.Range
	confirms []confirmNote
}

// decodeChoose reads the knob whose values the feature tries; nil if it does not choose.
func (l *loader) decodeChoose(f *eval.Body, ft *plans.Feature, notes *featureNotes) *plans.Choose {
	if f.Absent("choose") {
		if !f.Absent("prefer") {
			l.Fail(f.At("prefer"), "choice", "prefer without choose", "prefer picks among the alternatives of choose, but feature %q has none. Remove prefer, or add choose = { knob = [\"one\", \"other\"] }.", ft.Name)
		}
		return nil
	}
	pairs := f.Pairs("choose")
	if v, ok := f.Value("choose"); !ok || !v.Type().IsObjectType() && !v.Type().IsMapType() {
		return nil // reported
	}
	if len(pairs) != 1 {
		l.Fail(f.At("choose"), "choice", "choose takes one knob", `choose tries values of exactly one knob, but this names %d. Write choose = { knob = ["one", "other"] }; what all alternatives share goes into set.`, len(pairs))
		return nil
	}
	p := pairs[0]
	k := l.byName[p.Key]
	if k == nil {
		l.Fail(p.KeyAt, "unknown-reference", "Unknown knob", "The plan declares no knob %q.%s", p.Key, l.DidYouMean(p.Key, l.Symbols.Of("knob").Order))
		return nil
	}
	if fixed, both := ft.Set[p.Key]; both {
		l.Fail(p.KeyAt, "choice", "Knob is set and chosen", "set fixes knob %q to %q, so there is nothing to choose. Remove it from set, or from choose.", p.Key, fixed)
		return nil
	}
	c := &plans.Choose{Knob: p.Key, Prefer: f.Text("prefer"), Range: lang.RangeOf(f.At("choose"))}
	switch {
	case rules.MetricForm.MatchString(c.Prefer):
		c.Range = lang.RangeOf(f.At("prefer"))
	case c.Prefer != "":
		l.Fail(f.At("prefer"), "invalid-expectation", "Invalid metric address", `%q is not an address. Write a workload and a metric, such as "chat.tg".`, c.Prefer)
		c.Prefer = ""
	}
	notes.chooseAt = map[string]hcl.Range{}
	values, complete := decodeAlternatives(l.Scope, p, k, notes.chooseAt)
	if c.Values = values; complete && (len(values) < plans.LeastAlternatives || len(values) > plans.MostAlternatives) {
		l.Fail(p.At, "choice", "Wrong number of values in choose", "choose tries %d to %d values of a knob, but this names %d. For one value use set = { %s = \"value\" }.", plans.LeastAlternatives, plans.MostAlternatives, len(values), p.Key)
		return nil
	}
	if len(values) == 0 {
		return nil
	}
	return c
}

// decodeAlternatives reads the values to try and notes the place of each; false if some
// are wrong.
func decodeAlternatives(s *eval.Scope, p eval.Pair, k *plans.Knob, at map[string]hcl.Range) (values []string, complete bool) {
	expr := s.ValueAt(p)
	elems, ok := eval.Elements(expr, p.V)
	if !ok {
		s.Fail(p.At, "wrong-type", "Wrong type for choose", `choose takes a list of values to try, such as { %s = ["one", "other"] }, not %s.`, p.Key, lang.Describe(p.V))
		return nil, false
	}
	complete = true
	for _, e := range elems {
		name, ok := s.AsText(e.V, e.At, "Each value of knob "+lang.Quoted(p.Key))
		_, twice := at[name]
		switch {
		case !ok:
			complete = false
			continue
		case knobValue(s, k, name, e.At) == nil:
			complete = false
			continue
		case twice:
			complete = false
			s.Fail(e.At, "duplicate-entry", "Duplicate value in choose", "%q is already in the list. Remove one.", name)
			continue
		}
		at[name] = e.At
		values = append(values, name)
	}
	return values, complete
}

// makeAlternatives makes the alternatives of a feature that chooses. They share its
// criteria, whose inputs name it.
func makeAlternatives(f *plans.Feature) {
	if f.Choose == nil {
		return
	}
	for _, value := range f.Choose.Values {
		a := *f
		a.Name, a.Of = fmt.Sprintf("%s[%s]", f.Name, value), f.Name
		a.Choose, a.Alternatives, a.Confirm, a.Hypothesis = nil, nil, nil, nil
		if a.Set = maps.Clone(f.Set); a.Set == nil {
			a.Set = map[string]string{}
		}
		a.Set[f.Choose.Knob] = value
		f.Alternatives = append(f.Alternatives, &a)
	}
}

var confirmDoc = &lang.BlockDoc{
	Type: "confirm", Times: plans.AnyTimes,
	Doc: "Repeats the decisive criteria on another engine before the feature is accepted: parent and candidate are qualified and measured there too, interleaved. It runs only if they passed on the baseline's engine, and the feature passes only if they pass here too.",
	Attrs: []plans.Attr{
		{Name: "engine", Type: plans.Reference, Ref: "engine", Required: true, Doc: "The engine to repeat on, other than the baseline's. Knobs apply to it as to the baseline's."},
		{Name: "criteria", Type: plans.Strings, Doc: "Names of the criteria to repeat. Without it, those in accept."},
	},
	Example: `confirm {
  engine   = engine.vllm.production
  criteria = ["decode"]
}`,
}

// confirmNote is where a confirmation is written.
type confirmNote struct {
	confirm *plans.Feature
	at      hcl.Range
}

// decodeConfirm reads the confirmations of a feature.
func decodeConfirm(f *eval.Body, ft *plans.Feature, notes *featureNotes) {
	names := map[string]int{}
	lines := map[string]int{}
	for _, b := range f.Blocks.OfType("confirm") {
		cf := f.Scope.Fields(b, confirmDoc)
		cf.Required("engine", "the engine to repeat the criteria on, such as engine.vllm.production.")
		accept := ft.Accept // by default those in accept
		if !cf.Absent("criteria") {
			accept = decodeNames(cf, "criteria", ft.Criteria, accept)
		}
		r := cf.Ref("engine", "engine")
		if r == nil {
			continue
		}
		if line := lines[r.Key]; line > 0 {
			f.Scope.Fail(r.At, "duplicate-name", "Duplicate confirmation", "Feature %q is already confirmed on engine.%s on line %d. Remove one.", ft.Name, r.Key, line)
			continue
		}
		lines[r.Key] = b.DefRange.Start.Line
		c := *ft
		c.Engine, c.Of, c.Range = r.Key, ft.Name, lang.RangeOf(b.DefRange)
		c.Accept = accept
		c.Criteria = slices.DeleteFunc(slices.Clone(ft.Criteria), func(r *plans.Rule) bool { return !slices.Contains(accept, r.Name) })
		c.Choose, c.Alternatives, c.Confirm, c.Hypothesis = nil, nil, nil, nil
		_, engine, _ := strings.Cut(r.Key, ".")
		names[engine]++
		c.Name = engine
		ft.Confirm = append(ft.Confirm, &c)
		notes.confirms = append(notes.confirms, confirmNote{&c, cf.At("engine")})
	}
	for _, c := range ft.Confirm {
		if names[c.Name] > 1 {
			c.Name = c.Engine // two engines with the same name, of different kinds
		}
		c.Name = fmt.Sprintf("%s@%s", ft.Name, c.Name)
	}
}

// checkConfirmations refuses confirmations that could confirm nothing.
func (l *loader) checkConfirmations() {
	base := l.plan.Baseline
	if base == nil {
		return
	}
	for _, n := range l.order {
		for _, note := range n.confirms {
			e, first := l.plan.Engine(note.confirm.Engine), l.plan.Engine(base.Engine)
			if e == nil || first == nil {
				continue // reported
			}
			switch {
			case e == first:
				l.Fail(note.at, "confirmation", "Confirmation on the same engine", "engine.%s is the baseline's, on which the criteria are decided first, so this would confirm nothing. Name another engine, or remove the block.", note.confirm.Engine)
			case e.IsCommand() != first.IsCommand():
				l.Fail(note.at, "confirmation", "Confirmation measures something else", "One of engine.%s and the baseline's engine.%s is a command and the other a server: they share no metric. Name an engine of the same kind.", note.confirm.Engine, base.Engine)
			default:
				l.checkConfirmedMetrics(note, e)
				l.checkConfirmedKnobs(note, e)
			}
		}
	}
}

// checkConfirmedMetrics checks that another command has the metrics of the first.
func (l *loader) checkConfirmedMetrics(note confirmNote, e *plans.Engine) {
	own := e.Prints()
	for _, m := range l.plan.CommandEngine().Prints() {
		other, _, _, ok := plans.PrintedAt(own, strings.Split(m.Called(), "."))
		if !ok || other.Unit != m.Unit || other.Better != m.Better {
			l.Fail(note.at, "confirmation", "Confirmation measures something else", "engine.%s must declare metric %q with the same unit and better direction as engine.%s (%s, %q), so the criteria mean the same there.", note.confirm.Engine, m.Called(), l.plan.Baseline.Engine, lang.OrElse(m.Unit, "no unit"), m.Better)
		}
	}
}

// checkConfirmedKnobs checks that the values of the knobs under test mean
// something to the other engine.
func (l *loader) checkConfirmedKnobs(note confirmNote, e *plans.Engine) {
	accepted := l.extended(l.reg.Engines[e.Kind], e).Settings
	if accepted == nil {
		return
	}
	known := lang.WordSet("")
	for _, a := range accepted {
		known[a.Name] = true
	}
	of := l.features[note.confirm.Of].feature
	for _, knob := range l.plan.Knobs {
		values := []string{knob.Default, l.plan.Baseline.Set[knob.Name], of.Set[knob.Name]}
		if of.Choose != nil && of.Choose.Knob == knob.Name {
			values = append(values, of.Choose.Values...)
		}
		for _, name := range values {
			v := knob.Value(name)
			if v == nil {
				continue
			}
			for _, setting := range lang.KeysOf(v.Settings) {
				if v.Settings[setting] != nil && !known[setting] {
					l.Fail(note.at, "confirmation", "Knob cannot reach the confirming engine", "Value %q of knob %q sets %q, which engine.%s of kind %q does not have, so it could not be started with it. Confirm on an engine that has it, or express the value another way, such as by env.", v.Name, knob.Name, setting, note.confirm.Engine, e.Kind)
					return
				}
			}
		}
	}
}

var criterionDoc = &lang.BlockDoc{
	Type: "criterion", Times: plans.AtLeast1,
	Labels: []lang.Label{{Name: "name", Doc: "What must hold, as a word or a one-line phrase; its name in `accept`, `expect_rules` and reports."}},
	Doc:    "A success rule of the feature.",
	Attrs:  ruleAttrs("Bare addresses are the feature's own."),
	Example: `criterion "decode" {
  rule = "chat.tg.gain >= 0.10"
}`,
}

func decodeCriteria(f *eval.Body) (criteria []*plans.Rule) {
	lines := map[string]int{}
	for _, b := range f.Blocks.OfType("criterion") {
		cf := f.Scope.Fields(b, criterionDoc)
		if rule := decodeRule(b, cf); !f.Scope.Twice(lines, b, 0) {
			criteria = append(criteria, rule)
		}
	}
	if len(criteria) == 0 {
		f.Scope.Fail(f.Def, "feature-without-criterion", "Feature without criterion", `Nothing would decide whether the port helps. Add: criterion "decode" { rule = "workload.tg.gain >= 0.05" }.`)
	}
	return criteria
}

// decodeAccept is the criteria that let the feature in; by default all.
func decodeAccept(f *eval.Body, criteria []*plans.Rule) (names []string, trial bool) {
	all := plans.NamesOf(criteria)
	if f.Absent("accept") {
		return all, false
	}
	if v, ok := f.Value("accept"); ok && v.Type().Equals(cty.EmptyTuple) {
		return all, true
	}
	return decodeNames(f, "accept", criteria, all), false
}

// decodeNames reads a list of criteria by name; fallback if it is wrong.
func decodeNames(f *eval.Body, attr string, criteria []*plans.Rule, fallback []string) (names []string) {
	v, ok := f.Value(attr)
	if !ok {
		return fallback
	}
	all := plans.NamesOf(criteria)
	list := f.Texts(attr)
	elems, _ := eval.Elements(f.Attrs[attr].Expr, v)
	if len(elems) == 0 && v.CanIterateElements() {
		f.Scope.Fail(f.At(attr), "empty-value", "Empty "+attr, "With no criterion in %s, nothing would decide. Name at least one, or leave %s out.", attr, attr)
	}
	if len(list) != len(elems) {
		return fallback
	}
	for i, name := range list {
		switch {
		case !slices.Contains(all, name):
			f.Scope.Fail(elems[i].At, "unknown-criterion", "Unknown criterion", "The feature has no criterion %q.%s", name, f.Scope.DidYouMean(name, all))
		case slices.Contains(names, name):
			f.Scope.Fail(elems[i].At, "duplicate-entry", "Duplicate criterion in "+attr, "%q is already in the list. Remove one.", name)
		default:
			names = append(names, name)
		}
	}
	return names
}

var hypothesisDoc = &lang.BlockDoc{
	Type: "hypothesis", Times: plans.AtMost1,
	Doc: "The claim made before measuring. It decides nothing about the feature: it ends confirmed, refuted or open, by the test that the same rule would use, and is recorded beside the verdicts of the criteria.",
	Attrs: []plans.Attr{
		{Name: "metric", Type: plans.String, Required: true, Doc: "The metric claimed to change: an address such as `chat.tg`."},
		{Name: "expect", Type: plans.String, Required: true, Doc: "A relative change (`+10%`, `-5%`, each at least), a bound to one (`>= -3%`: at most 3% less) or a level (`>= 32`)."},
		{Name: "because", Type: plans.String, Required: true, Doc: "Why, in one sentence."},
		{Name: "kernels", Type: plans.Factors, Doc: "Which kernels become faster, by their category in a profile: `{ moe = 1.5 }` is 1.5 times as fast. Once a profile of the parent is on record, `plan` shows the maximum end-to-end gain from this, and warns if `expect` is beyond that."},
	},
	Example: `hypothesis {
  metric  = "chat.tg"
  expect  = "+10%"
  because = "the grouped GEMM avoids Marlin's dequantisation"
  kernels = { moe = 1.5 }
}`,
}

func decodeHypothesis(s *eval.Scope, b *hcl.Block) *plans.Hypothesis {
	f := s.Fields(b, hypothesisDoc)
	h := &plans.Hypothesis{
		Metric:  f.NeedText("metric", `the metric claimed to change, such as "chat.tg".`),
		Expect:  f.NeedText("expect", `the claim, such as "+10%" or ">= 32".`),
		Because: f.NeedText("because", "why, in one sentence."),
		Range:   lang.RangeOf(b.DefRange),
	}
	h.Kernels = decodeFaster(f)
	h.MetricRange, h.ExpectRange = lang.RangeOf(f.At("metric")), lang.RangeOf(f.At("expect"))
	if h.Metric != "" && !rules.MetricForm.MatchString(h.Metric) {
		s.Fail(f.At("metric"), "invalid-expectation", "Invalid metric address", `%q is not an address. Write a workload and a metric, such as "chat.tg".`, h.Metric)
		h.Metric = ""
	}
	if h.Expect != "" && !rules.ExpectForm.MatchString(h.Expect) {
		s.Fail(f.At("expect"), "invalid-expectation", "Invalid expectation", `%q is not an expectation. Write a signed change, such as "+10%%" or "-5%%", a bound on one, such as ">= -3%%", or a level, such as ">= 32".`, h.Expect)
	}
	return h
}

// decodeFaster reads how many times as fast kernels become.
func decodeFaster(f *eval.Body) map[string]float64 {
	faster := map[string]float64{}
	for _, p := range f.Pairs("kernels") {
		n, ok := f.Scope.Scalar(plans.Attr{Name: p.Key, Type: plans.Number, Max: math.MaxInt32}, p.V, p.At)
		if !ok {
			continue
		}
		times, _ := n.(float64)
		if times <= 1 {
			f.Scope.Fail(p.At, "invalid-expectation", "Kernels do not become faster", "%s is how many times as fast these kernels become: it must be greater than 1, not %v. For 1.5 times as fast, write %[1]s = 1.5.", p.Key, times)
			continue
		}
		faster[p.Key] = times
	}
	if len(faster) == 0 {
		return nil
	}
	return faster
}
