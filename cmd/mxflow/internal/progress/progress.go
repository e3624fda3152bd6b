// Package progress shows the progress of a run, from its events alone: a line each, lines
// that a terminal rewrites, a stream of objects, and a file for onlookers. It knows no flags,
// ends nothing and decides nothing.
package progress

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/lipgloss"

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
	// Terminal is for a live display's control codes; nil if there is none. Verdicts have
	// colours there if Colour is set.
	Terminal io.Writer
	Colour   bool
	// Width is that of the terminal, in columns.
	Width func() int
	// JSON prints an object on its own line; nil for people.
	JSON func(any)
	// Safe is text without secrets or terminal control codes.
	Safe func(string) string
	// Untitled leaves out the run's title, where several runs answer one question.
	Untitled bool
	// Note prints other facts for a person.
	Note func(verdict.Reason)
}

// New shows an apply's progress: as a stream of objects, as lines at the bottom of a
// terminal, or as lines for a log.
func New(on Screen) apply.Observer {
	if on.JSON == nil && on.Terminal != nil {
		return &live{Screen: on, launch: runtime.Event{Node: "starting"}}
	}
	return &plain{Screen: on}
}

func title(on Screen, s apply.Start) string {
	return fmt.Sprintf("mxflow %s: plan %s, run %s", on.Version, s.Plan.Name, s.Run)
}

// plain prints a line for each launch and each outcome, for logs and pipes.
type plain struct {
	Screen
	mu     sync.Mutex
	locked locks
	lines  lines
}

func (p *plain) Begin(s apply.Start) {
	if p.JSON == nil && !p.Untitled {
		fmt.Fprintln(p.Out(), title(p.Screen, s))
	}
}

func (p *plain) Event(ev runtime.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.JSON != nil {
		p.JSON(ev)
		return
	}
	for _, ev := range p.locked.before(ev) {
		line := p.lines.next(ev)
		if ev.Type == "launch_done" && line.text == "" && ev.Level != "qualification" {
			line = entry{name(ev), "", launchWord(ev) + verdict.Behind(", ", speed(ev.Decode)) +
				verdict.Behind(" · ", Left(ev.ETALeast, ev.ETAMost))}
		}
		if !line.empty() {
			fmt.Fprintln(p.Out(), strings.TrimRight(stamp(ev)+line.lead()+line.text, " "))
		}
	}
}

func (p *plain) End(*apply.Result) {
	if p.JSON == nil {
		p.Event(runtime.Event{})
	}
}

// live keeps the current activity and the phases at the bottom of a terminal. What ended
// scrolls above them.
type live struct {
	Screen
	began time.Time
	// stop ends the redrawing, which has ended when drawing is done.
	stop    chan struct{}
	drawing sync.WaitGroup

	mu sync.Mutex
	// launch is the newest event with a position in the plan.
	launch runtime.Event
	rail   rail
	// drawn is how many lines the next redraw replaces.
	drawn int
	// decode is the decode speed of the last launch that showed one.
	decode float64
	// start is the newest event of a start in progress that began at since; zero if there is
	// none.
	start runtime.Event
	since time.Time
	// least and most are the remaining seconds as of a time; 0 for unknown. over is set when no launch
	// is left.
	least, most float64
	at          time.Time
	over        bool
	locked      locks
	lines       lines
}

func (l *live) Begin(s apply.Start) {
	l.began, l.at = time.Now(), time.Now()
	l.least, l.most = s.Estimate.Low, s.Estimate.High
	for _, ph := range s.Plan.Phases {
		l.rail = append(l.rail, railPhase{ph.Name, "·"})
	}
	if l.Untitled {
		l.draw("")
	} else {
		l.draw(l.Safe(title(l.Screen, s)) + "\n")
	}
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

// draw replaces the live lines by a text that stays and the live lines as of now.
func (l *live) draw(above string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.status() + "\n"
	if l.start.Line != "" {
		lines += table.Fit("  | "+l.Safe(l.start.Line), l.Width()-1) + "\n"
	}
	if !l.start.Why.IsZero() {
		lines += table.Fit("  "+l.Safe(l.start.Why.String()), l.Width()-1) + "\n"
	}
	if text := l.rail.fit(l.Width() - 2); text != "" {
		lines += " " + l.Safe(text) + "\n"
	}
	l.replace(above, lines)
}

// replace goes up to the first of the live lines, erases all below, and prints.
func (l *live) replace(above, lines string) {
	erase := ""
	if l.drawn > 0 {
		erase = fmt.Sprintf("\x1b[%dA\x1b[J", l.drawn)
	}
	l.drawn = strings.Count(lines, "\n")
	_, _ = io.WriteString(l.Terminal, erase+above+lines)
}

// mostName is how much of a feature's name the live line shows.
const mostName = 18

// status is the current activity, the last decode speed and the time left. A narrow terminal does without
// requests, the last speed and the variant first, and cuts the name, never how far the launches are.
func (l *live) status() string {
	ev := l.launch
	ev.Feature, ev.Variant = table.Fit(ev.Feature, mostName), table.Fit(ev.Variant, mostName)
	last, left := verdict.Behind(" · last ", speed(l.decode)), ""
	if l.start.Type != "" {
		last, left = "", " · "+Starting(time.Since(l.since).Seconds())
	}
	gone := time.Since(l.at).Seconds()
	switch text := Left(l.least-gone, l.most-gone); {
	case l.over:
		left += " · deciding"
	case text != "":
		left += " · " + text
	default: // unknown, or it took longer
		left += " · " + verdict.Rough(time.Since(l.began).Seconds()) + " so far"
	}
	line := func() string { return l.Safe(" " + Status(ev) + last + left) }
	for _, without := range []func(){
		func() {}, func() { ev.Requests = 0 }, func() { last = "" }, func() { ev.Variant = ev.Feature },
	} {
		if without(); lipgloss.Width(line()) < l.Width() {
			return line()
		}
	}
	ev.Feature = table.Fit(ev.Feature, max(10, lipgloss.Width(ev.Feature)+l.Width()-1-lipgloss.Width(line())))
	ev.Variant = ev.Feature
	return table.Fit(line(), l.Width()-1)
}

func (l *live) Event(ev runtime.Event) {
	l.mu.Lock()
	l.least, l.most, l.at, l.over = ev.ETALeast, ev.ETAMost, time.Now(), ev.Made > 0 && ev.Left == 0
	l.rail.see(ev)
	switch ev.Type {
	case "launch_started", "level_started", "request_done":
		l.launch, l.start = ev, runtime.Event{}
	case "node_started":
		l.launch, l.decode = ev, 0
	case "launch_loading":
		l.start, l.since = ev, time.Now().Add(-time.Duration(ev.Seconds*float64(time.Second)))
	case "launch_done":
		if ev.Decode > 0 {
			l.decode = ev.Decode
		}
		l.start = runtime.Event{}
	case "launch_ready", "node_done":
		l.start = runtime.Event{}
	}
	report := l.locked.before(ev)
	l.mu.Unlock()
	l.report(report)
}

// report scrolls what ended, and why something is repeated.
func (l *live) report(events []runtime.Event) {
	for _, ev := range events {
		line := l.lines.next(ev)
		if line.empty() {
			continue
		}
		lead, text := stamp(ev)+l.Safe(line.lead()), ""
		indent := lipgloss.Width(lead)
		if indent > l.Width()/2 && indent+lipgloss.Width(l.Safe(line.text)) > l.Width() { // the text is below
			indent = lipgloss.Width(stamp(ev))
			text = "\n" + strings.Repeat(" ", indent)
		}
		text += strings.ReplaceAll(table.Wrap(l.Safe(line.text), l.Width()-indent), "\n",
			"\n"+strings.Repeat(" ", indent))
		if line.word != "" {
			lead = strings.TrimSuffix(lead, line.word+gap) + table.Coloured(line.word, line.word, l.Colour) + gap
		}
		l.draw(strings.TrimRight(strings.Replace(lead+text, gap+"\n", "\n", 1), " \n") + "\n")
	}
}

func (l *live) End(*apply.Result) {
	l.report(l.locked.before(runtime.Event{}))
	close(l.stop)
	l.drawing.Wait()
	l.replace("", "")
}

func (p *plain) Note(r verdict.Reason) { p.Screen.Note(r) }
func (l *live) Note(r verdict.Reason)  { l.Screen.Note(r) }

// rail are the phases of a plan in order, with how far each is.
type rail []railPhase

type railPhase struct{ name, mark string }

// see takes in an event.
func (r rail) see(ev runtime.Event) {
	i := slices.IndexFunc(r, func(s railPhase) bool { return s.name == ev.Phase })
	switch {
	case i < 0:
	case ev.Node != runtime.PhaseID(ev.Phase):
		if r[i].mark == "·" && ev.Type != "node_locked" {
			r[i].mark = "▸"
		}
	case ev.Type == "node_locked":
		r[i].mark = "–"
	case ev.Verdict == string(verdict.Pass) || ev.Waiver != nil:
		r[i].mark = "✓"
	case ev.Verdict == string(verdict.Inconclusive):
		r[i].mark = "?"
	case ev.Type == "node_done":
		r[i].mark = "✗"
	}
}

// fit are the phases within a width; without room for all, those from the current one on.
// Empty for a single one.
func (r rail) fit(width int) string {
	if len(r) < 2 {
		return ""
	}
	text, current := "", false
	for i, s := range slices.Backward(r) {
		text = strings.TrimSuffix(s.name+" "+s.mark+" · "+text, " · ")
		current = current || s.mark != "·" && s.mark != "–"
		if i > 0 && current && lipgloss.Width(r[i-1].name+text)+9 > width {
			text = "… · " + text
			break
		}
	}
	return table.Fit(text, width)
}
