// Package graph draws a plan's dependencies: as Mermaid, DOT, text and data. It knows
// nodes and edges, and their status in words; it does not know where these come from.
package graph

import (
	"fmt"
	"io"
	"strings"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
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

// dialect is the syntax of a graph language: what surrounds phases, nodes and edges. A
// node is its number and its ID; an edge has both for each end.
type dialect struct {
	begin, end      string
	phase, phaseEnd string
	// state is what follows an ID in a node, and coloured what gives a node its colour,
	// one line each.
	state, coloured      string
	node, gate           string
	needsPass, needsLess string
}

var dialects = map[string]dialect{
	"mermaid": {
		begin: "flowchart %s\n", phase: "  subgraph phase_%[1]s [phase %[1]s]\n", phaseEnd: "  end\n",
		state: "<br>%s", coloured: "  style n%[1]d fill:%[3]s,color:#000\n",
		node: "n%[1]d[\"%[2]s%[3]s\"]\n", gate: "n%[1]d{{\"%[2]s%[3]s\"}}\n",
		needsPass: "  n%[1]d --> n%[3]d\n", needsLess: "  n%[1]d -.-> n%[3]d\n",
	},
	"dot": {
		begin: "digraph plan {\n  rankdir = %s\n  node [shape = box]\n", end: "}\n",
		phase: "  subgraph \"cluster_%[1]s\" {\n    label = \"phase %[1]s\"\n", phaseEnd: "  }\n",
		state: "\n%s", coloured: "  %[2]q [style = filled, fillcolor = %[3]q]\n",
		node: "%[2]q [label = %[4]q]\n", gate: "%[2]q [label = %[4]q, shape = hexagon]\n",
		needsPass: "  %[2]q -> %[4]q\n", needsLess: "  %[2]q -> %[4]q [style = dashed]\n",
	},
}

// Write writes a graph in a language, mermaid or dot.
func Write(w io.Writer, g *runtime.Graph, language, direction string, states map[string]string) error {
	d, known := dialects[language]
	if !known {
		return fmt.Errorf("--format %s: use mermaid, dot or text", language)
	}
	d.write(w, g, direction, states)
	return nil
}

// write writes a graph, phase by phase, starting with the nodes outside of phases.
func (d dialect) write(w io.Writer, g *runtime.Graph, direction string, states map[string]string) {
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
			state := ""
			if s := states[n.ID]; s != "" {
				state = fmt.Sprintf(d.state, s)
			}
			fmt.Fprintf(w, indent+shape, index[n.ID], n.ID, state, n.ID+state)
		}
		if phase != "" {
			fmt.Fprint(w, d.phaseEnd)
		}
	}
	for _, n := range g.Nodes {
		for _, e := range g.Reduced(n) {
			arrow := d.needsPass
			if e.Mode != runtime.Passed {
				arrow = d.needsLess
			}
			fmt.Fprintf(w, arrow, index[e.On], e.On, index[n.ID], n.ID)
		}
	}
	for _, n := range g.Nodes {
		if colour := stateColours[states[n.ID]]; colour != "" {
			fmt.Fprintf(w, d.coloured, index[n.ID], n.ID, colour)
		}
	}
	fmt.Fprint(w, d.end)
}

// stateColours are pale, so black text is readable in both themes.
var stateColours = map[string]string{
	"pass": "#b7e4c7", "fail": "#f4b6b6", "invalid": "#e0c3fc", "error": "#f4b6b6", "inconclusive": "#ffe8a3", "locked": "#d9d9d9",
	"fail, waived": "#bde0fe", "inconclusive, waived": "#bde0fe", "invalid, waived": "#bde0fe",
}

// Text prints a line per node: its state and what it waits for.
func Text(on table.Screen, g *runtime.Graph, states map[string]string) {
	var rows [][]string
	for _, n := range g.Nodes {
		var needs []string
		for _, e := range g.Reduced(n) {
			text := e.On
			if e.Mode == runtime.Passed {
				text += " (pass)"
			}
			needs = append(needs, text)
		}
		rows = append(rows, []string{n.ID, states[n.ID], strings.Join(needs, ", ")})
	}
	on.Table([]string{"node", "state", "needs"}, rows)
}
