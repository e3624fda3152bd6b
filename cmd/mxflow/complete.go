package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/scaffold"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/view"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/questions/ab"
)

// values are what can stand for what a command or a flag takes, by its placeholder: of a plan and
// its record, which may be empty.
func values(p *plans.Plan, nodes []string, runs []ledger.RunInfo) map[string][]string {
	features := plans.Names(p.Features(), func(f *plans.Feature) string { return f.Name })
	phases := plans.Names(p.Phases, func(ph *plans.Phase) string { return ph.Name })
	ids := plans.Names(runs, func(r ledger.RunInfo) string { return r.ID })
	all := map[string][]string{
		"NODE": slices.Concat([]string{"baseline"}, features, phases, nodes), "FEATURE": features, "GATE": phases,
		"A": slices.Concat([]string{"baseline"}, features, ids), "B": slices.Concat(features, ids),
		"RUN":  append([]string{"latest"}, ids...),
		"KIND": scaffold.Kinds(), "FORM": {"md"}, "API": {"completions", "chat"}, "CACHES": {"own", "pinned", "cold"},
		"METRIC":     plans.Names(ab.Metrics(), func(m measure.Metric) string { return m.Name }),
		"ENGINE":     plans.Names(p.Engines, func(e *plans.Engine) string { return e.Kind + "." + e.Name }),
		"SUITE":      plans.Names(p.Suites, func(s *plans.Suite) string { return s.Name }),
		"NAME=VALUE": plans.Names(p.Variables, func(v *plans.Variable) string { return v.Name + "=" }),
		"KNOB.VALUE": plans.Names(p.Knobs, func(k *plans.Knob) string { return k.Name }), "KNOB=VALUE": nil,
	}
	for _, k := range p.Knobs {
		for _, value := range k.ValueNames() {
			all["KNOB.VALUE"] = append(all["KNOB.VALUE"], k.Name+"."+value)
			all["KNOB=VALUE"] = append(all["KNOB=VALUE"], k.Name+"="+value)
		}
	}
	return all
}

// addCompletions has a shell complete what a command's usage and its flags' texts name.
func addCompletions(a *app, c *cobra.Command) {
	for _, sub := range c.Commands() {
		addCompletions(a, sub)
	}
	c.ValidArgsFunction = func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		words := strings.Fields(c.Use)[1:]
		if len(args) >= len(words) {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return a.complete(c, args, strings.Trim(words[len(args)], "[]…"), begun)
	}
	known := values(&plans.Plan{}, nil, nil)
	c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		takes, _ := pflag.UnquoteUsage(f)
		if _, is := known[takes]; !is {
			return
		}
		if f.Name == "rerun" {
			takes += "|ALL"
		}
		_ = c.RegisterFlagCompletionFunc(f.Name,
			func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
				return a.complete(c, args, takes, begun)
			})
	})
}

// complete is what can stand for a placeholder, or for one of several.
func (a *app) complete(c *cobra.Command, args []string, takes, begun string) (found []string,
	then cobra.ShellCompDirective,
) {
	switch takes {
	case "PLAN":
		return []string{"hcl", "yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
	case "DIR":
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	plan, nodes, runs := &plans.Plan{}, []string(nil), []ledger.RunInfo(nil)
	if at := planAt(c); at < 0 || at >= len(args) {
		args = nil
	} else {
		args = args[at : at+1]
	}
	if path, err := a.planOf(args); err == nil {
		if res := a.loadSilently(path, load.Options{}); res.Plan != nil {
			plan = res.Plan
		}
	}
	if st, err := a.reader(args); err == nil {
		nodes, runs = view.Addresses(st), st.Runs()
		st.Close()
	}
	all := values(plan, nodes, runs)
	if all["ALL"] = []string{"all"}; c.Name() == "report" {
		all["FORM"] = slices.Sorted(maps.Keys(reportFormats))
	}
	for word := range strings.SplitSeq(takes, "|") {
		found = append(found, all[word]...)
	}
	if slices.Sort(found); len(found) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	then = cobra.ShellCompDirectiveNoFileComp
	if strings.HasSuffix(found[0], "=") { // its value follows
		then |= cobra.ShellCompDirectiveNoSpace
	}
	return slices.DeleteFunc(slices.Compact(found), func(value string) bool {
		return !strings.HasPrefix(value, begun)
	}), then
}
