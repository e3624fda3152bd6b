package steps

import (
	"maps"
	"strings"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
)

// probes are values that an input is given to see what hangs on it, as text and as
// a value of a plan, whatever type it has. Where a plan takes none of them, anything
// may hang on it.
var probes = map[string]string{"mxflow-probe": `"mxflow-probe"`, "7919": "7919", "true": "true", "false": "false"}

// probe compiles the plan with other values of what was given otherwise then. A
// name may hide what the plan does not mark as sensitive, and a value may end up as
// a part of another or as its digest, so that it cannot be looked for.
func (p *recordedPlan) probe(path string, opts load.Options) {
	p.probed = map[string][]*plans.Plan{}
	for _, name := range p.otherwise {
		for text, value := range probes {
			as := *opts.As
			as.Private, as.Variables, as.Env = maps.Clone(as.Private), maps.Clone(as.Variables), maps.Clone(as.Env)
			delete(as.Private, name)
			if variable, ok := strings.CutPrefix(name, "var."); ok {
				put(&as.Variables, variable, value)
			} else {
				put(&as.Env, strings.TrimPrefix(name, "env."), text)
			}
			with := opts
			with.As = &as
			if res := load.Load(path, Registry(), with); res.OK() {
				p.probed[name] = append(p.probed[name], res.Plan)
			}
		}
	}
}

func put(values *map[string]string, name, value string) {
	if *values == nil {
		*values = map[string]string{}
	}
	(*values)[name] = value
}

// hangsOn reports whether what is started for a candidate may be another where an
// input that was given otherwise then is another.
func (p *recordedPlan) hangsOn(candidate string, knobs map[string]string, then *setup) bool {
	for _, name := range p.otherwise {
		if len(p.probed[name]) == 0 {
			return true
		}
		for _, plan := range p.probed[name] {
			f := candidateNamed(plan, candidate)
			if f == nil || !maps.Equal(startedBy(plan, f, knobs).texts, then.texts) {
				return true
			}
		}
	}
	return false
}
