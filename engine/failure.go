package engine

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/internal/foreign"
)

// TailLines is how many log lines a Failure has and prints: enough for the last frames of
// a Python traceback, few enough to read in a terminal.
const TailLines = 15

// Failure is an engine that broke: it did not become ready, died, or did not answer. It
// contains what a person needs to see why.
type Failure struct {
	// Of is what broke; empty means "engine".
	Of string
	// Op is what was being done: "start", "become ready", "answer", "stop".
	Op     string
	Reason string
	// Class is kinds.Port if another program listens at its port, and kinds.Config if the
	// engine itself serves Elsewhere, which is invalid otherwise; else empty, as what broke it
	// is in its log.
	Class     kinds.Class
	Port      int
	Elsewhere netip.AddrPort
	// Exit is how the process ended, nil if it was still running.
	Exit    *Exit
	LogTail []string
	// Doing is what its processes did when the time for its start was over.
	Doing Doing
	// Err is the cause, for errors.Is; it may be nil. Its text is not printed: Reason is
	// clearer.
	Err error
}

// Error is the full message: what was being done, why it failed, how the process ended,
// and its last log lines, one per line and indented.
func (f *Failure) Error() string {
	var b strings.Builder
	of := f.Of
	if of == "" {
		of = "engine"
	}
	fmt.Fprintf(&b, "%s could not %s", of, f.Op)
	if f.Reason != "" {
		b.WriteString(": " + f.Reason)
	}
	if f.Exit != nil {
		b.WriteString(" (" + f.Exit.String() + ")")
	}
	tail := f.LogTail
	if len(tail) > TailLines {
		tail = tail[len(tail)-TailLines:]
	}
	if len(tail) > 0 {
		b.WriteString("\nlast lines of its log:")
	}
	for _, line := range tail {
		// The tail may come from a launcher on another machine: it is never assumed safe
		// for a terminal.
		b.WriteString("\n  | " + foreign.Clean(line))
	}
	return b.String()
}

// Unwrap returns the cause, so errors.Is(err, context.Canceled) works.
func (f *Failure) Unwrap() error { return f.Err }

// StartFailure is a Failure from before there was a process.
func StartFailure(err error, format string, args ...any) *Failure {
	return &Failure{Op: "start", Reason: fmt.Sprintf(format, args...), Err: err}
}

// Brief prints a duration without the zero units that time.Duration adds:
// "15m", not "15m0s".
func Brief(d time.Duration) string {
	if d >= time.Second {
		d = d.Round(100 * time.Millisecond)
	} else {
		d = d.Round(time.Millisecond)
	}
	s := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, zero) {
			s = s[:len(s)-2]
		}
	}
	return s
}
