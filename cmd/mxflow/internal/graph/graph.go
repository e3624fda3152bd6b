// Package graph draws a plan's dependencies: as Mermaid and data. It knows
// nodes and edges, and their status in words; it does not know where these come from.
package graph

import (
	"fmt"
	"io"

	"github.com/mxflow/mxflow/runtime"
)

type jsonEdge struct {
	On   string `json:"on"`
	Mode string `json:"mode"`
}

type jsonNode struct {
	ID    string `json:"id"`
	Kind  string `json:"kind"`
	Phase string `json:"phase,omitempty"`
	// State is its verdict or "locked"; empty if it has none.
	State string     `json:"state,omitempty"`
	Needs []jsonEdge `json:"needs"`
}

var modeNames = map[runtime.Mode]string{runtime.Passed: "passed", runtime.Decided: "decided", runtime.Ended: "ended", runtime.Settled: "settled"}

// JSON is the graph with every edge. states are the nodes' states, by ID.
func JSON(g *runtime.Graph, states map[string]string) map[string]any {
	nodes := []jsonNode{}
	for _, n := range g.Nodes {
		j := jsonNode{ID: n.ID, Kind: string(n.Kind), Phase: n.Phase, State: states[n.ID], Needs: []jsonEdge{}}
		for _, e := range unique(n.Needs) {
			j.Needs = append(j.Needs, jsonEdge{e.On, modeNames[e.Mode]})
		}
		nodes = append(nodes, j)
	}
	return map[string]any{"nodes": nodes}
}

// unique drops duplicate edges.
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

// Mermaid writes a graph, phase by phase, starting with the nodes outside of phases.
// direction is TB or LR.
func Mermaid(w io.Writer, g *runtime.Graph, direction string, states map[string]string) {
	fmt.Fprintf(w, "flowchart %s\n", direction)
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
			fmt.Fprintf(w, "  subgraph phase_%[1]s [phase %[1]s]\n", phase)
			indent = "    "
		}
		for _, n := range nodes[phase] {
			shape := "n%d[\"%s%s\"]\n"
			if n.Kind == runtime.KindGate || n.Kind == runtime.KindPhase {
				shape = "n%d{{\"%s%s\"}}\n"
			}
			state := ""
			if s := states[n.ID]; s != "" {
				state = "<br>" + s
			}
			fmt.Fprintf(w, indent+shape, index[n.ID], n.ID, state)
		}
		if phase != "" {
			fmt.Fprintln(w, "  end")
		}
	}
	for _, n := range g.Nodes {
		for _, e := range g.Reduced(n) {
			arrow := "-->"
			if e.Mode != runtime.Passed {
				arrow = "-.->"
			}
			fmt.Fprintf(w, "  n%d %s n%d\n", index[e.On], arrow, index[n.ID])
		}
	}
	for _, n := range g.Nodes {
		if colour := stateColours[states[n.ID]]; colour != "" {
			fmt.Fprintf(w, "  style n%d fill:%s,color:#000\n", index[n.ID], colour)
		}
	}
}

// stateColours are pale, so black text is readable in both themes.
var stateColours = map[string]string{
	"pass": "#b7e4c7", "fail": "#f4b6b6", "invalid": "#e0c3fc", "error": "#f4b6b6", "inconclusive": "#ffe8a3", "locked": "#d9d9d9",
	"fail, waived": "#bde0fe", "inconclusive, waived": "#bde0fe", "invalid, waived": "#bde0fe",
}
