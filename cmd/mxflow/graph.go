package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
)

func newGraphCommand(a *app) *cobra.Command {
	var vars []load.Given
	var format, direction string
	c := &cobra.Command{
		Use:     "graph PLAN",
		Short:   "Print the graph of a plan as Mermaid or DOT",
		Long:    "Prints what depends on what. A solid edge needs a pass, a dashed one only an end.",
		Example: "  mxflow graph plan.hcl                 # Mermaid, for Markdown\n  mxflow graph --direction LR plan.hcl\n  mxflow graph --format dot plan.hcl | dot -Tsvg > plan.svg",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			_, g, err := a.load(args[0], load.Options{Inputs: vars})
			if err != nil {
				return err
			}
			switch {
			case direction != "TB" && direction != "LR":
				return fmt.Errorf("--direction %s: there are TB (top to bottom) and LR (left to right)", direction)
			case a.json:
				a.printJSON(graphJSON(g))
			case format == "mermaid":
				writeMermaid(a.stdout, g, direction)
			case format == "dot":
				writeDOT(a.stdout, g, direction)
			default:
				return fmt.Errorf("--format %s: there are mermaid and dot", format)
			}
			return nil
		},
	}
	c.Flags().StringVar(&format, "format", "mermaid", "mermaid or dot")
	c.Flags().StringVar(&direction, "direction", "TB", "TB, top to bottom, or LR, left to right")
	varFlag(c, &vars)
	a.jsonFlag(c, "print nodes and edges as JSON")
	return c
}

type jsonEdge struct {
	On   string `json:"on"`
	Mode string `json:"mode"`
}

type jsonNode struct {
	ID    string     `json:"id"`
	Kind  string     `json:"kind"`
	Phase string     `json:"phase,omitempty"`
	Needs []jsonEdge `json:"needs"`
}

var modeNames = map[runtime.Mode]string{runtime.Passed: "passed", runtime.Decided: "decided", runtime.Ended: "ended", runtime.Settled: "settled"}

func graphJSON(g *runtime.Graph) map[string]any {
	nodes := []jsonNode{}
	for _, n := range g.Nodes {
		j := jsonNode{ID: n.ID, Kind: string(n.Kind), Phase: n.Phase, Needs: []jsonEdge{}}
		for _, e := range unique(n.Needs) {
			j.Needs = append(j.Needs, jsonEdge{e.On, modeNames[e.Mode]})
		}
		nodes = append(nodes, j)
	}
	return map[string]any{"nodes": nodes}
}

// unique drops edges that stand twice.
func unique(needs []runtime.Need) []runtime.Need {
	seen := map[runtime.Need]bool{}
	var out []runtime.Need
	for _, n := range needs {
		if !seen[n] {
			seen[n] = true
			out = append(out, n)
		}
	}
	return out
}

// byPhase lists nodes a phase at a time, those without one first.
func byPhase(g *runtime.Graph) (order []string, nodes map[string][]*runtime.Node) {
	nodes = map[string][]*runtime.Node{}
	for _, n := range g.Nodes {
		if len(nodes[n.Phase]) == 0 {
			order = append(order, n.Phase)
		}
		nodes[n.Phase] = append(nodes[n.Phase], n)
	}
	return order, nodes
}

func writeMermaid(w io.Writer, g *runtime.Graph, direction string) {
	fmt.Fprintf(w, "flowchart %s\n", direction)
	index := map[string]string{}
	for i, n := range g.Nodes {
		index[n.ID] = fmt.Sprintf("n%d", i)
	}
	order, nodes := byPhase(g)
	for _, ph := range order {
		indent := "  "
		if ph != "" {
			fmt.Fprintf(w, "  subgraph phase_%s [phase %s]\n", ph, ph)
			indent = "    "
		}
		for _, n := range nodes[ph] {
			open, closing := "[", "]"
			if n.Kind == runtime.KindGate || n.Kind == runtime.KindPhase {
				open, closing = "{{", "}}"
			}
			fmt.Fprintf(w, "%s%s%s\"%s\"%s\n", indent, index[n.ID], open, strings.ReplaceAll(n.ID, `"`, "'"), closing)
		}
		if ph != "" {
			fmt.Fprintln(w, "  end")
		}
	}
	for _, n := range g.Nodes {
		for _, e := range unique(n.Needs) {
			arrow := "-->"
			if e.Mode != runtime.Passed {
				arrow = "-.->"
			}
			fmt.Fprintf(w, "  %s %s %s\n", index[e.On], arrow, index[n.ID])
		}
	}
}

func writeDOT(w io.Writer, g *runtime.Graph, direction string) {
	fmt.Fprintln(w, "digraph plan {\n  rankdir = "+direction+"\n  node [shape = box]")
	order, nodes := byPhase(g)
	for _, ph := range order {
		if ph != "" {
			fmt.Fprintf(w, "  subgraph \"cluster_%s\" {\n    label = \"phase %s\"\n", ph, ph)
		}
		for _, n := range nodes[ph] {
			shape := ""
			if n.Kind == runtime.KindGate || n.Kind == runtime.KindPhase {
				shape = " [shape = hexagon]"
			}
			fmt.Fprintf(w, "    %q%s\n", n.ID, shape)
		}
		if ph != "" {
			fmt.Fprintln(w, "  }")
		}
	}
	for _, n := range g.Nodes {
		for _, e := range unique(n.Needs) {
			style := ""
			if e.Mode != runtime.Passed {
				style = " [style = dashed]"
			}
			fmt.Fprintf(w, "  %q -> %q%s\n", e.On, n.ID, style)
		}
	}
	fmt.Fprintln(w, "}")
}
