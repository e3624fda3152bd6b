package export

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
)

// recorded has two variants of a session, and one launch that does not count.
func recorded(t *testing.T) *store.Store {
	t.Helper()
	st := must.Get(store.Open(t.TempDir()))(t)
	t.Cleanup(func() { st.Close() })
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	records := []*ledger.Record{{Type: "run", RunStart: &ledger.RunStart{Plan: "a \"b\"/c", PlanFile: "plan.hcl"}}}
	for i, l := range []*ledger.Launch{
		{ID: "l1", Variant: "baseline", OK: true},
		{ID: "l2", Variant: "cache on", OK: true},
		{ID: "l3", Variant: "cache on", OK: true},
		{ID: "broken", Variant: "baseline"},
	} {
		l.Session, l.Purpose, l.Block, l.Started = "s-1", ledger.ForBenchmark, "vllm.x", at
		l.Knobs = map[string]string{"cache": "on"}
		l.Cells = []measure.CellRun{
			{Cell: "chat", Dimensions: measure.Dimensions{Prompt: 8, Output: 8, Concurrency: 1}},
		}
		l.Metrics = map[string]measure.Summary{
			"chat.tg": {
				Unit: "tok/s", Better: measure.Higher,
				Stats: map[string]float64{"median": float64(10 + i)},
			},
			"chat.itl":         {Unit: "ms", Better: measure.Lower, Stats: map[string]float64{"p99": 0.1}},
			"engine.startup_s": {Unit: "s", Better: measure.Lower, Stats: map[string]float64{"median": 2, "max": 2}},
		}
		records = append(records, &ledger.Record{Type: "launch", Launch: l})
	}
	delete(records[2].Launch.Metrics, "chat.itl")
	records = append(records, &ledger.Record{Type: "decision", Decision: &ledger.Decision{
		Node: "feature.cache", Kind: ledger.KindFeature, Feature: "cache", Attempt: 1,
		Verdict: verdict.Fail, Session: "s-1",
		Evidence: []gates.Feature{{
			Name: "cache", Parent: gates.ArmOf("baseline", "l1"),
			Candidate: gates.ArmOf("cache on", "l2", "l3"),
		}},
	}})
	for _, r := range records {
		r.Run, r.Time = "r1", at
		must.Do(t, st.Append(r))
	}
	return st
}

// TestExport: every launch that counts is there with its own numbers, and what a launch does not have is empty or
// absent, never zero. The formats were read by pandas and benchstat.
func TestExport(t *testing.T) {
	launches, err := Launches(report.SummaryOf(recorded(t), nil, time.Now()))
	if err != nil || len(launches) != 3 {
		t.Fatalf("%d launches, %v", len(launches), err)
	}
	text := map[string]string{}
	for name, write := range Formats {
		var b bytes.Buffer
		must.Do(t, write(&b, launches))
		text[name] = b.String()
	}
	rows, err := csv.NewReader(strings.NewReader(text["csv"])).ReadAll()
	if err != nil || len(rows) != 4 ||
		strings.Join(rows[0][5:], " ") != "variant engine chat.tg chat.itl.p99 engine.startup_s" ||
		rows[1][8] != "0.1" || rows[2][8] != "" || rows[3][7] != "12" {
		t.Errorf("%v\n%s", err, text["csv"])
	}
	must.Contain(t, "benchstat", text["benchstat"],
		"Unit tg-tok/s better=higher\n", "Unit itl-p99-ms better=lower\n", "plan: a_\"b\"_c\n", "session: s-1\n",
		"BenchmarkMxflow/cell=chat/variant=baseline 1\t10 tg-tok/s\t0.1 itl-p99-ms\n",
		"BenchmarkMxflow/cell=chat/variant=cache_on 1\t11 tg-tok/s\n", "cell=engine/variant=cache_on 1\t2 startup_s\n",
	)
	if _, err := Launches(report.SummaryOf(must.Get(store.Open(t.TempDir()))(t), nil, time.Now())); err == nil {
		t.Error("nothing is exported without a word")
	}
}
