package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/charmbracelet/lipgloss"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// live keeps one line at the bottom of a terminal: where the run is, how long
// it has taken and how long it will. What has happened scrolls above it.
type live struct {
	app   *app
	clock *clock
	plan  *plans.Plan
	run   string
	bars  *mpb.Progress
	bar   *mpb.Bar

	mu   sync.Mutex
	line string
	eta  float64
	at   time.Time
}

func newLive(a *app, c *clock, p *plans.Plan, run string) *live {
	l := &live{app: a, clock: c, plan: p, run: run, line: "starting"}
	l.bars = mpb.New(mpb.WithOutput(a.stdout), mpb.WithRefreshRate(150*time.Millisecond), mpb.WithWidth(80))
	total := int64(max(1, c.left))
	l.bar = l.bars.New(total, mpb.BarStyle().Rbound("]").Lbound("["),
		mpb.BarWidth(barWidth), mpb.BarRemoveOnComplete(),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return l.text() })))
	return l
}

func (l *live) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := fmt.Sprintf(" %s · elapsed %s", l.line, rough(time.Since(l.clock.began).Seconds()))
	if left := l.eta - time.Since(l.at).Seconds(); l.eta > 0 && left > 0 {
		s += " · ETA " + rough(left)
	}
	return fit(s, l.app.width()-barWidth-6)
}

// barWidth is the drawn bar's, in columns.
const barWidth = 20

// fit cuts a line that would wrap: a display that rewrites one line cannot take
// back two.
func fit(s string, columns int) string {
	if columns < 10 || lipgloss.Width(s) <= columns {
		return s
	}
	cut := 0
	for i := range s {
		if lipgloss.Width(s[:i]) >= columns {
			break
		}
		cut = i
	}
	return s[:cut] + "…"
}

func (l *live) begin() {
	fmt.Fprintf(l.bars, "mxflow %s: plan %s, run %s\n", version, l.plan.Name, l.run)
}

func (l *live) event(ev runtime.Event) {
	ev = l.clock.at(ev)
	l.mu.Lock()
	l.eta, l.at = ev.ETA, time.Now()
	switch ev.Type {
	case "launch_started", "level_started", "request_done":
		l.line = status(ev)
	}
	l.mu.Unlock()
	if ev.Type == "launch_done" && ev.Again == 0 {
		l.bar.Increment()
	}
	// A launch's start is on the live line; what scrolls is what ended, and why
	// something is made again.
	if text := describe(ev); text != "" && (ev.Type != "launch_started" || ev.Again > 0) {
		fmt.Fprintf(l.bars, "[%6.1fs] %s\n", ev.Elapsed, text)
	}
}

func (l *live) end(s runtime.Summary, end *ledger.End) {
	l.bar.Abort(true)
	l.bars.Wait()
	l.app.table(s, end, l.clock)
}
