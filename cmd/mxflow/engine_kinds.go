package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/steps"
)

func (a *app) engineKindsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "kinds [KIND]",
		Short: "List the kinds of engine that a plan may name, or all that is known of one",
		Long: `Without KIND, the kinds of engine: what each is, its image and port, and how it
can be launched. With KIND, the whole profile: settings and what they become,
readiness, observations, metrics, how it shows that it broke.`,
		Example: "  mxflow engine kinds\n  mxflow engine kinds vllm\n  mxflow engine kinds vllm --json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				a.listKinds()
				return nil
			}
			k, ok := kinds.Lookup(args[0])
			if !ok {
				return fmt.Errorf("there is no kind %q: mxflow engine kinds lists them", args[0])
			}
			if a.json {
				a.printJSON(kindJSON(k))
				return nil
			}
			a.describeKind(k)
			return nil
		},
	}
	a.jsonFlag(c, "print as JSON")
	return c
}

func (a *app) listKinds() {
	kinds := kinds.All()
	if a.json {
		all := []any{}
		for _, k := range kinds {
			all = append(all, kindJSON(k))
		}
		a.printJSON(all)
		return
	}
	var rows [][]string
	for _, k := range kinds {
		what, _, _ := strings.Cut(k.Doc, ". ")
		port := ""
		if k.Port > 0 {
			port = fmt.Sprint(k.Port)
		}
		rows = append(rows, []string{k.Name, k.Image, port, strings.Join(launchersOf(k), " "), strings.TrimSuffix(what, ".") + "."})
	}
	a.printTable([]string{"kind", "image", "port", "launchers", "what it is"}, rows)
	fmt.Fprintln(a.stdout, "\nmxflow engine kinds KIND tells all that is known of one.")
}

// launchersOf are the blocks by which an engine of a kind can be launched.
// What is no server cannot be found running.
func launchersOf(k kinds.Kind) []string {
	var words []string
	for word, p := range steps.Registry().EngineParts {
		if p.Launcher && (len(k.Ready) > 0 || word != "endpoint" && word != "compose") {
			words = append(words, word)
		}
	}
	slices.Sort(words)
	return append([]string{"process"}, words...)
}

// kindJSON is a profile with the names that plans use, and without what it
// leaves open.
func kindJSON(k kinds.Kind) any {
	out := snake(k).(map[string]any)
	out["launchers"] = launchersOf(k)
	return out
}
