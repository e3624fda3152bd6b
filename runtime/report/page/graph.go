package page

import (
	"slices"

	"github.com/mxflow/mxflow/plans"
)

// Graph is the phases laid out from left to right, each after those that it needs.
type Graph struct {
	Width, Height int
	Boxes         []Box
	Edges         []Edge
}

// Box is a phase, Edge a need.
type (
	Box struct {
		X, Y, Wide  int
		Name, Phase string
		Mark        Mark
	}
	Edge struct{ X0, Y0, X1, Y1, Bend int }
)

// Sizes in the drawing, whose columns share its width; more than fit are scaled down.
const (
	widest              = 1132
	columnMost, least   = 220, 118
	boxHeight, gapY     = 58, 16
	charWidth, padWidth = 7, 20
)

// layout puts phases into columns by the longest path to them. Without needs a drawing
// would add nothing to the list.
func layout(phases []Item, planned []*plans.Phase) (g Graph) {
	place := map[string]int{}
	for i, p := range phases {
		place[p.Name] = i
	}
	var edges [][2]int // from and to
	for _, p := range planned {
		to, is := place[p.Name]
		for _, need := range slices.Concat(p.After, p.AfterDecided) {
			if from, there := place[need]; is && there {
				edges = append(edges, [2]int{from, to})
			}
		}
	}
	if len(edges) == 0 {
		return g
	}
	depth := make([]int, len(phases))
	// A phase comes after what it needs, so as many rounds as phases are enough.
	for range phases {
		for _, e := range edges {
			depth[e[1]] = min(max(depth[e[1]], depth[e[0]]+1), len(phases))
		}
	}
	column := min(columnMost, max(least, widest/(slices.Max(depth)+1)))
	wide := column - max(18, column/6)
	longest := (wide - padWidth) / charWidth
	rows := map[int]int{}
	for i, p := range phases {
		x, y := depth[i]*column, rows[depth[i]]*(boxHeight+gapY)
		rows[depth[i]]++
		name := []rune(p.Name)
		if len(name) > longest {
			name = append(name[:longest-1], '…')
		}
		g.Boxes = append(g.Boxes, Box{x + 1, y + 1, wide, string(name), p.Name, p.Mark})
		g.Width, g.Height = max(g.Width, x+wide+2), max(g.Height, y+boxHeight+2)
	}
	for _, e := range edges {
		a, b := g.Boxes[e[0]], g.Boxes[e[1]]
		g.Edges = append(g.Edges, Edge{a.X + wide, a.Y + boxHeight/2, b.X, b.Y + boxHeight/2, (a.X + wide + b.X) / 2})
	}
	return g
}
