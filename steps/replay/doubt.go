package replay

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/redact"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/steps/decide"
)

// doubt is an objection to deciding a candidate by what was kept of it.
type doubt struct {
	// verdict is the best that it may come to, a pass if there is no objection.
	verdict verdict.Verdict
	why     verdict.Reason
	// other is set if an apply would measure something else, so the measurements decide
	// nothing, either way.
	other bool
}

// doubt compares a candidate's measurements with what the changed plan asks for:
// something else makes it invalid; something additional that was never measured makes it
// inconclusive, and so does not knowing. Rules, thresholds, targets, and how gates decide
// are free to change: that is the purpose of replaying with another plan.
func (c *changed) doubt(candidate *plans.Feature, kept *gates.Feature, run string) doubt {
	if why := c.otherwise(candidate, kept); !why.IsZero() {
		return doubt{verdict.Invalid, why, true}
	}
	recorded := c.planOf(run)
	if recorded.res == nil {
		return unknownStarts(recorded, recorded.why)
	}
	was := candidateNamed(recorded.res.Plan, candidate.Name)
	if was == nil {
		return unknownStarts(recorded, verdict.New(code.PlanWithout).On(candidate.Name))
	}
	if !recorded.exact {
		c.notes = noted(c.notes, verdict.New(code.ComparedInexact, recorded.lacking()...))
	}
	then, now := startedBy(recorded.res.Plan, was, kept.Knobs), startedBy(c.plan, candidate, kept.Knobs)
	differs, added := differing(then, now)
	if !slices.Equal(common(then.order, now.texts), common(now.order, then.texts)) {
		differs = append(differs, item{code: code.StartsOrder})
	}
	if len(differs) > 0 {
		return doubt{verdict.Invalid, verdict.New(code.StartsOther).From(reasonsOf(differs)...), true}
	}
	if added = append(added, c.newKnobs(candidate, kept)...); len(added) > 0 {
		return doubt{verdict.Inconclusive, verdict.New(code.StartsMore).From(reasonsOf(added)...), true}
	}
	if len(recorded.otherwise) > 0 && (now.holds(c.plan.Secrets()) || recorded.hangsOn(was.Name, kept.Knobs, then)) {
		return doubt{verdict.Inconclusive, verdict.New(code.SecretsUnknown, verdict.List("inputs", recorded.otherwise)), true}
	}
	if why := c.perhapsOn(candidate, kept); !why.IsZero() {
		return doubt{verdict.Inconclusive, why, true}
	}
	return doubt{verdict: verdict.Pass}
}

// unknownStarts is the doubt if there is no plan to compare with.
func unknownStarts(p *recordedPlan, why verdict.Reason) doubt {
	return doubt{verdict.Inconclusive, verdict.New(code.StartsUnknown, p.lacking()...).From(why), false}
}

// candidateNamed is a feature, an alternative or a confirmation by its name; nil if the
// plan has none.
func candidateNamed(p *plans.Plan, name string) *plans.Feature {
	return plans.Find(p.Candidates(), func(f *plans.Feature) bool { return f.Name == name })
}

// otherwise reports how this plan's candidate differs from the measured one; no fact if
// it does not.
func (c *changed) otherwise(f *plans.Feature, kept *gates.Feature) verdict.Reason {
	knobs := c.plan.PlannedKnobs(f, kept.Knobs)
	if f.BuildsOn.Kind == plans.OnAccepted {
		if why := c.otherStack(f, kept); !why.IsZero() {
			return why
		}
		knobs = maps.Clone(kept.Knobs)
		maps.Copy(knobs, f.Set)
	}
	for _, name := range slices.Sorted(maps.Keys(knobs)) {
		// A new knob is checked where its effect is known.
		if was, there := kept.Knobs[name]; there && was != knobs[name] {
			return verdict.New(code.OtherKnob, verdict.Text("now", knobs[name]), verdict.Text("was", was)).On(name)
		}
	}
	return verdict.Reason{}
}

// otherStack reports if a feature would be laid over another stack than it was measured
// on: what was accepted then would not be now, or the reverse.
func (c *changed) otherStack(f *plans.Feature, kept *gates.Feature) verdict.Reason {
	under := c.plan.DefaultKnobs()
	for _, set := range c.entered {
		maps.Copy(under, set)
	}
	own := maps.Clone(f.Set)
	if of := c.plan.Feature(f.Of); of != nil && of.Choose != nil {
		own = decide.With(own, of.Choose.Knob, "")
	}
	for _, name := range slices.Sorted(maps.Keys(under)) {
		_, sets := own[name]
		if was, known := kept.Knobs[name]; known && !sets && was != under[name] {
			return verdict.New(code.OtherStack, verdict.Text("now", under[name]), verdict.Text("was", was)).On(name)
		}
	}
	return verdict.Reason{}
}

// newKnobs are the knobs of this plan added after the measurement, if they change what is
// started or demanded.
func (c *changed) newKnobs(f *plans.Feature, kept *gates.Feature) (added []item) {
	base, planned := c.plan.DefaultKnobs(), c.plan.PlannedKnobs(f, kept.Knobs)
	for _, k := range c.plan.Knobs {
		if _, there := kept.Knobs[k.Name]; there {
			continue
		}
		for _, value := range slices.Compact([]string{base[k.Name], planned[k.Name]}) {
			if v := k.Value(value); v != nil && !changesNothing(v) {
				added = append(added, item{code.KnobValue, k.Name, value})
			}
		}
	}
	return added
}

// changesNothing reports whether a knob at this value has no effect.
func changesNothing(v *plans.KnobValue) bool {
	return len(v.Env)+len(v.Settings)+len(v.Args)+len(v.Command)+len(v.Parts) == 0 && v.Image == "" && v.MustSee.Empty() && v.MustNotSee.Empty()
}

// perhaps is a feature for which it is unknown whether it would be in this plan's stack:
// it needs something never measured, or more launches, or waits for something unknown.
type perhaps struct {
	feature *plans.Feature
	// would is its verdict, or how else that is unknown: "locked" by something unknown,
	// or "over" a feature of which the same is true.
	would verdict.Verdict
	how   string
}

// remember keeps a feature that an apply would decide again, measure further, or reach
// once what it waits for is known.
func (c *changed) remember(f *plans.Feature, w WouldBe) {
	switch w.WouldBe {
	case verdict.Inconclusive, verdict.Invalid, verdict.Error:
		if w.WouldBe != w.Recorded || !w.Recorded.Kept() || w.Unmeasured || w.Open {
			c.perhaps = append(c.perhaps, perhaps{feature: f, would: w.WouldBe})
		}
	case verdict.Pass, verdict.Waived:
		parent := func(p perhaps) bool { return p.feature.Name == f.BuildsOn.Feature }
		if w.Unsure {
			c.perhaps = append(c.perhaps, perhaps{feature: f, how: "locked"})
		} else if !w.Accepted && w.Locked.IsZero() && slices.ContainsFunc(c.perhaps, parent) {
			c.perhaps = append(c.perhaps, perhaps{feature: f, how: "over"})
		}
	}
}

// perhapsOn names such a feature that may be below one that builds on the stack but was
// measured without it; no fact if there is none.
func (c *changed) perhapsOn(f *plans.Feature, kept *gates.Feature) verdict.Reason {
	if f.BuildsOn.Kind != plans.OnAccepted {
		return verdict.Reason{}
	}
	for _, p := range c.perhaps {
		if p.feature.Name == f.Name || p.feature.Name == f.Of || !c.below(p.feature, f) {
			continue
		}
		brings := map[string][]string{}
		for knob, value := range p.feature.Set {
			brings[knob] = []string{value}
		}
		if choose := p.feature.Choose; choose != nil {
			brings[choose.Knob] = choose.Values
		}
		for _, knob := range slices.Sorted(maps.Keys(brings)) {
			if values := brings[knob]; len(values) > 1 || values[0] != kept.Knobs[knob] {
				why := verdict.New(code.PerhapsUnder)
				if p.how != "" {
					why = verdict.New(code.PerhapsUnder, verdict.Text("how", p.how))
				}
				return why.On(p.feature.Name).Is(p.would)
			}
		}
	}
	return verdict.Reason{}
}

// below reports whether a feature is decided before one that builds on the stack.
func (c *changed) below(under, f *plans.Feature) bool {
	n := c.graph.Node(runtime.QualifyID(f.Name))
	if n == nil {
		return true
	}
	return slices.ContainsFunc(n.Needs, func(need runtime.Need) bool { return need.On == runtime.FeatureID(under.Name) })
}

// setup is what a plan starts and sends for a candidate, and what it demands of a launch
// before that counts. order lists the items whose order matters too.
type setup struct {
	texts map[item]string
	order []item
}

// item is one thing of a setup.
type item struct {
	code code.Code
	// name is the item's name, and of the candidate of a level, or a knob's value.
	name, of string
}

func (i item) reason() verdict.Reason {
	r := verdict.New(i.code)
	switch {
	case i.code == code.KnobValue:
		r = verdict.New(i.code, verdict.Text("value", i.of))
	case i.of != "":
		r = verdict.New(i.code, verdict.Text("candidate", i.of))
	}
	return r.On(i.name)
}

// reasonsOf returns items as facts.
func reasonsOf(items []item) (all []verdict.Reason) {
	for _, i := range items {
		all = append(all, i.reason())
	}
	return all
}

// items returns the items of a setup in a fixed order.
func (s *setup) items() []item {
	return slices.SortedFunc(maps.Keys(s.texts), func(a, b item) int {
		return cmp.Or(cmp.Compare(a.code, b.code), cmp.Compare(a.name, b.name), cmp.Compare(a.of, b.of))
	})
}

func (s *setup) put(name item, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		text = []byte(err.Error())
	}
	s.texts[name] = string(text)
}

// then adds an item whose order matters.
func (s *setup) then(name item, v any) {
	s.put(name, v)
	s.order = append(s.order, name)
}

// holds reports whether any of it is sensitive.
func (s *setup) holds(secrets []string) bool {
	hide := redact.Whole(secrets)
	for _, text := range s.texts {
		if hide.Text(text) != text {
			return true
		}
	}
	return false
}

// differing returns the items that differ between two plans or that only the recorded one
// has, and those that only the changed plan has, which were never measured. An unused
// knob value is neither.
func differing(was, now *setup) (differs, added []item) {
	for _, name := range was.items() {
		if text, there := now.texts[name]; (there || name.code != code.KnobValue) && text != was.texts[name] {
			differs = append(differs, name)
		}
	}
	for _, name := range now.items() {
		if _, there := was.texts[name]; !there && name.code != code.KnobValue {
			added = append(added, name)
		}
	}
	return differs, added
}

// common returns the items that both plans have, in the order of one.
func common(order []item, of map[item]string) (names []item) {
	for _, name := range order {
		if _, there := of[name]; there {
			names = append(names, name)
		}
	}
	return names
}

// startedBy is what a plan starts for a candidate with its knobs.
func startedBy(p *plans.Plan, f *plans.Feature, knobs map[string]string) *setup {
	out := &setup{texts: map[item]string{}}
	defaults, under := p.DefaultKnobs(), p.DefaultKnobs()
	if parent := p.Feature(f.BuildsOn.Feature); parent != nil {
		under = p.PlannedKnobs(parent, knobs)
	}
	// A knob added later never had a value.
	later := func(name, _ string) bool { _, there := knobs[name]; return !there }
	maps.DeleteFunc(defaults, later)
	maps.DeleteFunc(under, later)
	out.put(item{code: code.StartsBaseline}, []any{p.Baseline.Engine, defaults})
	out.levels("", p.Protocol(p.Baseline.Protocol))
	out.put(item{code: code.StartsParent, name: f.Name}, []any{f.BuildsOn.Kind, under})
	for _, e := range p.Engines {
		if name := e.Kind + "." + e.Name; name == f.Engine || name == p.Baseline.Engine && f.Engine == "" {
			out.put(item{code: code.StartsEngine, name: name}, withoutKey(e))
		}
	}
	for _, k := range p.Knobs {
		if _, there := knobs[k.Name]; !there {
			continue
		}
		out.put(item{code: code.KnobChanges, name: k.Name}, k.Changes)
		_, own := f.Set[k.Name]
		for _, v := range k.Values {
			// A parent may have any value of a knob that the candidate itself sets.
			if own || v.Name == knobs[k.Name] || v.Name == defaults[k.Name] {
				out.put(item{code.KnobValue, k.Name, v.Name}, v)
			}
		}
	}
	protocol := p.Protocol(f.Protocol)
	out.levels(f.Name, protocol)
	if benchmark := protocol.Level(plans.BenchmarkLevel); benchmark != nil {
		out.put(item{code.StartsLevel, plans.BenchmarkLevel, f.Name}, "")
		for _, name := range p.Sent(benchmark) {
			bare := *p.Workload(name)
			bare.Summary = ""
			out.then(item{code: code.StartsWorkload, name: name}, bare)
		}
	}
	return out
}

// levels adds the levels that qualify a candidate, or with no name the baseline, each by
// itself, so a new level can be told from a changed one.
func (s *setup) levels(of string, protocol *plans.Protocol) {
	for _, level := range protocol.Levels {
		if level.Kind != plans.BenchmarkLevel {
			s.then(item{code.StartsLevel, level.Level(), of}, []any{level.Attrs, level.Parts})
		}
	}
}

// withoutKey is an engine without its endpoint's API key: a new key opens the same
// server.
func withoutKey(e *plans.Engine) *plans.Engine {
	if e.Launch == nil || e.Launch.Attrs["api_key"] == nil {
		return e
	}
	block, bare := *e.Launch, *e
	block.Attrs = maps.Clone(block.Attrs)
	delete(block.Attrs, "api_key")
	bare.Parts = maps.Clone(e.Parts)
	bare.Parts[block.Kind] = []*plans.Block{&block}
	return &bare
}
