package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/term"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/foreign"
	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/steps/apply"
)

// prints is where a subcommand prints, and how: for a person's terminal, or as JSON.
type prints struct {
	stdout, stderr io.Writer
	json           bool
	// suggests makes a command line to run next, as suggest of an app does.
	suggests func(words ...string) string
	// secrets takes what is sensitive in the loaded plan out of what is shown.
	secrets *redact.Redactor
}

// printTable prints columns: coloured, and made to fit, on a terminal only.
func (p *prints) printTable(head []string, rows [][]string) { p.screen().Table(head, rows) }

// screen is where tables and sentences go.
func (p *prints) screen() table.Screen {
	return table.Screen{
		Writer: p.stdout, Width: p.fits(), Lines: p.height(), Colour: colours(p.stdout),
		Suggest: p.suggests,
	}
}

// fits is how wide tables may be; 0 for as wide as they are, where no person's
// terminal would break their lines.
func (p *prints) fits() int {
	if terminal(p.stdout) || environs("COLUMNS") > 0 {
		return p.width()
	}
	return 0
}

// fold has what a person reads keep to the width of the terminal; what programs read
// goes past it.
func (p *prints) fold() {
	if width := p.fits(); width > 0 && !p.json {
		p.stdout = &table.Folding{To: p.stdout, Width: width}
	}
}

// note prints what a person should know besides what was asked for.
func (p *prints) note(r verdict.Reason) { fmt.Fprintln(p.stderr, "note:", r.String()) }

// width is the width of the person's terminal in columns. COLUMNS counts only where the
// terminal reports none, because a shell does not update it when a window changes. Without
// either it is 100.
func (p *prints) width() int {
	columns, _, there := p.size()
	switch {
	case columns < 1 && environs("COLUMNS") > 0:
		columns = environs("COLUMNS")
	case columns < 1 && there:
		columns = 80
	case columns < 1:
		columns = 100
	}
	return max(columns, table.LeastColumn)
}

// height is how many lines are seen at once, as width is found.
func (p *prints) height() int {
	_, lines, there := p.size()
	switch {
	case lines < 1 && environs("LINES") > 0:
		lines = environs("LINES")
	case lines < 1 && there:
		lines = 24
	case lines < 1:
		lines = 60
	}
	return max(lines, 20)
}

// size is that of the terminal, if one is there; 0 where it does not know.
func (p *prints) size() (columns, lines int, there bool) {
	for _, w := range []io.Writer{p.stdout, p.stderr} {
		if f, ok := bare(w).(*os.File); ok && term.IsTerminal(int(f.Fd())) {
			columns, lines, err := term.GetSize(int(f.Fd()))
			if err != nil {
				return 0, 0, true
			}
			return columns, lines, true
		}
	}
	return 0, 0, false
}

// show prints data: as JSON, or as text for people.
func (p *prints) show(data any, text func()) {
	if p.json {
		p.printJSON(data)
	} else {
		text()
	}
}

func (p *prints) printJSON(v any) {
	data, err := verdict.JSON(p.secrets.Any(v, apply.Identities...))
	if err != nil {
		return
	}
	var page bytes.Buffer
	if json.Indent(&page, foreign.JSON(data), "", "  ") == nil {
		// Writing to a closed pipe is the reader's choice, not an error of ours.
		fmt.Fprintln(bare(p.stdout), page.String())
	}
}

// printLine prints one JSON object on a line of its own.
func (p *prints) printLine(v any) {
	if data, err := verdict.JSON(p.secrets.Any(v, apply.Identities...)); err == nil {
		fmt.Fprintf(bare(p.stdout), "%s\n", foreign.JSON(data))
	}
}

// report prints what is wrong with a plan: as text or as one JSON document.
func (p *prints) report(res *lang.Findings) {
	if p.json && !res.OK() {
		p.printJSON(map[string]any{"valid": false, "diagnostics": res.DiagnosticsJSON()})
		return
	}
	p.diagnostics(res)
}

// reportStreamed prints it as text or, in a stream of events, as a line each.
func (p *prints) reportStreamed(res *lang.Findings) {
	if !p.json {
		p.diagnostics(res)
		return
	}
	for _, d := range res.DiagnosticsJSON() {
		p.printLine(map[string]any{"type": "diagnostic", "time": time.Now().UTC(), "diagnostic": d})
	}
}

func (p *prints) diagnostics(res *lang.Findings) {
	if err := res.WriteDiagnostics(p.stderr, p.width(), colours(p.stderr)); err != nil {
		fmt.Fprintln(p.stderr, res.Diagnostics.Error())
	}
	if n := len(res.Diagnostics.Errs()); !res.OK() {
		fmt.Fprintf(p.stderr, "%s. Nothing was started.\n", verdict.Count(n, "error"))
	}
}

// environs is a number that the environment has; 0 where it has none.
func environs(name string) int {
	n, _ := strconv.Atoi(os.Getenv(name))
	return n
}

// terminal reports whether w is one.
func terminal(w io.Writer) bool {
	f, ok := bare(w).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// noColour is the --no-color flag.
var noColour bool

func colours(w io.Writer) bool {
	return terminal(w) && !noColour && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// hide keeps a plan's secrets out of everything that is printed from now on.
func (p *prints) hide(secrets []string) {
	redact.Know(secrets)
	if p.secrets = redact.New(secrets); !p.secrets.Active() {
		return
	}
	p.stdout, p.stderr = hiding{p.stdout, p.secrets}, hiding{p.stderr, p.secrets}
}

// hiding is a writer that takes secrets out of what is written at once. It is
// the last net: what is structured is cleaned before it becomes text.
type hiding struct {
	io.Writer
	secrets *redact.Redactor
}

func (h hiding) Write(p []byte) (int, error) {
	if _, err := h.Writer.Write(h.secrets.Bytes(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// inertWriter is a writer by which nobody's text steers a terminal.
func inertWriter(w io.Writer) io.Writer { return foreign.Writer{To: w, Colours: colours(w)} }

// exact is a writer that writes what it is given, without secrets: for documents that go
// into a file.
func exact(w io.Writer) io.Writer {
	switch w := w.(type) {
	case hiding:
		return hiding{exact(w.Writer), w.secrets}
	case foreign.Writer:
		return w.To
	case *table.Folding:
		return exact(w.To)
	}
	return w
}

// document is where text goes whose every byte counts, unless a person reads it.
func (p *prints) document() io.Writer {
	if f, ok := bare(p.stdout).(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return p.stdout
	}
	return exact(p.stdout)
}

// bare is what a writer writes to in the end.
func bare(w io.Writer) io.Writer {
	for {
		switch inner := w.(type) {
		case hiding:
			w = inner.Writer
		case foreign.Writer:
			w = inner.To
		case *table.Folding:
			w = inner.To
		default:
			return w
		}
	}
}
