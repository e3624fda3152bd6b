package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// streamVersion names the stream of apply --json; its first line says so.
const streamVersion = "mxflow.apply/2"

// progress shows how an apply goes on. event is called from several goroutines.
type progress interface {
	begin()
	event(ev runtime.Event)
	end(s runtime.Summary, end *ledger.End)
}

func (a *app) newProgress(p *plans.Plan, run string, e estimated) progress {
	clock := &clock{began: time.Now(), left: e.launches, perLaunch: e.perLaunch}
	switch {
	case a.json:
		return &jsonProgress{app: a, clock: clock, plan: p, run: run}
	case terminal(a.stdout):
		return newLive(a, clock, p, run)
	default:
		return &plain{app: a, clock: clock, plan: p, run: run}
	}
}

// clock knows how long a run has taken and, from the launches that are left and
// how long launches took, how long it will.
type clock struct {
	mu        sync.Mutex
	began     time.Time
	left      int
	perLaunch float64
	seen      int
	spent     float64
}

// at notes an event and returns it with elapsed time and ETA.
func (c *clock) at(ev runtime.Event) runtime.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if ev.Time.IsZero() {
		ev.Time = now.UTC()
	}
	ev.Elapsed = now.Sub(c.began).Seconds()
	if ev.Type == "launch_done" {
		if ev.Again == 0 { // else its place was counted with the first one
			c.left--
		}
		c.seen++
		c.spent += ev.Seconds
	}
	if ev.Type == "launches_spared" {
		c.left -= ev.Launches
	}
	per := c.perLaunch
	if c.seen > 0 {
		per = c.spent / float64(c.seen)
	}
	if c.left > 0 && per > 0 {
		ev.ETA = float64(c.left) * per
	}
	return ev
}

// jsonProgress prints one object a line. The first names the stream's version.
type jsonProgress struct {
	app   *app
	clock *clock
	plan  *plans.Plan
	run   string
	mu    sync.Mutex
}

func (j *jsonProgress) print(ev runtime.Event) {
	ev = j.clock.at(ev)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.app.printLine(ev)
}

func (j *jsonProgress) begin() {
	j.print(runtime.Event{Type: "run_started", Run: j.run, Message: j.plan.Name})
}

func (j *jsonProgress) event(ev runtime.Event) { j.print(ev) }

func (j *jsonProgress) end(s runtime.Summary, end *ledger.End) {
	j.print(runtime.Event{Type: "run_done", Run: j.run, Verdict: string(end.Verdict), Exit: &end.Exit, Why: end.Reason})
}

// plain prints a line for each thing that happened: for logs and pipes.
type plain struct {
	app   *app
	clock *clock
	plan  *plans.Plan
	run   string
	mu    sync.Mutex
}

func (p *plain) begin() {
	fmt.Fprintf(p.app.stdout, "mxflow %s: plan %s, run %s\n", version, p.plan.Name, p.run)
}

func (p *plain) event(ev runtime.Event) {
	ev = p.clock.at(ev)
	text := describe(ev)
	if text == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.app.stdout, "[%6.1fs] %s%s\n", ev.Elapsed, text, eta(ev))
}

func (p *plain) end(s runtime.Summary, end *ledger.End) {
	p.app.table(s, end, p.clock)
}

func eta(ev runtime.Event) string {
	if ev.Type != "launch_started" || ev.ETA <= 0 {
		return ""
	}
	return fmt.Sprintf("  ETA %s", rough(ev.ETA))
}

// rough prints seconds as people say them.
func rough(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	if d < time.Minute {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
}
