package plans

import "fmt"

// Cell is one combination of a workload's dimensions: what is sent, measured
// and addressed as one thing.
type Cell struct {
	Workload string
	// Prompt, Output and Depth are tokens; 0 where the length is drawn.
	Prompt, Output, Depth int
	// Concurrency is how many requests a closed loop keeps in flight, at least 1;
	// in an open loop it is the cap, 0 for none. Rate is its requests a second, 0
	// in a closed loop.
	Concurrency int
	Rate        float64
	// Address is how rules name it: the workload, then one element for each
	// dimension that the plan wrote as a list, prompt before output: "chat",
	// "chat.o32", "chat.p512.o32".
	Address string
	// Label is how the field names its speeds: "pp2048 tg32".
	Label string
}

// Cells are the combinations in the order in which the plan writes them, the
// output varying fastest.
func (w *Workload) Cells() []Cell {
	cells := make([]Cell, 0, len(w.PromptTokens)*len(w.OutputTokens))
	for _, p := range w.PromptTokens {
		for _, o := range w.OutputTokens {
			address := w.Name
			if w.PromptList {
				address += fmt.Sprintf(".p%d", p)
			}
			if w.OutputList {
				address += fmt.Sprintf(".o%d", o)
			}
			cells = append(cells, Cell{
				Workload: w.Name, Prompt: p, Output: o,
				Address: address, Label: fmt.Sprintf("pp%d tg%d", p, o),
			})
		}
	}
	return cells
}
