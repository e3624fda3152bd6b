package main

import (
	"context"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/ending"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/inert"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/steps/apply"
)

// newProgress shows how an apply goes on: as a stream of objects, as a line at the
// bottom of a terminal, or as lines.
func newProgress(a *app) apply.Observer {
	if !a.json && terminal(a.stdout) {
		return &live{notes: notes{a}, line: "starting"}
	}
	return &plain{notes: notes{a}}
}

// notes prints what a person should know besides the progress. What it prints to is
// looked up each time, since loading a plan puts a net for its secrets before it.
type notes struct{ app *app }

func (n notes) Note(r verdict.Reason) { fmt.Fprintln(n.app.stderr, "note:", tell.Line(r)) }

// plain shows each event by itself as it comes.
type plain struct {
	notes
	mu sync.Mutex
}

func (p *plain) Begin(s apply.Start) {
	if !p.app.json {
		fmt.Fprintf(p.app.stdout, "mxflow %s: plan %s, run %s\n", version, s.Plan.Name, s.Run)
	}
}

// Event prints one object, or a line where there is something to say: for logs and pipes.
func (p *plain) Event(ev runtime.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.app.json {
		p.app.printLine(ev)
	} else if text := describe(ev); text != "" {
		fmt.Fprintf(p.app.stdout, "[%6.1fs] %s%s\n", ev.Elapsed, text, eta(ev))
	}
}

func (p *plain) End(*apply.Result) {}

func eta(ev runtime.Event) string {
	if ev.Type != "launch_started" {
		return ""
	}
	return "  " + left(ev.ETALeast, ev.ETA)
}

// left is how long a run goes on, of what is known of that.
func left(least, most float64) string {
	switch {
	case most > 0:
		return "ETA " + tell.Between(least, most)
	case least >= 0.5: // which is printed as a second
		return "ETA at least " + tell.Lasting(least)
	}
	return "ETA unknown until the first launch"
}

// live keeps one line at the bottom of a terminal: how much of the whole is done, how
// long it will take, and where it is. What has happened scrolls above it.
type live struct {
	notes
	began time.Time
	bars  *mpb.Progress
	bar   *mpb.Bar

	mu   sync.Mutex
	line string
	// loading is how a start comes along that began at since; nil while none does.
	loading *runtime.Loading
	since   time.Time
	// least and most are the seconds that were left at a time.
	least, most float64
	at          time.Time
	// over is set when no launch is left.
	over bool
}

func (l *live) Begin(s apply.Start) {
	l.began, l.at = time.Now(), time.Now()
	l.least, l.most = s.Estimate.Low, s.Estimate.High
	l.bars = mpb.New(mpb.WithOutput(bare(l.app.stdout)), mpb.WithRefreshRate(150*time.Millisecond), mpb.WithWidth(80))
	l.bar = l.bars.New(int64(max(1, s.Estimate.Launches)), mpb.BarStyle().Rbound("]").Lbound("["),
		mpb.BarWidth(barWidth), mpb.BarRemoveOnComplete(),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return l.text() })),
		mpb.BarExtender(mpb.BarFillerFunc(l.logLine), false))
	l.scroll(fmt.Sprintf("mxflow %s: plan %s, run %s", version, s.Plan.Name, s.Run))
}

// scroll prints a line above the live one.
func (l *live) scroll(line string) { fmt.Fprintln(l.bars, l.safe(line)) }

// safe is text inert and without secrets. The display steers the terminal, which it
// has to see as one: no writer that cleans stands between.
func (l *live) safe(text string) string { return l.app.secrets.Text(inert.Text(text)) }

// text has first what people look for, since a narrow terminal cuts the end.
func (l *live) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	since := time.Since(l.at).Seconds()
	eta := left(max(0, l.least-since), max(0, l.most-since))
	if l.over {
		eta = "deciding"
	}
	line := l.line
	if l.loading != nil {
		line = loadingWords(l.loading, time.Since(l.since).Seconds()) + " · " + line
	}
	s := fmt.Sprintf(" %s · %s · elapsed %s", eta, line, tell.Rough(time.Since(l.began).Seconds()))
	return table.Fit(l.safe(s), l.app.width()-barWidth-3)
}

// logLine is the last line of an engine that loads, below the live one.
func (l *live) logLine(w io.Writer, _ decor.Statistics) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.loading == nil || l.loading.Log == "" {
		return nil
	}
	_, err := fmt.Fprintln(w, table.Fit("  | "+l.safe(l.loading.Log), l.app.width()-1))
	return err
}

// barWidth is the drawn bar's, in columns.
const barWidth = 12

func (l *live) Event(ev runtime.Event) {
	l.mu.Lock()
	l.least, l.most, l.at = ev.ETALeast, ev.ETA, time.Now()
	l.over = ev.Left == 0 && ev.Made > 0
	switch ev.Type {
	case "launch_started", "level_started", "request_done":
		l.line, l.loading = status(ev), nil
	case "stage_started", "launch_loading":
		l.loading, l.since = ev.Loading, time.Now().Add(-time.Duration(ev.Seconds*float64(time.Second)))
	case "launch_ready", "launch_done", "node_done":
		l.loading = nil
	}
	l.mu.Unlock()
	// Completing it would take it away.
	l.bar.SetTotal(int64(ev.Made+max(1, ev.Left)), false)
	l.bar.SetCurrent(int64(ev.Made))
	// A launch's start and its stages are on the live line; what scrolls is what ended,
	// and why something is made again.
	if text := describe(ev); text != "" && ev.Loading == nil && (ev.Type != "launch_started" || ev.Again > 0) {
		l.scroll(fmt.Sprintf("[%6.1fs] %s", ev.Elapsed, folded(text, l.app.width()-len(indent))))
	}
}

// indent is before what belongs to an event, which stands behind its time.
const indent = "           "

// folded breaks the lines of an event between words, to stand behind its time.
func folded(text string, width int) string {
	var out []string
	for line := range strings.Lines(text) {
		wrapped := table.Wrap(line, max(table.LeastColumn, width))
		out = append(out, strings.ReplaceAll(wrapped, "\n", "\n"+indent))
	}
	return strings.Join(out, "\n"+indent)
}

func (l *live) End(*apply.Result) {
	l.bar.Abort(true)
	l.bars.Wait()
}

// describe is an event as a line; empty for those that only a live display
// shows.
func describe(ev runtime.Event) string {
	where := place(ev)
	switch ev.Type {
	case "node_started":
		if ev.Why.Code == code.Relaxed {
			return fmt.Sprintf("%s: measured anew: %s", where, tell.Line(ev.Why))
		}
	case "launch_started":
		if ev.Level == "qualification" {
			if ev.Again > 0 {
				return fmt.Sprintf("%s: qualification launch of %s again%s", where, ev.Variant, behind(": ", tell.Brief(ev.Why)))
			}
			return fmt.Sprintf("%s: qualification launch of %s", where, ev.Variant)
		}
		return fmt.Sprintf("%s: %s %s%s", where, ev.Level, launchWord(ev), behind(": ", tell.Brief(ev.Why)))
	case "stage_started":
		return fmt.Sprintf("%s: %s (%s)", where, loadingWords(ev.Loading, ev.Seconds), ev.Variant)
	case "launch_done":
		if !ev.Why.IsZero() {
			return fmt.Sprintf("%s: launch %d of %d broke: %s", where, ev.Launch, ev.Launches, tell.Line(ev.Why))
		}
	case "level_done":
		return fmt.Sprintf("%s: %s %s%s", where, ev.Level, ev.Verdict, tell.Because(tell.Few(ev.Reasons, 1)))
	case "node_done":
		if ev.Action == runtime.Reuse {
			return fmt.Sprintf("%s: %s%s (kept from before)", ev.Node, ev.Verdict, behind(", ", tell.Line(ev.Why)))
		}
		return fmt.Sprintf("%s: %s%s%s", ev.Node, ev.Verdict, behind(", ", tell.Line(ev.Why)), below(saying(ev)))
	case "node_locked":
		if ev.Why.Code == code.NotTargeted {
			return "" // the table says it
		}
		return fmt.Sprintf("%s: locked, because %s", ev.Node, tell.Line(ev.Why))
	case "note":
		return "note: " + tell.Line(ev.Why)
	}
	return ""
}

// loadingWords is how a start comes along: "loading weights, 41 s, GPU 61.3 of 151 GB".
func loadingWords(l *runtime.Loading, seconds float64) string {
	words, known := tell.Stage(l.Stage)
	if !known {
		words = l.Stage
	}
	return words + ", " + tell.Rough(seconds) + behind(", ", tell.GPUMemory(l.GPUMemory, l.GPUMemoryTotal))
}

// launchWord names a launch: "launch 5 of 8–16 (gemm)" where 8 are made in any case,
// and "launch 5 of 16 again (gemm)" where it stands in the place of one that does not
// count.
func launchWord(ev runtime.Event) string {
	again := ""
	if ev.Again > 0 {
		again = " again"
	}
	of := fmt.Sprint(ev.Launches)
	if ev.LaunchesLeast > 0 && ev.LaunchesLeast < ev.Launches {
		of = fmt.Sprintf("%d–%d", ev.LaunchesLeast, ev.Launches)
	}
	return fmt.Sprintf("launch %d of %s%s (%s)", ev.Launch, of, again, ev.Variant)
}

// saying are the reasons of a decision for its line: in brief, since a level that
// did not pass has a line of its own, and without what the table at the end says too.
func saying(ev runtime.Event) []string {
	said, left := false, 0
	var kept []verdict.Reason
	for _, r := range confirmed(ev.Reasons) {
		// Of what holds only the first is kept, and that where all of it holds.
		if r.Verdict == verdict.Pass && !ofConfirmation(r) {
			if said || !verdict.Verdict(ev.Verdict).Unlocks() {
				left++
				continue
			}
			said = true
		}
		kept = append(kept, brief(r))
	}
	if len(kept) == 0 {
		return tell.Lines(ev.Reasons)
	}
	lines := tell.Lines(kept)
	if left > 0 {
		lines[len(lines)-1] += fmt.Sprintf(" (and %d more that pass)", left)
	}
	return lines
}

// confirmed are what other engines say of a feature, where they are among its
// reasons: the others are those of the first engine, whose line stands above.
func confirmed(reasons []verdict.Reason) []verdict.Reason {
	first := slices.IndexFunc(reasons, func(r verdict.Reason) bool { return !ofConfirmation(r) })
	if first <= 0 {
		return reasons
	}
	return reasons[:first]
}

func ofConfirmation(r verdict.Reason) bool {
	switch r.Code {
	case code.Confirmed, code.NotConfirmed, code.NotTried, code.ConfirmationNotRun:
		return true
	}
	return false
}

// brief is a reason without why a level did not pass that it follows from, which the
// level says itself. What passed on another engine is nothing that it was not
// confirmed for.
func brief(r verdict.Reason) verdict.Reason {
	var causes []verdict.Reason
	for _, c := range r.Causes {
		if c.Code == code.Level && c.Verdict != verdict.Pass {
			c = verdict.New(code.LevelIs).On(c.Subject).Is(c.Verdict)
		}
		causes = append(causes, brief(c))
	}
	return r.From(causes...)
}

// place is where in the plan an event belongs.
func place(ev runtime.Event) string {
	switch {
	case ev.Feature != "":
		return ev.Phase + " / " + ev.Feature
	case ev.Phase != "":
		return ev.Phase
	default:
		return ev.Node
	}
}

// below lists reasons under a line, one each.
func below(reasons []string) string {
	if len(reasons) == 1 {
		return ": " + reasons[0]
	}
	var b strings.Builder
	for _, r := range reasons {
		b.WriteString("\n" + indent + r)
	}
	return b.String()
}

// status is an event as the one line that a live display rewrites, what changes most
// first.
func status(ev runtime.Event) string {
	var parts []string
	if ev.Launches > 0 {
		parts = append(parts, launchWord(ev))
	}
	if ev.Requests > 0 {
		parts = append(parts, fmt.Sprintf("request %d of %d", ev.Request, ev.Requests))
	}
	if ev.Level != "" {
		parts = append(parts, ev.Level)
	}
	return strings.Join(append(parts, place(ev)), " · ")
}

// shuttingDown is said of an interruption where the engine is mxflow's own.
const shuttingDown = "shutting down the engine; press Ctrl-C again to kill it"

// signals gives two contexts: the first Ctrl-C (or SIGTERM) ends soft, which
// stops the launch in hand in order; the second ends hard, which stops at once.
// SIGHUP and SIGPIPE are ignored: a closed terminal, or a pager that was left,
// does not end a run.
func signals(ctx context.Context, stderr io.Writer, says string) (soft, hard context.Context, release func()) {
	soft, stopSoft := context.WithCancel(ctx)
	// Stopping in order goes on after soft has ended, so hard must not end with it.
	hard, stopHard := context.WithCancel(context.WithoutCancel(ctx))
	signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE)
	c := ending.Interrupts()
	done := make(chan struct{})
	go func() {
		for n := 1; ; n++ {
			select {
			case <-done:
				return
			case s := <-c:
				if n == 1 {
					fmt.Fprintf(stderr, "\n%s: %s\n", s, says)
					stopSoft()
				} else {
					stopHard()
				}
			}
		}
	}()
	return soft, hard, func() {
		// The signals stay caught: one that comes when the outcome is on record
		// must not change the exit status.
		close(done)
		stopSoft()
		stopHard()
	}
}
