package report

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// recordedHistory is a ledger of sessions of two launches, and what does not count
// beside them.
func recordedHistory(t *testing.T, values ...float64) *store.Store {
	t.Helper()
	st, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	add := func(l ledger.Launch, tg float64) {
		t.Helper()
		l.ID, l.Started, l.Block = fmt.Sprintf("%s.%s.%d", l.Session, l.Variant, l.Ordinal), began, "vllm.gb10"
		if l.Metrics == nil {
			l.Metrics = map[string]measure.Summary{"chat.tg": {Unit: "tok/s", Better: measure.Higher, N: 3, Stats: map[string]float64{"median": tg, "p95": tg / 2}}}
		}
		if err := st.Append(&ledger.Record{Type: "launch", Time: began, Run: "r", Launch: &l}); err != nil {
			t.Fatal(err)
		}
		began = began.Add(time.Minute)
	}
	for i, v := range values {
		session := fmt.Sprintf("s-%d", i)
		add(ledger.Launch{Session: session, Purpose: ledger.ForBenchmark, Variant: "baseline", VariantKey: "k", Ordinal: 1, OK: true}, v*0.99)
		add(ledger.Launch{Session: session, Purpose: ledger.ForBenchmark, Variant: "baseline", VariantKey: "k", Ordinal: 2, OK: true}, v/0.99)
		add(ledger.Launch{Session: session, Purpose: ledger.ForBenchmark, Variant: "port", VariantKey: "p", Ordinal: 1, OK: true}, 2*v)
		add(ledger.Launch{Session: session, Purpose: ledger.ForBenchmark, Variant: "baseline", VariantKey: "k", Ordinal: 3}, 1000)
		add(ledger.Launch{Session: session, Purpose: ledger.ForBenchmark, Variant: "baseline", VariantKey: "k", Ordinal: 4, OK: true, Invalid: verdict.Because(code.GPUShared)}, 1000)
	}
	add(ledger.Launch{Session: "q", Purpose: ledger.ForQualification, Variant: "baseline", Ordinal: 1, OK: true}, 1000)
	add(ledger.Launch{Session: "q2", Purpose: ledger.ForQualification, Variant: "baseline", Ordinal: 1, OK: true, Metrics: map[string]measure.Summary{
		"levels.stress.slowdown": {Unit: "times", Better: measure.Lower, N: 1, Stats: map[string]float64{"median": 1.5}},
	}}, 0)
	return st
}

func TestHistory(t *testing.T) {
	st := recordedHistory(t, 30, 30.2, 29.9, 30.1, 30, 27, 27.1, 26.9, 27.2, 27)
	h, err := HistoryOf(st, "chat.tg")
	if err != nil || h.Stat != "median" || h.Unit != "tok/s" || h.Better != measure.Higher || len(h.Series) != 2 {
		t.Fatal(h, err)
	}
	s := h.Series[0]
	if s.Variant != "baseline" || s.Engine != "vllm.gb10" || len(s.Points) != 10 || s.Points[5].Launches != 2 || math.Abs(s.Points[5].Value-27) > 1e-9 {
		t.Errorf("%+v", s)
	}
	if len(s.Changes) != 1 || s.Changes[0].At != 5 || math.Abs(s.Changes[0].Before-30.04) > 0.01 || math.Abs(s.Changes[0].After-27.04) > 0.01 {
		t.Errorf("%+v", s.Changes)
	}
	if h, err = HistoryOf(st, "chat.tg.p95"); err != nil || h.Metric != "chat.tg" || h.Stat != "p95" || math.Abs(h.Series[1].Points[0].Value-30) > 1e-9 {
		t.Errorf("%+v %v", h, err)
	}
	// What levels find is of the launches that qualified a variant.
	if h, err = HistoryOf(st, "levels.stress.slowdown"); err != nil || len(h.Series[0].Points) != 1 || h.Series[0].Changes == nil {
		t.Errorf("%+v %v", h, err)
	}
	for _, address := range []string{"chat.tgg", "chat.tg.p99", "", "chat"} {
		if h, err := HistoryOf(st, address); err == nil || !strings.Contains(err.Error(), "has "+address) {
			t.Errorf("%s: %+v %v", address, h, err)
		}
	}
	if got := Recorded(st); len(got) != 2 || got[0] != "chat.tg" {
		t.Error(got)
	}
}

// TestLongHistory leaves out the oldest and says how many.
func TestLongHistory(t *testing.T) {
	s := Series{}
	for i := range 310 {
		s.Points = append(s.Points, Point{Value: 30 + float64(i%3)})
	}
	if err := s.divide(); err != nil || s.Older != 10 || len(s.Points) != 300 || len(s.Changes) != 0 {
		t.Error(s.Older, len(s.Points), s.Changes, err)
	}
}
