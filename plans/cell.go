package plans

import (
	"fmt"
	"strconv"
	"strings"
)

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
	// Requests are measured, Warmup requests go before them. With a duration,
	// Requests is the upper bound.
	Requests, Warmup int
	// Address is how rules name it: the workload, then one element for each
	// dimension that the plan wrote as a list, in the order prompt, output, depth,
	// concurrency, rate: "chat", "chat.o32", "chat.p512.o32.d4096.c16". A rate of
	// 2.5 is the element "r2_5": a dot would end it.
	Address string
	// Label is how the field names its speeds: "pp2048 tg32 @ d4096, c16".
	Label string
}

// Cells are the combinations in the order in which the plan writes them, the
// last dimension varying fastest.
func (w *Workload) Cells() []Cell {
	var cells []Cell
	concurrency := w.Concurrency
	if w.open() {
		concurrency = []int{w.MaxConcurrency}
	}
	for _, p := range orOne(w.PromptTokens) {
		for _, o := range orOne(w.OutputTokens) {
			for _, d := range orOne(w.Depth) {
				for _, c := range orOne(concurrency) {
					for _, r := range orOne(w.Rate) {
						cells = append(cells, w.cell(p, o, d, c, r))
					}
				}
			}
		}
	}
	return cells
}

// orOne is a dimension's values, or the zero that stands for one that is drawn
// or not there.
func orOne[T any](values []T) []T {
	if len(values) == 0 {
		return make([]T, 1)
	}
	return values
}

func (w *Workload) cell(p, o, d, c int, r float64) Cell {
	if !w.open() {
		c = max(1, c)
	}
	address := w.Name
	element := func(list bool, letter, value string) {
		if list {
			address += "." + letter + value
		}
	}
	element(w.PromptList, "p", strconv.Itoa(p))
	element(w.OutputList, "o", strconv.Itoa(o))
	element(w.DepthList, "d", strconv.Itoa(d))
	element(w.ConcurrencyList && !w.open(), "c", strconv.Itoa(c))
	element(w.RateList, "r", rateElement(r))
	return Cell{
		Workload: w.Name, Prompt: p, Output: o, Depth: d, Concurrency: c, Rate: r,
		Requests: w.requestsOf(c, r), Warmup: w.warmupOf(c), Address: address, Label: w.label(p, o, d, c, r),
	}
}

// rateElement is a rate in an address.
func rateElement(r float64) string {
	return strings.ReplaceAll(strconv.FormatFloat(r, 'f', -1, 64), ".", "_")
}

// label names a cell as the field does. What is at its usual value in all cells
// is left out.
func (w *Workload) label(p, o, d, c int, r float64) string {
	text := lengthLabel("pp", p, w.PromptLengths) + " " + lengthLabel("tg", o, w.OutputLengths)
	if d > 0 {
		text += fmt.Sprintf(" @ d%d", d)
	}
	switch {
	case r > 0 && w.RateTo > 0:
		text += fmt.Sprintf(", %g to %g req/s", r, w.RateTo)
	case r > 0:
		text += fmt.Sprintf(", %g req/s", r)
	case w.open():
		text += ", as traced"
	case c > 1 || len(w.Concurrency) > 1:
		text += fmt.Sprintf(", c%d", c)
	}
	return text
}

// lengthLabel is "pp512", "pp~512" where lengths are drawn with that mean, and
// "pp*" where they stand in a file.
func lengthLabel(what string, tokens int, drawn *Lengths) string {
	switch {
	case tokens > 0:
		return what + strconv.Itoa(tokens)
	case drawn == nil:
		return what + "*"
	}
	mean := drawn.Mean
	if drawn.Distribution == "uniform" {
		mean = float64(drawn.Min+drawn.Max) / 2
	}
	return what + "~" + strconv.FormatFloat(mean, 'f', -1, 64)
}
