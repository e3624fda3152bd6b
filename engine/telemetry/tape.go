package telemetry

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
)

// tape holds what was sampled. Its methods may be called from several
// goroutines.
type tape struct {
	zero time.Time

	mu     sync.Mutex
	series map[track]*measure.Series
	notes  []note
}

// track tells series apart.
type track struct{ name, source string }

// note is one thing to be known of a recording, and how often it came up.
type note struct {
	about, text string
	times       int
}

func newTape(zero time.Time) *tape { return &tape{zero: zero, series: map[track]*measure.Series{}} }

// add takes one value. One that is no finite number, that lies before the
// recording's zero, or is not later than the last of its series, is left out.
func (t *tape) add(name, source, unit string, at time.Time, v float64) {
	after := at.Sub(t.zero)
	if v-v != 0 || after < 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	k := track{name, source}
	s := t.series[k]
	if s == nil {
		s = &measure.Series{Name: name, Source: source, Unit: unit}
		t.series[k] = s
	}
	if n := len(s.At); n > 0 && after <= s.At[n-1] {
		return
	}
	s.At, s.Value = append(s.At, after), append(s.Value, v)
}

// tell adds a note. Of those about the same, the first is kept and the others
// counted.
func (t *tape) tell(about, format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.notes {
		if t.notes[i].about == about {
			t.notes[i].times++
			return
		}
	}
	t.notes = append(t.notes, note{about, fmt.Sprintf(format, args...), 1})
}

// untell takes back what was told about something.
func (t *tape) untell(about string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.notes = slices.DeleteFunc(t.notes, func(n note) bool { return n.about == about })
}

// has reports whether anything was read of a series.
func (t *tape) has(name, source string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.series[track{name, source}] != nil
}

// done is everything, sorted by name and source; notes come as they were told.
func (t *tape) done() (series []measure.Series, notes []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.series {
		series = append(series, *s)
	}
	slices.SortFunc(series, func(a, b measure.Series) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Source, b.Source))
	})
	for _, n := range t.notes {
		if n.times > 1 {
			n.text += fmt.Sprintf(" (and %d times more)", n.times-1)
		}
		notes = append(notes, n.text)
	}
	return series, notes
}
