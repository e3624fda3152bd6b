package measure

import "time"

// maxGap is how far apart readings may be for the time between them to count as
// watched. Telemetry reads ten times a second, and an engine's page four times.
const maxGap = 2 * time.Second

// window is a stretch of the recording's time.
type window struct{ from, to time.Duration }

func (c CellRun) window() window { return window{c.From, c.To} }

// exists is false for the windows of recordings that do not say when a cell was
// measured.
func (w window) exists() bool { return w.from >= 0 && w.to > w.from }

func (w window) seconds() float64 { return (w.to - w.from).Seconds() }

func (w window) holds(at time.Duration) bool { return at >= w.from && at <= w.to }

// windowsOf are the windows of all cells in order of time, overlapping ones as
// one. There are none when one is not known: what is left out might have been
// the bad one.
func windowsOf(cells []CellRun) []window {
	var all []window
	for _, c := range cells {
		if !c.window().exists() {
			return nil
		}
		all = append(all, c.window())
	}
	return union(all)
}

func totalSeconds(windows []window) float64 {
	var sum time.Duration
	for _, w := range windows {
		sum += w.to - w.from
	}
	return sum.Seconds()
}

// firstSend is when the first request of a recording was sent, warm-ups and
// contexts included.
func firstSend(samples []Sample) (first time.Duration, known bool) {
	for _, s := range samples {
		if s.recorded() && (!known || s.Start < first) {
			first, known = s.Start, true
		}
	}
	return first, known
}
