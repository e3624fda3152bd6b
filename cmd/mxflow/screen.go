package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

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
	// secrets takes what is sensitive in the loaded plan out of what is shown.
	secrets *redact.Redactor
	// unwritten is why something could not be written as JSON.
	unwritten error
}

// screen is where tables and sentences go.
func (a *app) screen() table.Screen {
	s := table.Screen{Writer: a.stdout, Colour: colours(a.stdout), Suggest: a.suggest}
	if table.Folds(a.stdout) {
		s.Width = a.width()
	}
	return s
}

// width is how wide text for a person is.
func (p *prints) width() int { return table.WidthOf(p.stdout, p.stderr) }

// fold has what a person reads keep to the width of the terminal; what programs read
// goes past it.
func (p *prints) fold() {
	if table.Folds(p.stdout) && !p.json {
		p.stdout = &table.Folding{To: p.stdout, Width: p.width()}
	}
}

// file has what is a file to others keep its characters in every locale, unless a person reads it.
func (p *prints) file() {
	if !table.Terminal(p.stdout) {
		p.stdout = table.UTF8(p.stdout)
	}
}

// note prints what a person should know besides what was asked for.
func (p *prints) note(r verdict.Reason) { fmt.Fprintln(p.stderr, "note:", r.String()) }

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
		p.unwritten = err
		return
	}
	var page bytes.Buffer
	if json.Indent(&page, foreign.JSON(data), "", "  ") == nil {
		// Writing to a closed pipe is the reader's choice, not an error of ours.
		fmt.Fprintln(table.Bare(p.stdout), page.String())
	}
}

// printLine prints one JSON object on a line of its own.
func (p *prints) printLine(v any) {
	data, err := verdict.JSON(p.secrets.Any(v, apply.Identities...))
	if err != nil {
		p.unwritten = err
		return
	}
	fmt.Fprintf(table.Bare(p.stdout), "%s\n", foreign.JSON(data))
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

// noColour is the --no-color flag.
var noColour bool

func colours(w io.Writer) bool {
	return table.Terminal(w) && !noColour && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// hide keeps a plan's secrets out of everything that is printed from now on.
func (p *prints) hide(secrets []string) {
	redact.Know(secrets)
	if p.secrets = redact.New(secrets); !p.secrets.Active() {
		return
	}
	p.stdout, p.stderr = table.Hiding{To: p.stdout, Secrets: p.secrets}, table.Hiding{To: p.stderr, Secrets: p.secrets}
}

// inertWriter is a writer by which nobody's text steers a terminal, in the characters that it has.
func inertWriter(w io.Writer) io.Writer {
	return foreign.Writer{To: table.ASCII{To: w}, Colours: colours(w)}
}

// document is where text goes whose every byte counts, unless a person reads it.
func (p *prints) document() io.Writer {
	if table.Terminal(p.stdout) {
		return p.stdout
	}
	return table.Exact(p.stdout)
}
