package page

import "slices"

// Graph is the phases laid out from left to right, each after those that it needs.
type Graph struct {
	Width, Height int
	Boxes         []Box
	Lines         []Line
}

// Box is a phase, Line a need.
type (
	Box struct {
		X, Y, At int
		Name     string
		Mark     Mark
	}
	Line struct{ X0, Y0, X1, Y1, Bend int }
)

// Sizes in the drawing.
const (
	boxWidth, boxHeight = 176, 60
	gapX, gapY          = 52, 18
	longestName         = 18
)

// layout puts phases into columns by the longest path to them. Without edges a drawing
// would add nothing to the table.
func layout(phases []Phase, edges []Edge) (g Graph) {
	place := map[string]int{}
	for i, p := range phases {
		place[p.Name] = i
	}
	edges = slices.DeleteFunc(slices.Clone(edges), func(e Edge) bool {
		_, from := place[e.From]
		_, to := place[e.To]
		return !from || !to
	})
	if len(edges) == 0 {
		return g
	}
	depth := make([]int, len(phases))
	// A phase comes after what it needs, so as many rounds as phases are enough.
	for range phases {
		for _, e := range edges {
			depth[place[e.To]] = min(max(depth[place[e.To]], depth[place[e.From]]+1), len(phases))
		}
	}
	rows := map[int]int{}
	for i, p := range phases {
		x, y := depth[i]*(boxWidth+gapX), rows[depth[i]]*(boxHeight+gapY)
		rows[depth[i]]++
		name := []rune(p.Name)
		if len(name) > longestName {
			name = append(name[:longestName-1], '…')
		}
		g.Boxes = append(g.Boxes, Box{x + 1, y + 1, i, string(name), p.Mark})
		g.Width, g.Height = max(g.Width, x+boxWidth+2), max(g.Height, y+boxHeight+2)
	}
	for _, e := range edges {
		a, b := g.Boxes[place[e.From]], g.Boxes[place[e.To]]
		g.Lines = append(g.Lines, Line{a.X + boxWidth, a.Y + boxHeight/2, b.X, b.Y + boxHeight/2, (a.X + boxWidth + b.X) / 2})
	}
	return g
}
