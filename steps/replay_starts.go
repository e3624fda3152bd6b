package steps

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
)

// doubt is what speaks against deciding a candidate by what was kept of it: the
// changed plan asks for something else than was measured, which makes it invalid,
// or whether it does is not known, which lets nothing pass. Rules, thresholds,
// targets, and how gates decide are free to change: they are what replaying with
// another plan is about.
func (c *changed) doubt(candidate *plans.Feature, kept *gates.Feature, run string) (verdict.Verdict, string) {
	if why := c.otherwise(candidate, kept); why != "" {
		return verdict.Invalid, why
	}
	recorded := c.planOf(run)
	if recorded.res == nil {
		return unknownStarts(recorded.why)
	}
	was := candidateNamed(recorded.res.Plan, candidate.Name)
	if was == nil {
		return unknownStarts("the recorded plan comes out without " + candidate.Name)
	}
	if !recorded.exact {
		c.note("Whether the changed plan starts, sends and demands what was measured was compared with the recorded plan as it comes out without the variables that no run records: give --var and --var-file as they were given then.")
	}
	if differs := differing(startedBy(recorded.res.Plan, was, kept.Knobs), startedBy(c.plan, candidate, kept.Knobs)); len(differs) > 0 {
		return verdict.Invalid, "the changed plan starts, sends or demands something else than was measured (" + strings.Join(differs, ", ") + "): only an apply can tell"
	}
	return verdict.Pass, ""
}

// unknownStarts is the doubt where there is no plan to compare with.
func unknownStarts(why string) (verdict.Verdict, string) {
	return verdict.Inconclusive, "whether the changed plan starts, sends and demands what was measured is not known: " + strings.TrimRight(why, ".") +
		". If the recorded plan needs variables, give --var and --var-file as they were given then"
}

func (c *changed) note(text string) {
	if !slices.Contains(c.notes, text) {
		c.notes = append(c.notes, text)
	}
}

// candidateNamed is a feature, an alternative or a confirmation by its name; nil
// where the plan has none.
func candidateNamed(p *plans.Plan, name string) *plans.Feature {
	for _, f := range Candidates(p) {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// differing are the names under which two plans have something else. What only the
// changed plan has was never measured, and what reads it finds nothing.
func differing(was, now map[string]string) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if text, there := now[name]; there && text != was[name] {
			names = append(names, name)
		}
	}
	return names
}

// startedBy is what a plan starts and sends for a candidate with its knobs, and what
// it demands of a launch before that counts, by what people call it.
func startedBy(p *plans.Plan, f *plans.Feature, knobs map[string]string) map[string]string {
	out := map[string]string{}
	put := func(name string, v any) {
		text, err := json.Marshal(v)
		if err != nil {
			text = []byte(err.Error())
		}
		out[name] = string(text)
	}
	lab := &Lab{Plan: p}
	defaults, under := lab.defaults(), lab.defaults()
	if parent := p.Feature(f.BuildsOn.Feature); parent != nil {
		under = lab.PlannedKnobs(parent, knobs)
	}
	// A knob that came later never had a value.
	later := func(name, _ string) bool { _, there := knobs[name]; return !there }
	maps.DeleteFunc(defaults, later)
	maps.DeleteFunc(under, later)
	put("baseline", []any{p.Baseline.Engine, defaults})
	put("levels of the baseline", levelParts(p.Protocol(p.Baseline.Protocol)))
	put("parent of "+f.Name, []any{f.BuildsOn.Kind, under})
	for _, e := range p.Engines {
		if name := e.Kind + "." + e.Name; name == f.Engine || name == p.Baseline.Engine && f.Engine == "" {
			put("engine "+name, e)
		}
	}
	for _, k := range p.Knobs {
		if _, there := knobs[k.Name]; !there {
			continue
		}
		put("changes of knob "+k.Name, k.Changes)
		_, own := f.Set[k.Name]
		for _, v := range k.Values {
			// A parent may have any value of a knob that the candidate itself sets.
			if own || v.Name == knobs[k.Name] || v.Name == defaults[k.Name] {
				put("knob "+k.Name+" = "+v.Name, v)
			}
		}
	}
	protocol := p.Protocol(f.Protocol)
	put("levels of "+f.Name, levelParts(protocol))
	for _, name := range p.Sent(protocol.Level(benchmarkLevel)) {
		bare := *p.Workload(name)
		bare.Summary = ""
		put("workload "+name, bare)
	}
	return out
}
