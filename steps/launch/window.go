package launch

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/engine/telemetry"
	"github.com/mxflow/mxflow/runtime/ledger"
)

const (
	// windowBegin and windowEnd end the lines of a command's log between which the
	// machine is measured; loggers may put a time or a level before them.
	windowBegin, windowEnd = "mxflow: begin", "mxflow: end"
	// windowEvery is how often the log is polled for them, which is how exact a window
	// is.
	windowEvery = 20 * time.Millisecond
	// mostWindows is how many one launch may have.
	mostWindows = 10_000
)

// windows follows the log of a command for the lines that mark what is measured.
type windows struct {
	path string
	// zero is the start of the recording's clock, started when the command was.
	zero, started time.Time
	// read bytes contain so many lines; rest is the incomplete last line.
	read  int64
	lines int
	rest  string
	done  []measure.Window
	// open is set between begin and end; cut if the log was shortened, so a line may have
	// been missed.
	open, cut bool
	from      time.Duration
}

// look reads the log's new bytes. The error is about a mark out of place.
func (w *windows) look(now time.Time) error {
	f, err := os.Open(w.path)
	if err != nil {
		return nil // it is not there yet
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() < w.read {
		w.cut = true
		return nil
	}
	at := now.Sub(w.zero)
	buf := make([]byte, 64<<10)
	for {
		n, err := f.ReadAt(buf, w.read)
		w.read += int64(n)
		w.rest += string(buf[:n])
		for {
			line, rest, whole := strings.Cut(w.rest, "\n")
			if !whole {
				break
			}
			w.rest = rest
			w.lines++
			if err := w.mark(strings.TrimSpace(line), at); err != nil {
				return err
			}
		}
		// Marks are at the end of a line: of a long one only the end is kept.
		w.rest = w.rest[max(0, len(w.rest)-len(buf)):]
		if err == io.EOF || n == 0 {
			return nil
		}
	}
}

// mark reads one line.
func (w *windows) mark(line string, at time.Duration) error {
	begins := strings.HasSuffix(line, windowBegin)
	switch {
	case !begins && !strings.HasSuffix(line, windowEnd):
		return nil
	case begins && w.open:
		return fmt.Errorf("line %d of its log is a second %q; print %q before it", w.lines, windowBegin, windowEnd)
	case begins:
		w.open, w.from = true, at
		return nil
	case !w.open:
		return fmt.Errorf("line %d of its log is %q, and no %q came before it", w.lines, windowEnd, windowBegin)
	case at <= w.from:
		return fmt.Errorf("line %d of its log is %q and came together with its %q; flush standard error after each, and have more than %s of work between them", w.lines, windowEnd, windowBegin, windowEvery)
	case len(w.done) == mostWindows:
		return fmt.Errorf("line %d of its log is %q number %d; print no more than %d, such as one around all trials", w.lines, windowEnd, mostWindows+1, mostWindows)
	}
	w.open = false
	w.done = append(w.done, measure.Window{From: w.from, To: at})
	return nil
}

// all are the windows of a command that has ended: those that it marked, else its whole
// duration.
func (w *windows) all(ended time.Time) ([]measure.Window, error) {
	switch {
	case w.cut:
		return nil, nil // unknown, and what rests on them is absent
	case w.open:
		return nil, fmt.Errorf("its log has %q and no %q after it", windowBegin, windowEnd)
	case len(w.done) == 0:
		return []measure.Window{{From: w.started.Sub(w.zero), To: ended.Sub(w.zero)}}, nil
	}
	return w.done, nil
}

// watch starts watching the machine if a command will be measured.
func (st *Started) watch(ctx context.Context, spec engine.Spec) (err error) {
	if st.command.of == nil || st.Record.Purpose != ledger.ForBenchmark {
		return nil
	}
	c := st.GPU.Watched()
	c.Zero, c.Host = st.Began, local(spec)
	// It is called from other goroutines, and before there is an instance.
	c.Own = func() []int {
		select {
		case <-st.command.running:
		default:
			return nil
		}
		if r, ok := st.Inst.(engine.Resident); ok {
			return r.PIDs()
		}
		return nil
	}
	began := time.Now()
	if st.Watch, err = telemetry.Start(ctx, c); err != nil {
		return err
	}
	return st.Watch.Lead(ctx, began)
}

// unwatch stops watching; it may be called again.
func (st *Started) unwatch() {
	if st.Watch != nil {
		st.Watch.Stop()
	}
}
