package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/recorded"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/steps/ab"
	"github.com/mxflow/mxflow/steps/apply"
)

// completions complete names from the plan, its record and mxflow. What cannot be read
// completes nothing, silently.
func completions(a *app, root *cobra.Command) {
	for _, c := range root.Commands() {
		switch c.Name() {
		case "apply", "plan":
			completeFlag(c, "rerun", func(args []string) []string { return plannedNames(a, args) })
			completeFlag(c, "target", func(args []string) []string { return plannedNames(a, args) })
		case "explain", "waive", "retract":
			c.ValidArgsFunction = func(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
				if len(args) > 0 {
					return nil, cobra.ShellCompDirectiveDefault // a plan
				}
				return begins(decidedNames(a), begun)
			}
		case "ab":
			completeFlag(c, "metric", func([]string) []string { return ab.Metrics })
		case "bench", "init":
			completeFlag(c, "engine", func([]string) []string { return kindsKnown() })
		case "engine":
			for _, sub := range c.Commands() {
				if sub.Name() == "kinds" {
					sub.ValidArgsFunction = func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
						return begins(kindsKnown(), begun)
					}
				}
			}
		}
	}
}

func completeFlag(c *cobra.Command, flag string, names func(args []string) []string) {
	if c.Flags().Lookup(flag) == nil {
		return
	}
	_ = c.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		return begins(names(args), begun)
	})
}

func begins(names []string, begun string) (out []string, what cobra.ShellCompDirective) {
	for _, n := range names {
		if strings.HasPrefix(n, begun) {
			out = append(out, n)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// plannedNames are the phases, features and nodes of a command's plan.
func plannedNames(a *app, args []string) []string {
	path, err := a.planOf(args)
	if err != nil {
		return nil
	}
	res := a.loadSilently(path, load.Options{})
	if !res.OK() {
		return nil
	}
	g, err := runtime.NewGraph(res.Plan)
	if err != nil {
		return nil
	}
	return slices.Sorted(slices.Values(append(apply.Names(g), "all")))
}

// decidedNames are the nodes that were decided here, including their short names.
func decidedNames(a *app) []string {
	st, err := a.reader(nil)
	if err != nil {
		return nil
	}
	defer st.Close()
	names := map[string]bool{}
	for _, n := range recorded.Nodes(st) {
		names[n], names[recorded.Short(n)] = true, true
	}
	return slices.Sorted(maps.Keys(names))
}

func kindsKnown() (names []string) {
	for _, k := range kinds.All() {
		names = append(names, k.Name)
	}
	return names
}
