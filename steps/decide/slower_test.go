package decide

import (
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// A parent that got slower once its candidate had run is said.
func TestParentSlower(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name          string
		before, after []float64 // the parent's tok/s
		boot          string
		want          string
	}{
		{"slower", []float64{100, 101}, []float64{70, 71}, "b", "chat.tg"},
		{"as before", []float64{100, 101}, []float64{101, 100}, "b", ""},
		{"slower in one", []float64{100, 101}, []float64{70, 100.5}, "b", ""},
		{"hardly", []float64{100, 101}, []float64{99.5, 99.4}, "b", ""},
		{"faster", []float64{70, 71}, []float64{100, 101}, "b", ""},
		{"one launch before", []float64{100}, []float64{70, 71}, "b", ""},
		{"before a reboot", []float64{100, 101}, []float64{70, 71}, "a", ""},
		{"not known before", []float64{0, 0}, []float64{70, 71}, "b", ""},
	} {
		var records []*ledger.Record
		var used []*ledger.Launch
		add := func(key, boot string, speed float64) *ledger.Launch {
			l := &ledger.Launch{
				ID: fmt.Sprint(len(records)), VariantKey: key, Purpose: ledger.ForBenchmark, OK: true, Work: "w", BootID: boot,
				Started: at.Add(time.Duration(len(records)) * time.Minute), Metrics: map[string]measure.Summary{},
			}
			if s, ok := measure.SummaryOf("tg", []float64{speed}); ok && speed > 0 {
				l.Metrics["chat.tg"] = s
			}
			records = append(records, &ledger.Record{Launch: l})
			return l
		}
		for _, speed := range c.before {
			add("p", c.boot, speed)
		}
		add("c", "b", 100)
		for _, speed := range c.after {
			used = append(used, add("p", "b", speed))
		}
		v := &View{Records: func() iter.Seq2[int, *ledger.Record] { return slices.All(records) }}
		why := ParentSlower(v, Arm{Name: "new", Key: "c"}, Arm{Name: "old", Key: "p"}, used)
		if got := why.Values["metric"].Text; got != c.want {
			t.Errorf("%s: %v, want %q", c.name, why, c.want)
		}
	}
}
