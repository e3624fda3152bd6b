package main

import (
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/term"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/inert"
	"github.com/mxflow/mxflow/cmd/mxflow/internal/table"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans/redact"
)

// printTable prints columns: coloured, and made to fit, on a terminal only.
func (a *app) printTable(head []string, rows [][]string, spare ...string) {
	a.screen().Table(head, rows, spare...)
}

// screen is where tables and sentences go.
func (a *app) screen() table.Screen {
	return table.Screen{Writer: a.stdout, Width: a.fits(), Lines: a.height(), Colour: colours(a.stdout)}
}

// fits is how wide tables may be; 0 for as wide as they are, where no person's
// terminal would break their lines.
func (a *app) fits() int {
	if terminal(a.stdout) || environs("COLUMNS") > 0 {
		return a.width()
	}
	return 0
}

// fold has what a person reads keep to the width of the terminal; what programs read
// goes past it.
func (a *app) fold() {
	if width := a.fits(); width > 0 && !a.json {
		a.stdout = &table.Folding{To: a.stdout, Width: width}
	}
}

// note prints what a person should know besides what was asked for.
func (a *app) note(r verdict.Reason) { fmt.Fprintln(a.stderr, "note:", tell.Line(r)) }

// width is that of the person's terminal, in columns. What the terminal says goes before
// COLUMNS, which stays as it was when a window changes, and stands in for a terminal that
// does not know, as on a serial line, and for one that there is not: 100 without it.
func (a *app) width() int {
	columns, _, there := a.size()
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
func (a *app) height() int {
	_, lines, there := a.size()
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
func (a *app) size() (columns, lines int, there bool) {
	for _, w := range []io.Writer{a.stdout, a.stderr} {
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

// environs is a number that the environment has; 0 where it has none.
func environs(name string) int {
	n, _ := strconv.Atoi(os.Getenv(name))
	return n
}

// terminal reports whether w is one, and colours are wanted.
func terminal(w io.Writer) bool {
	f, ok := bare(w).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func colours(w io.Writer) bool {
	return terminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// hide keeps a plan's secrets out of everything that is printed from now on.
func (a *app) hide(secrets []string) {
	redact.Know(secrets)
	if a.secrets = redact.New(secrets); !a.secrets.Active() {
		return
	}
	a.stdout, a.stderr = hiding{a.stdout, a.secrets}, hiding{a.stderr, a.secrets}
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
func inertWriter(w io.Writer) io.Writer { return inert.Writer{To: w, Colours: colours(w)} }

// exact is a writer that writes what it is given, without secrets: for documents that go
// into a file.
func exact(w io.Writer) io.Writer {
	switch w := w.(type) {
	case hiding:
		return hiding{exact(w.Writer), w.secrets}
	case inert.Writer:
		return w.To
	case *table.Folding:
		return exact(w.To)
	}
	return w
}

// document is where text goes whose every byte counts, unless a person reads it.
func (a *app) document() io.Writer {
	if f, ok := bare(a.stdout).(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return a.stdout
	}
	return exact(a.stdout)
}

// bare is what a writer writes to in the end.
func bare(w io.Writer) io.Writer {
	for {
		switch inner := w.(type) {
		case hiding:
			w = inner.Writer
		case inert.Writer:
			w = inner.To
		case *table.Folding:
			w = inner.To
		default:
			return w
		}
	}
}
