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

var featureDoc = block(plans.Feature{}, lang.BlockDoc{
	Type: "feature", Times: plans.AnyTimes, Repeats: true,
	Doc: "A feature port under test: its parent with other knob values. Its candidate is its parent with the " +
		"knobs of `set` changed; both are measured, and the criteria decide whether the port enters the stack.",
	Blocks: []*lang.BlockDoc{hypothesisDoc, criterionDoc, confirmDoc},
})

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

func (l *loader) decodeFeature(i *eval.Instance, ph *plans.Phase) *plans.Feature {
	b := i.Block
	ft := &plans.Feature{}
	f := l.Read(l.expanded(b), featureDoc, ft)
	ft.Phase, ft.BuildsOn.Kind = ph.Name, plans.OnBaseline
	if ft.Name == string(plans.OnBaseline) || ft.Name == string(plans.OnAccepted) {
		l.Fail(b.DefRange, "invalid-name", "Reserved name",
			"%q has another meaning in builds_on. Choose another name for this feature.", ft.Name)
	}
	notes := &featureNotes{feature: ft, instance: i, def: b.DefRange, parentAt: b.DefRange}
	ft.Set, notes.setAt = l.decodeSet(f)
	ft.Choose = l.decodeChoose(f, ft, notes)
	if v, ok := f.Value("set"); ok && v.CanIterateElements() && v.LengthInt() == 0 {
		l.Fail(f.At("set"), "nothing-under-test", "Nothing under test",
			`set is empty, so the candidate is its parent. Name the knob under test: ‹set = { knob = "value" }›.`)
	}
	switch r := f.Ref("builds_on", "feature", "baseline", "accepted"); {
	case r == nil:
	case r.Key == ft.Name && r.Block == "feature":
		l.Fail(r.At, "cycle", "Feature builds on itself",
			"Feature %q cannot be its own parent. Name another feature, baseline or accepted.", r.Key)
	default:
		ft.BuildsOn, notes.parentAt = plans.BuildsOn{Kind: plans.BuildsOnKind(r.Block), Feature: r.Key}, r.At
	}
	switch {
	case ft.Protocol != "":
	case !f.Absent("protocol"):
		l.protocolsInDoubt = true
	case l.plan.Baseline != nil:
		ft.Protocol = l.plan.Baseline.Protocol
	}
	if h := f.Single("hypothesis"); h != nil {
		ft.Hypothesis = decodeHypothesis(l.Scope, h)
	}
	if ft.Criteria = decodeRules(f.Blocks.OfType("criterion"), l.Scope, criterionDoc); len(ft.Criteria) == 0 {
		l.Fail(f.Def, "feature-without-criterion", "Feature without criterion",
			`Nothing would decide whether the port helps. Add: ‹criterion "decode" { rule = "workload.tg.gain >= 0.05" }›.`)
	}
	all := plans.NamesOf(ft.Criteria)
	switch v, ok := f.Value("accept"); {
	case ok && v.Type().Equals(cty.EmptyTuple):
		ft.Accept, ft.Trial = all, true
	default:
		ft.Accept = decodeNames(f, "accept", ft.Accept, all, all)
	}
	if ft.SupersededBy == ft.Name {
		l.Fail(f.At("superseded_by"), "cycle", "Feature supersedes itself",
			"Feature %q cannot be superseded by itself. Name another feature.", ft.Name)
	}
	if p := l.plan.Protocol(ft.Protocol); p != nil {
		more := p.Regression.Criteria()
		ft.Criteria, ft.Accept = append(ft.Criteria, more...), append(ft.Accept, plans.NamesOf(more)...)
	}
	if ft.Choose != nil {
		for _, value := range ft.Choose.Values { // they share its criteria, whose inputs name it
			a := *ft
			a.Name, a.Of = fmt.Sprintf("%s[%s]", ft.Name, value), ft.Name
			a.Choose, a.Alternatives, a.Confirm, a.Hypothesis = nil, nil, nil, nil
			a.Set = map[string]string{ft.Choose.Knob: value}
			maps.Copy(a.Set, ft.Set)
			ft.Alternatives = append(ft.Alternatives, &a)
		}
	}
	decodeConfirm(f, ft, notes)
	for _, name := range l.plan.Require {
		if f.Lacks(name) && len(f.Blocks.OfType(name)) == 0 {
			l.Fail(f.Def, "missing-attribute", "Required of every feature",
				"Feature %q has no %s, which the plan requires. Add it, or take it out of require in the plan block.",
				ft.Name, name)
		}
	}
	if l.First(b) {
		l.features[ft.Name] = notes
		l.order = append(l.order, notes)
	}
	return ft
}

// decodeChoose reads the knob whose values the feature tries, and notes the place of each;
// nil if it does not choose.
func (l *loader) decodeChoose(f *eval.Body, ft *plans.Feature, notes *featureNotes) *plans.Choose {
	if f.Absent("choose") {
		return nil
	}
	pairs := f.Pairs("choose")
	if v, ok := f.Value("choose"); !ok || !v.Type().IsObjectType() && !v.Type().IsMapType() {
		return nil // reported
	}
	if len(pairs) != 1 {
		l.Fail(f.At("choose"), "choice", "choose takes one knob",
			`choose tries values of exactly one knob, but this names %d. Write ‹choose = { knob = ["one", "other"] }›; values that all alternatives share go into set.`, len(pairs))
		return nil
	}
	p := pairs[0]
	k := l.knob(p)
	if k == nil {
		return nil
	}
	if fixed, both := ft.Set[p.Key]; both {
		l.Fail(p.KeyAt, "choice", "Knob is set and chosen",
			"set fixes knob %q to %q, so there is nothing to choose. Remove it from set, or from choose.", p.Key, fixed)
		return nil
	}
	c := &plans.Choose{Knob: p.Key, Prefer: f.Text("prefer"), Range: lang.RangeOf(f.At("choose"))}
	switch {
	case rules.MetricForm.MatchString(c.Prefer):
		c.Range = lang.RangeOf(f.At("prefer"))
	case c.Prefer != "":
		l.Fail(f.At("prefer"), "invalid-expectation", "Invalid metric address",
			`%q is not an address. Write a workload and a metric, such as "chat.tg".`, c.Prefer)
		c.Prefer = ""
	}
	elems, complete := eval.Elements(l.ValueAt(p), p.V)
	if !complete {
		l.Fail(p.At, "wrong-type", "Wrong type for choose",
			`choose takes a list of values to try, such as ‹{ %s = ["one", "other"] }›, not %s.`, p.Key,
			lang.Describe(p.V))
	}
	notes.chooseAt = map[string]hcl.Range{}
	for _, e := range elems {
		name, ok := l.AsText(e.V, e.At, "Each value of knob "+lang.Quoted(p.Key))
		_, twice := notes.chooseAt[name]
		switch {
		case !ok || knobValue(l.Scope, k, name, e.At) == nil:
			complete = false
		case twice:
			complete = false
			l.Fail(e.At, "duplicate-entry", "Duplicate value in choose", "%q is already in the list. Remove one.", name)
		default:
			notes.chooseAt[name] = e.At
			c.Values = append(c.Values, name)
		}
	}
	if n := len(c.Values); complete && (n < plans.LeastAlternatives || n > plans.MostAlternatives) {
		l.Fail(p.At, "choice", "Wrong number of values in choose",
			"choose tries %d to %d values of a knob, but this names %d. For one value use ‹set = { %s = \"value\" }›.",
			plans.LeastAlternatives, plans.MostAlternatives, n, p.Key)
		return nil
	}
	if len(c.Values) == 0 {
		return nil
	}
	return c
}

var confirmDoc = block(plans.Confirm{}, lang.BlockDoc{
	Type: "confirm", Times: plans.AnyTimes,
	Doc: "Repeats the decisive criteria on another engine before the feature is accepted. Parent and candidate are " +
		"qualified and measured there too, interleaved. It runs only if they passed on the baseline's engine, and " +
		"the feature passes only if they pass here too.",
})

type confirmNote struct {
	confirm *plans.Feature
	at      hcl.Range
}

func decodeConfirm(f *eval.Body, ft *plans.Feature, notes *featureNotes) {
	names := map[string]int{}
	lines := map[string]int{}
	for _, b := range f.Blocks.OfType("confirm") {
		c := plans.Confirm{}
		cf := f.Scope.Read(b, confirmDoc, &c)
		accept := decodeNames(cf, "criteria", c.Criteria, plans.NamesOf(ft.Criteria), ft.Accept)
		if c.Engine == "" {
			continue
		}
		if line := lines[c.Engine]; line > 0 {
			f.Scope.Fail(cf.At("engine"), "duplicate-name", "Duplicate confirmation",
				"Feature %q is already confirmed on engine.%s on line %d. Remove one.", ft.Name, c.Engine, line)
			continue
		}
		lines[c.Engine] = b.DefRange.Start.Line
		on := *ft
		on.Engine, on.Of, on.Accept, on.Range = c.Engine, ft.Name, accept, lang.RangeOf(b.DefRange)
		on.Criteria = slices.DeleteFunc(slices.Clone(ft.Criteria), func(r *plans.Rule) bool {
			return !slices.Contains(accept, r.Name)
		})
		on.Choose, on.Alternatives, on.Confirm, on.Hypothesis = nil, nil, nil, nil
		_, on.Name, _ = strings.Cut(c.Engine, ".")
		names[on.Name]++
		ft.Confirm = append(ft.Confirm, &on)
		notes.confirms = append(notes.confirms, confirmNote{&on, cf.At("engine")})
	}
	for _, c := range ft.Confirm {
		if names[c.Name] > 1 {
			c.Name = c.Engine // two engines with the same name, of different kinds
		}
		c.Name = fmt.Sprintf("%s@%s", ft.Name, c.Name)
	}
}

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
				l.Fail(note.at, "confirmation", "Confirmation on the same engine",
					"engine.%s is the baseline's, on which the criteria are decided first, so this would confirm "+
						"nothing. Name another engine, or remove the block.", note.confirm.Engine)
			case e.IsCommand() != first.IsCommand():
				l.Fail(note.at, "confirmation", "Confirmation measures something else",
					"One of engine.%s and the baseline's engine.%s is a command and the other a server: they share "+
						"no metric. Name an engine of the same kind.", note.confirm.Engine, base.Engine)
			default:
				l.checkConfirmed(note, e)
			}
		}
	}
}

// checkConfirmed checks that another command has the metrics of the first, and that the
// values of the knobs under test mean something to the other engine.
func (l *loader) checkConfirmed(note confirmNote, e *plans.Engine) {
	own, base := e.CommandMetrics(), l.plan.Baseline
	for _, m := range l.plan.CommandEngine().CommandMetrics() {
		other, _, ok := plans.FindCommandMetric(own, m.Name)
		if !ok || other.Unit != m.Unit || other.Better != m.Better {
			l.Fail(note.at, "confirmation", "Confirmation measures something else",
				"engine.%s must declare metric %q with the same unit and better direction as engine.%s (%s, %q), so "+
					"the criteria mean the same there.", note.confirm.Engine, m.Name, base.Engine,
				lang.OrDefault(m.Unit, "no unit"), m.Better)
		}
	}
	known, _ := l.extended(e)
	of := l.features[note.confirm.Of].feature
	for _, knob := range l.plan.Knobs {
		values := []string{knob.Default, base.Set[knob.Name], of.Set[knob.Name]}
		if of.Choose != nil && of.Choose.Knob == knob.Name {
			values = append(values, of.Choose.Values...)
		}
		for _, name := range values {
			v := knob.Value(name)
			if v == nil || known == nil {
				continue
			}
			for _, setting := range lang.KeysOf(v.Settings) {
				if _, has := known[setting]; v.Settings[setting] != nil && !has {
					l.Fail(note.at, "confirmation", "Knob cannot reach the confirming engine",
						"Value %q of knob %q sets %q, which engine.%s of kind %q does not have, so it could not be "+
							"started with it. Confirm on an engine that has it, or express the value another way, "+
							"such as by env.", v.Name, knob.Name, setting, note.confirm.Engine, e.Kind)
					return
				}
			}
		}
	}
}

var criterionDoc = block(plans.Rule{}, lang.BlockDoc{
	Type: "criterion", Times: plans.AtLeast1, Doc: "A success rule of the feature.",
})

// decodeNames checks a list of criteria by name; fallback if it is absent or wrong.
func decodeNames(f *eval.Body, attr string, list, all, fallback []string) (names []string) {
	v, ok := f.Value(attr)
	if !ok {
		return fallback
	}
	elems, _ := eval.Elements(f.Attrs[attr].Expr, v)
	if len(elems) == 0 && v.CanIterateElements() {
		f.Scope.Fail(f.At(attr), "empty-value", "Empty "+attr,
			"With no criterion in %s, nothing would decide. Name at least one, or leave %s out.", attr, attr)
	}
	if len(list) != len(elems) {
		return fallback
	}
	for i, name := range list {
		switch {
		case !slices.Contains(all, name):
			f.Scope.Fail(elems[i].At, "unknown-criterion", "Unknown criterion", "The feature has no criterion %q.%s",
				name, f.Scope.DidYouMean(name, all))
		case slices.Contains(names, name):
			f.Scope.Fail(elems[i].At, "duplicate-entry", "Duplicate criterion in "+attr,
				"%q is already in the list. Remove one.", name)
		default:
			names = append(names, name)
		}
	}
	return names
}

var hypothesisDoc = block(plans.Hypothesis{}, lang.BlockDoc{
	Type: "hypothesis", Times: plans.AtMost1,
	Doc: "The claim made before measuring; it decides nothing. It ends confirmed, refuted or open, by the test that " +
		"the same rule would use, and is recorded beside the verdicts of the criteria.",
})

func decodeHypothesis(s *eval.Scope, b *hcl.Block) *plans.Hypothesis {
	h := &plans.Hypothesis{}
	f := s.Read(b, hypothesisDoc, h)
	h.MetricRange, h.ExpectRange = lang.RangeOf(f.At("metric")), lang.RangeOf(f.At("expect"))
	if h.Metric != "" && !rules.MetricForm.MatchString(h.Metric) {
		s.Fail(f.At("metric"), "invalid-expectation", "Invalid metric address",
			`%q is not an address. Write a workload and a metric, such as "chat.tg".`, h.Metric)
		h.Metric = ""
	}
	if h.Expect != "" && !rules.ExpectForm.MatchString(h.Expect) {
		s.Fail(f.At("expect"), "invalid-expectation", "Invalid expectation",
			`%q is not an expectation. Write a signed change, such as "+10%%" or "-5%%", a bound on one, such as ">= -3%%", or a level, such as ">= 32".`, h.Expect)
	}
	for _, p := range f.Pairs("kernels") {
		n, ok := s.Scalar(plans.Attr{Name: p.Key, Type: plans.Number, Max: math.MaxInt32}, p.V, p.At)
		times, _ := n.(float64)
		switch {
		case !ok:
		case times <= 1:
			s.Fail(p.At, "invalid-expectation", "Kernels do not become faster",
				"%s is how many times as fast these kernels become: it must be greater than 1, not %v. For 1.5 times "+
					"as fast, write ‹%[1]s = 1.5›.", p.Key, times)
		case h.Kernels == nil:
			h.Kernels = map[string]float64{p.Key: times}
		default:
			h.Kernels[p.Key] = times
		}
	}
	return h
}
