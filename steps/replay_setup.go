package steps

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/redact"
)

// setup is what a plan starts and sends for a candidate, and what it demands of a
// launch before that counts. order are the items whose order counts too.
type setup struct {
	texts map[item]string
	order []item
}

// item is one thing of a setup.
type item struct {
	code code.Code
	// name is what it is called, and of the candidate that a level is of, or a knob's
	// value.
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

// reasonsOf are items as facts.
func reasonsOf(items []item) (all []verdict.Reason) {
	for _, i := range items {
		all = append(all, i.reason())
	}
	return all
}

// items are the items of a setup in one order.
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

// then puts what comes after what was put so before.
func (s *setup) then(name item, v any) {
	s.put(name, v)
	s.order = append(s.order, name)
}

// holds reports whether any of it is sensitive.
func (s *setup) holds(secrets []string) bool {
	hide := redact.New(secrets)
	for _, text := range s.texts {
		if hide.Text(text) != text {
			return true
		}
	}
	return false
}

// differing are the items that two plans have otherwise, or which only
// the recorded one has, and those that only the changed plan has: these were never
// measured. A value of a knob that nothing has is none of them.
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

// common are the items that both plans have, in the order of one.
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
	lab := NewLab(p, nil)
	defaults, under := lab.Defaults(), lab.Defaults()
	if parent := p.Feature(f.BuildsOn.Feature); parent != nil {
		under = lab.PlannedKnobs(parent, knobs)
	}
	// A knob that came later never had a value.
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
	if benchmark := protocol.Level(benchmarkLevel); benchmark != nil {
		out.put(item{code.StartsLevel, benchmarkLevel, f.Name}, "")
		for _, name := range p.Sent(benchmark) {
			bare := *p.Workload(name)
			bare.Summary = ""
			out.then(item{code: code.StartsWorkload, name: name}, bare)
		}
	}
	return out
}

// levels puts the levels that a candidate, or with no name the baseline, is qualified by, each by itself, so that one
// that is new can be told from one that is another.
func (s *setup) levels(of string, protocol *plans.Protocol) {
	for _, level := range qualificationLevels(protocol) {
		s.then(item{code.StartsLevel, level.Kind, of}, level.Attrs)
	}
}

// withoutKey is an engine without the key of its endpoint: a new key opens the same
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
