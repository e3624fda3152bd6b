package steps

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/redact"
)

// setup is what a plan starts and sends for a candidate, and what it demands of a
// launch before that counts, by what people call it. order are the names whose
// order counts too.
type setup struct {
	texts map[string]string
	order []string
}

// knobValue begins the names of knobs' values.
const knobValue = "knob "

func (s *setup) put(name string, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		text = []byte(err.Error())
	}
	s.texts[name] = string(text)
}

// then puts what comes after what was put so before.
func (s *setup) then(name string, v any) {
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

// differing are the names under which two plans have something else, or which only
// the recorded one has, and those that only the changed plan has: these were never
// measured. A value of a knob that nothing has is none of them.
func differing(was, now *setup) (differs, added []string) {
	for _, name := range slices.Sorted(maps.Keys(was.texts)) {
		if text, there := now.texts[name]; (there || !strings.HasPrefix(name, knobValue)) && text != was.texts[name] {
			differs = append(differs, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now.texts)) {
		if _, there := was.texts[name]; !there && !strings.HasPrefix(name, knobValue) {
			added = append(added, name)
		}
	}
	return differs, added
}

// common are the names that both plans have, in the order of one.
func common(order []string, of map[string]string) (names []string) {
	for _, name := range order {
		if _, there := of[name]; there {
			names = append(names, name)
		}
	}
	return names
}

// startedBy is what a plan starts for a candidate with its knobs.
func startedBy(p *plans.Plan, f *plans.Feature, knobs map[string]string) *setup {
	out := &setup{texts: map[string]string{}}
	lab := &Lab{Plan: p}
	defaults, under := lab.defaults(), lab.defaults()
	if parent := p.Feature(f.BuildsOn.Feature); parent != nil {
		under = lab.PlannedKnobs(parent, knobs)
	}
	// A knob that came later never had a value.
	later := func(name, _ string) bool { _, there := knobs[name]; return !there }
	maps.DeleteFunc(defaults, later)
	maps.DeleteFunc(under, later)
	out.put("baseline", []any{p.Baseline.Engine, defaults})
	out.levels("the baseline", p.Protocol(p.Baseline.Protocol))
	out.put("parent of "+f.Name, []any{f.BuildsOn.Kind, under})
	for _, e := range p.Engines {
		if name := e.Kind + "." + e.Name; name == f.Engine || name == p.Baseline.Engine && f.Engine == "" {
			out.put("engine "+name, withoutKey(e))
		}
	}
	for _, k := range p.Knobs {
		if _, there := knobs[k.Name]; !there {
			continue
		}
		out.put("changes of knob "+k.Name, k.Changes)
		_, own := f.Set[k.Name]
		for _, v := range k.Values {
			// A parent may have any value of a knob that the candidate itself sets.
			if own || v.Name == knobs[k.Name] || v.Name == defaults[k.Name] {
				out.put(knobValue+k.Name+" = "+v.Name, v)
			}
		}
	}
	protocol := p.Protocol(f.Protocol)
	out.levels(f.Name, protocol)
	if benchmark := protocol.Level(benchmarkLevel); benchmark != nil {
		out.put("level benchmark of "+f.Name, "")
		for _, name := range p.Sent(benchmark) {
			bare := *p.Workload(name)
			bare.Summary = ""
			out.then("workload "+name, bare)
		}
	}
	return out
}

// levels puts the levels that a variant is qualified by, each by itself, so that one
// that is new can be told from one that is another.
func (s *setup) levels(of string, protocol *plans.Protocol) {
	for _, level := range qualificationLevels(protocol) {
		s.then("level "+level.Kind+" of "+of, level.Attrs)
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
