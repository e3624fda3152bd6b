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
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/ab"
)

// known is what a completion knows: the plan that the command is about, and its record; empty
// where there is none.
type known struct {
	plan   *plans.Plan
	nodes  []string
	runs   []store.RunInfo
	format []string
}

// completions are the values of what a command or a flag takes, by its placeholder.
var completions = map[string]func(k known) []string{
	"NODE": func(k known) []string {
		return slices.Concat([]string{"baseline"}, features(k), phases(k), k.nodes)
	},
	"ALL":     func(known) []string { return []string{"all"} },
	"FEATURE": features,
	"GATE":    phases,
	"A":       func(k known) []string { return slices.Concat([]string{"baseline"}, features(k), runs(k)) },
	"B":       func(k known) []string { return slices.Concat(features(k), runs(k)) },
	"RUN":     func(k known) []string { return append([]string{"latest"}, runs(k)...) },
	"KIND":    func(known) []string { return scaffold.Kinds() },
	"FORM":    func(k known) []string { return k.format },
	"METRIC": func(known) []string {
		return plans.Names(ab.Metrics(), func(m measure.Metric) string { return m.Name })
	},
	"API":    func(known) []string { return []string{"completions", "chat"} },
	"HOW":    func(known) []string { return []string{"checked", "unchecked"} },
	"CACHES": func(known) []string { return []string{"own", "pinned", "cold"} },
	"ENGINE": engineKeys,
	"SUITE": func(k known) []string {
		return plans.Names(k.plan.Suites, func(s *plans.Suite) string { return s.Name })
	},
	"KNOB.VALUE": func(k known) (all []string) {
		for _, knob := range k.plan.Knobs {
			all = append(all, knob.Name)
		}
		return append(all, values(k, ".")...)
	},
	"KNOB=VALUE": func(k known) []string { return values(k, "=") },
	"NAME=VALUE": func(k known) []string {
		return plans.Names(k.plan.Variables, func(v *plans.Variable) string { return v.Name + "=" })
	},
}

func features(k known) []string {
	return plans.Names(k.plan.Features(), func(f *plans.Feature) string { return f.Name })
}

func phases(k known) []string {
	return plans.Names(k.plan.Phases, func(p *plans.Phase) string { return p.Name })
}

func runs(k known) []string {
	return plans.Names(k.runs, func(r store.RunInfo) string { return r.ID })
}

func engineKeys(k known) []string {
	return plans.Names(k.plan.Engines, func(e *plans.Engine) string { return e.Kind + "." + e.Name })
}

func values(k known, is string) (all []string) {
	for _, knob := range k.plan.Knobs {
		for _, value := range knob.ValueNames() {
			all = append(all, knob.Name+is+value)
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
		if len(args) >= len(words) || strings.HasPrefix(words[len(args)], "-") {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return a.complete(c, args, strings.Split(strings.Trim(words[len(args)], "[]…"), "|"), begun)
	}
	c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		takes, _ := placeholder(f)
		if completions[takes] == nil {
			return
		}
		words := []string{takes}
		if f.Name == "rerun" {
			words = append(words, "ALL")
		}
		_ = c.RegisterFlagCompletionFunc(f.Name, func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			return a.complete(c, args, words, begun)
		})
	})
}

// complete is what can stand for one of some placeholders.
func (a *app) complete(c *cobra.Command, args, takes []string, begun string) (all []string, then cobra.ShellCompDirective) {
	for _, word := range takes {
		switch word {
		case "PLAN":
			return []string{"hcl", "yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
		case "DIR":
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
	}
	k := known{plan: &plans.Plan{}, format: []string{"md"}}
	if c.Name() == "report" {
		k.format = slices.Sorted(maps.Keys(reportFormats))
	}
	at, of := planAt(c), []string(nil)
	if at >= 0 && at < len(args) {
		of = args[at : at+1]
	}
	if path, err := a.planOf(of); err == nil {
		if res := a.loadSilently(path, load.Options{}); res.Plan != nil {
			k.plan = res.Plan
		}
	}
	if st, err := a.reader(of); err == nil {
		k.nodes, k.runs = view.Addresses(st), st.Runs()
		st.Close()
	}
	for _, word := range takes {
		if complete := completions[word]; complete != nil {
			all = append(all, complete(k)...)
		}
	}
	if len(all) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	slices.Sort(all)
	then = cobra.ShellCompDirectiveNoFileComp
	if strings.HasSuffix(all[0], "=") { // its value follows
		then |= cobra.ShellCompDirectiveNoSpace
	}
	return slices.DeleteFunc(slices.Compact(all), func(value string) bool { return !strings.HasPrefix(value, begun) }), then
}
