// Package progress shows the progress of a run, from its events alone: a line each, a
// line that a terminal rewrites, a stream of objects, and a file for onlookers. It knows
// no flags, ends nothing and decides nothing.
package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/steps/apply"
)

// Screen is where progress is shown.
type Screen struct {
	// Version is mxflow's.
	Version string
	// Out is called each time: loading a plan adds the redaction of its secrets.
	Out func() io.Writer
	// Terminal is for a live display's control codes; nil if there is none.
	Terminal io.Writer
	// Width is that of the terminal, in columns.
	Width func() int
	// JSON prints an object on its own line; nil for people.
	JSON func(any)
	// Safe is text without secrets or terminal control codes.
	Safe func(string) string
	// Note prints other facts for a person.
	Note func(verdict.Reason)
}

// New shows an apply's progress: as a stream of objects, as a line at the bottom of a
// terminal, or as lines.
func New(on Screen) apply.Observer {
	if on.JSON == nil && on.Terminal != nil {
		return &live{on: on, line: "starting"}
	}
	return &plain{on: on}
}

// plain prints each event separately as it comes.
type plain struct {
	on     Screen
	mu     sync.Mutex
	locked locks
}

func (p *plain) Begin(s apply.Start) {
	if p.on.JSON == nil {
		fmt.Fprintf(p.on.Out(), "mxflow %s: plan %s, run %s\n", p.on.Version, s.Plan.Name, s.Run)
	}
}

// Event prints one object, or a line if there is something to report: for logs and pipes.
func (p *plain) Event(ev runtime.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.on.JSON != nil {
		p.on.JSON(ev)
		return
	}
	for _, ev := range p.locked.before(ev) {
		if text := describe(ev); text != "" {
			fmt.Fprintf(p.on.Out(), "[%6.1fs] %s%s\n", ev.Elapsed, text, eta(ev))
		}
	}
}

func (p *plain) End(*apply.Result) {
	if p.on.JSON == nil {
		p.Event(runtime.Event{})
	}
}

func (p *plain) Note(r verdict.Reason) { p.on.Note(r) }

// live keeps one line at the bottom of a terminal: how much is done, how long it will
// take, and the current activity. Past events scroll above it.
type live struct {
	on    Screen
	began time.Time
	// stop ends the redrawing, which has ended when drawing is done.
	stop    chan struct{}
	drawing sync.WaitGroup

	mu   sync.Mutex
	line string
	// drawn is how many lines the next redraw replaces.
	drawn int
	// made and left count launches.
	made, left int
	// loading is the progress of a start that began at since; nil if none is in progress.
	loading *runtime.Loading
	since   time.Time
	// least and most are the remaining seconds as of a time.
	least, most float64
	at          time.Time
	// over is set when no launch is left.
	over   bool
	locked locks
}

func (l *live) Begin(s apply.Start) {
	l.began, l.at = time.Now(), time.Now()
	l.least, l.most, l.left = s.Estimate.Low, s.Estimate.High, s.Estimate.Launches
	l.scroll(fmt.Sprintf("mxflow %s: plan %s, run %s", l.on.Version, s.Plan.Name, s.Run))
	l.stop = make(chan struct{})
	l.drawing.Go(func() {
		tick := time.NewTicker(150 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-l.stop:
				return
			case <-tick.C:
				l.draw("")
			}
		}
	})
}

// scroll prints a line above the live one.
func (l *live) scroll(line string) { l.draw(l.on.Safe(line) + "\n") }

// draw replaces the live lines by a text that stays and the live lines as of now.
func (l *live) draw(above string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.replace(above, " "+bar(l.made, l.made+max(1, l.left))+" "+l.text()+"\n"+l.logLine())
}

// replace goes up to the first of the live lines, erases all below, and prints.
func (l *live) replace(above, lines string) {
	erase := ""
	if l.drawn > 0 {
		erase = fmt.Sprintf("\x1b[%dA\x1b[J", l.drawn)
	}
	l.drawn = strings.Count(lines, "\n")
	_, _ = io.WriteString(l.on.Terminal, erase+above+lines)
}

// bar shows the share of the launches that are made.
func bar(made, total int) string {
	const inside = barWidth - 2
	done := ""
	if n := (inside*made + total/2) / total; n > 0 {
		done = strings.Repeat("=", n-1) + ">"
	}
	return "[" + done + strings.Repeat("-", inside-len(done)) + "]"
}

// text has the most important part first, as a narrow terminal cuts the end.
func (l *live) text() string {
	since := time.Since(l.at).Seconds()
	eta := Left(max(0, l.least-since), max(0, l.most-since))
	if l.over {
		eta = "deciding"
	}
	line := l.line
	if l.loading != nil {
		line = Loading(l.loading, time.Since(l.since).Seconds()) + " · " + line
	}
	s := fmt.Sprintf(" %s · %s · elapsed %s", eta, line, verdict.Rough(time.Since(l.began).Seconds()))
	return table.Fit(l.on.Safe(s), l.on.Width()-barWidth-3)
}

// logLine is the last log line of a loading engine, below the live one.
func (l *live) logLine() string {
	if l.loading == nil || l.loading.Log == "" {
		return ""
	}
	return table.Fit("  | "+l.on.Safe(l.loading.Log), l.on.Width()-1) + "\n"
}

// barWidth is the drawn bar's, in columns.
const barWidth = 12

func (l *live) Event(ev runtime.Event) {
	l.mu.Lock()
	l.least, l.most, l.at = ev.ETALeast, ev.ETA, time.Now()
	l.over = ev.Left == 0 && ev.Made > 0
	l.made, l.left = ev.Made, ev.Left
	switch ev.Type {
	case "launch_started", "level_started", "request_done":
		l.line, l.loading = Status(ev), nil
	case "stage_started", "launch_loading":
		l.loading, l.since = ev.Loading, time.Now().Add(-time.Duration(ev.Seconds*float64(time.Second)))
	case "launch_ready", "launch_done", "node_done":
		l.loading = nil
	}
	report := l.locked.before(ev)
	l.mu.Unlock()
	l.report(report)
}

// report scrolls events. A launch's start and its stages are on the live line; what
// scrolls is what ended, and why something is repeated.
func (l *live) report(events []runtime.Event) {
	for _, ev := range events {
		if text := describe(ev); text != "" && ev.Loading == nil && (ev.Type != "launch_started" || ev.Again > 0) {
			l.scroll(fmt.Sprintf("[%6.1fs] %s", ev.Elapsed, folded(text, l.on.Width()-len(indent))))
		}
	}
}

// folded breaks the lines of an event between words, to follow its time.
func folded(text string, width int) string {
	var out []string
	for line := range strings.Lines(text) {
		wrapped := table.Wrap(line, max(table.LeastColumn, width))
		out = append(out, strings.ReplaceAll(wrapped, "\n", "\n"+indent))
	}
	return strings.Join(out, "\n"+indent)
}

func (l *live) End(*apply.Result) {
	l.report(l.locked.before(runtime.Event{}))
	close(l.stop)
	l.drawing.Wait()
	l.replace("", "")
}

func (l *live) Note(r verdict.Reason) { l.on.Note(r) }
