package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
)

func newGraphCommand(a *app) *cobra.Command {
	var vars []load.Given
	var format, direction string
	c := &cobra.Command{
		Use:     "graph [PLAN]",
		Short:   "Print the graph of a plan as Mermaid or DOT",
		Long:    "Prints what depends on what. A solid edge needs a pass, a dashed one only an end.",
		Example: "  mxflow graph plan.hcl                 # Mermaid, for Markdown\n  mxflow graph --direction LR plan.hcl\n  mxflow graph --format dot plan.hcl | dot -Tsvg > plan.svg",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := a.planOf(args)
			if err != nil {
				return err
			}
			_, g, err := a.load(path, load.Options{Inputs: vars})
			if err != nil {
				return err
			}
			switch {
			case direction != "TB" && direction != "LR":
				return fmt.Errorf("--direction %s: there are TB (top to bottom) and LR (left to right)", direction)
			case a.json:
				a.printJSON(graphJSON(g))
				return nil
			}
			d, known := dialects[format]
			if !known {
				return fmt.Errorf("--format %s: there are mermaid and dot", format)
			}
			d.write(a.stdout, g, direction)
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

// dialect is how a language of graphs writes one: what stands around phases, nodes and
// edges. A node is its number and its ID; an edge has both of each end.
type dialect struct {
	begin, end           string
	phase, phaseEnd      string
	node, gate           string
	needsPass, needsLess string
}

var dialects = map[string]dialect{
	"mermaid": {
		begin: "flowchart %s\n", phase: "  subgraph phase_%[1]s [phase %[1]s]\n", phaseEnd: "  end\n",
		node: "n%[1]d[\"%[2]s\"]\n", gate: "n%[1]d{{\"%[2]s\"}}\n",
		needsPass: "  n%[1]d --> n%[3]d\n", needsLess: "  n%[1]d -.-> n%[3]d\n",
	},
	"dot": {
		begin: "digraph plan {\n  rankdir = %s\n  node [shape = box]\n", end: "}\n",
		phase: "  subgraph \"cluster_%[1]s\" {\n    label = \"phase %[1]s\"\n", phaseEnd: "  }\n",
		node: "%[2]q\n", gate: "%[2]q [shape = hexagon]\n",
		needsPass: "  %[2]q -> %[4]q\n", needsLess: "  %[2]q -> %[4]q [style = dashed]\n",
	},
}

// write writes a graph, a phase at a time, those nodes first that have none.
func (d dialect) write(w io.Writer, g *runtime.Graph, direction string) {
	fmt.Fprintf(w, d.begin, direction)
	index, nodes := map[string]int{}, map[string][]*runtime.Node{}
	var phases []string
	for i, n := range g.Nodes {
		index[n.ID] = i
		if nodes[n.Phase] == nil {
			phases = append(phases, n.Phase)
		}
		nodes[n.Phase] = append(nodes[n.Phase], n)
	}
	for _, phase := range phases {
		indent := "  "
		if phase != "" {
			fmt.Fprintf(w, d.phase, phase)
			indent = "    "
		}
		for _, n := range nodes[phase] {
			shape := d.node
			if n.Kind == runtime.KindGate || n.Kind == runtime.KindPhase {
				shape = d.gate
			}
			fmt.Fprintf(w, indent+shape, index[n.ID], n.ID)
		}
		if phase != "" {
			fmt.Fprint(w, d.phaseEnd)
		}
	}
	for _, n := range g.Nodes {
		for _, e := range unique(n.Needs) {
			arrow := d.needsPass
			if e.Mode != runtime.Passed {
				arrow = d.needsLess
			}
			fmt.Fprintf(w, arrow, index[e.On], e.On, index[n.ID], n.ID)
		}
	}
	fmt.Fprint(w, d.end)
}
