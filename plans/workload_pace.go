package plans

import "math"

const (
	// maxRequests and maxConcurrency are far above what one client sends, maxRate
	// is requests a second.
	maxRequests    = 1_000_000
	maxConcurrency = 100_000
	maxRate        = 100_000
	minRate        = 0.001
	// maxCells is how many cells a workload may have, maxAllCells all of a plan.
	maxCells    = 1024
	maxAllCells = 20_000
)

var paceAttrs = []Attr{
	{Name: "concurrency", Type: Ints, Default: 1.0, Unit: "requests", Min: 1, MinSet: true, Max: maxConcurrency, Doc: "How many requests are kept in flight (closed loop): each answered one makes place for the next. A list makes a cell of each."},
	{Name: "rate", Type: Numbers, Unit: "requests a second", Min: minRate, MinSet: true, Max: maxRate, Doc: "Send by the clock, however slow the answers are (open loop), and count latencies from when a request should have been sent. In place of `concurrency`."},
	{Name: "rate_to", Type: Number, Unit: "requests a second", Min: minRate, MinSet: true, Max: maxRate, Doc: "What the rate grows or falls to, linearly, over the cell."},
	{Name: "arrival", Type: String, OneOf: []string{"poisson", "constant", "gamma", "trace"}, Doc: "How requests of an open loop arrive. With a rate, poisson where nothing is said: as of many independent users. Gamma has a `burstiness`; trace takes the times of the `dataset`."},
	{Name: "burstiness", Type: Number, Min: 0.01, MinSet: true, Max: 100, Doc: "Shape of gamma: 1 is poisson, less comes in bursts, more is more even."},
	{Name: "max_concurrency", Type: Int, Unit: "requests", Min: 1, MinSet: true, Max: maxConcurrency, Doc: "Cap of an open loop. What comes on top waits, and its latency runs. Without it there is none."},
	{Name: "requests", Type: Int, Default: 10.0, Unit: "requests", Min: 1, MinSet: true, Max: maxRequests, Doc: "Measured requests per cell and launch; with `turns`, conversations. Without it, at least 4 for each that is in flight; in an open loop what the rate sends in a minute. With a `duration` it is the upper bound."},
	{Name: "duration", Type: Duration, Doc: "End sending after this time; what is in flight then is still answered and measured."},
	{Name: "warmup", Type: Int, Default: 3.0, Unit: "requests", MinSet: true, Max: maxRequests, Doc: "Requests before them that are not measured. Without it, at least one for each that is in flight."},
}

func (w *Workload) decodePace(f *body) {
	w.Concurrency, w.ConcurrencyList = f.wholes("concurrency", 1, maxConcurrency)
	w.Rate, w.RateList = f.numbers("rate", minRate, maxRate)
	w.RateTo = f.number("rate_to", 0, minRate, maxRate)
	w.Arrival = f.choice("arrival", "poisson", "constant", "gamma", "trace")
	w.Burstiness = f.number("burstiness", 0, 0.01, 100)
	w.MaxConcurrency = f.whole("max_concurrency", 0, 1, maxConcurrency)
	w.Requests = f.whole("requests", 10, 1, maxRequests)
	w.Warmup = f.whole("warmup", 3, 0, maxRequests)
	w.Duration = f.duration("duration", 0)
	switch {
	case w.Arrival == "" && len(w.Rate) > 0:
		w.Arrival = "poisson"
	case w.Arrival == "" && len(w.Concurrency) == 0:
		w.Concurrency, w.ConcurrencyList = []int{1}, false
	}
}

// open reports whether requests are sent by the clock.
func (w *Workload) open() bool { return w.Arrival != "" }

// boundCells refuses a workload of too many cells, and cuts it down so that
// nobody makes them.
func (w *Workload) boundCells(l *loader, f *body) {
	n := 1
	for _, values := range []int{len(w.PromptTokens), len(w.OutputTokens), len(w.Depth), len(w.Concurrency), len(w.Rate)} {
		n *= max(1, values)
	}
	before := l.cells
	l.cells += min(n, maxCells)
	switch {
	case n > maxCells:
		f.l.fail(f.def, "Too many cells", "The lists of %s make %d cells, each of which is measured in every launch; there can be up to %d. Shorten a list, or split the workload.", f.what, n, maxCells)
	case l.cells <= maxAllCells:
		return
	case before <= maxAllCells: // said once
		f.l.fail(f.def, "Too many cells", "With %s the workloads of this plan have more than %d cells. Shorten their lists, or split the plan.", f.what, maxAllCells)
	}
	for _, list := range []*[]int{&w.PromptTokens, &w.OutputTokens, &w.Depth, &w.Concurrency} {
		*list = (*list)[:min(1, len(*list))]
	}
	w.Rate = w.Rate[:min(1, len(w.Rate))]
}

// countRequests decides where each cell has numbers of requests of its own.
func (w *Workload) countRequests(f *body) {
	requests, warmup := w.Requests, w.Warmup
	w.RequestsByCell, w.WarmupByCell = f.absent("requests"), f.absent("warmup")
	differs, warmupDiffers := false, false
	for _, c := range w.Cells() {
		differs = differs || c.Requests != requests
		warmupDiffers = warmupDiffers || c.Warmup != warmup
	}
	w.RequestsByCell, w.WarmupByCell = differs, warmupDiffers
}

// requestsOf is how many requests of a cell are measured: with a duration, at
// most.
func (w *Workload) requestsOf(concurrency int, rate float64) int {
	if !w.RequestsByCell {
		return w.Requests
	}
	seconds, n := w.Duration.Seconds(), 0.0
	switch {
	case w.Arrival == "trace":
		n = maxRequests // all that the file has
	case w.open() && seconds > 0:
		n = arrivals(w.meanRate(rate)*seconds, w.Burstiness)
	case w.open():
		n = math.Ceil(w.meanRate(rate) * 60)
	case seconds > 0:
		n = 200 * float64(concurrency)
	default:
		n = 4 * float64(concurrency)
	}
	most := maxRequests
	if w.Data != nil && w.Data.Count > 0 {
		most = max(1, w.Data.Count-w.warmupRows(concurrency))
	}
	return int(min(max(n, float64(w.Requests)), float64(most)))
}

func (w *Workload) meanRate(rate float64) float64 {
	if w.RateTo > 0 {
		return (rate + w.RateTo) / 2
	}
	return rate
}

// arrivals is a number of requests that hardly any run sends in a time in which
// so many are expected: six standard deviations above it. The variance of a
// gamma process is the mean by its shape; 0 stands for Poisson, whose shape is 1.
func arrivals(expected, shape float64) float64 {
	if shape == 0 {
		shape = 1
	}
	return math.Ceil(expected + 6*math.Sqrt(expected/shape) + 6)
}

func (w *Workload) warmupOf(concurrency int) int {
	if !w.WarmupByCell {
		return w.Warmup
	}
	if w.open() {
		concurrency = 0 // a cap is not reached by warming up
	}
	return max(w.Warmup, concurrency)
}
