package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// TestModelsTable: configurations stand against models with what is accepted on each, and
// how far that is from the baseline of its session; what was not accepted is not in it.
func TestModelsTable(t *testing.T) {
	st, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	at, run := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), ""
	add := func(r *ledger.Record) {
		at = at.Add(time.Second)
		r.Time, r.Run = at, run
		if err := st.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	begin := func(id string) {
		run = id
		add(&ledger.Record{Type: "run", RunStart: &ledger.RunStart{Plan: "p", Nodes: []string{"feature.a", "feature.b", "feature.c"}}})
	}
	end := func() {
		add(&ledger.Record{Type: "end", End: &ledger.End{Verdict: verdict.Pass, Reason: verdict.New(code.Finished)}})
	}
	arm := func(session, variant, engine string, tg float64) (ids []string) {
		for i := range 2 {
			l := &ledger.Launch{
				ID: fmt.Sprintf("%s.%s.%d", session, variant, i), Session: session, Purpose: ledger.ForBenchmark, Variant: variant, Block: engine, Ordinal: i + 1, OK: true,
				Cells: []measure.CellRun{{Cell: "short"}, {Cell: "long"}}, Metrics: map[string]measure.Summary{},
			}
			for cell, part := range map[string]float64{"short": 1, "long": 0.5} {
				l.Metrics[cell+".tg"] = measure.Summary{Unit: "tok/s", Better: measure.Higher, N: 4, Stats: map[string]float64{"median": tg * part}}
			}
			add(&ledger.Record{Type: "launch", Launch: l})
			ids = append(ids, l.ID)
		}
		return ids
	}
	decide := func(node, kind, feature, engine, on string, base, tg float64, v verdict.Verdict, accepted bool) {
		session := "s-" + node
		parent := arm(session, on, engine, base)
		own := arm(session, feature, engine, tg)
		add(&ledger.Record{Type: "decision", Decision: &ledger.Decision{
			Node: node, Kind: kind, Feature: feature, Attempt: 1, Verdict: v, Accepted: accepted, Session: session,
			Evidence: []ledger.Evidence{{Feature: feature, Parent: ledger.Arm{Name: on, Launches: parent}, Candidate: ledger.Arm{Name: feature, Launches: own}}},
		}})
	}
	begin("r1")
	decide("feature.a.first", ledger.KindCriteria, "a", "vllm.small", "baseline", 100, 150, verdict.Pass, false)
	decide("feature.a@large", ledger.KindCriteria, "a", "vllm.large", "baseline", 10, 20, verdict.Pass, false)
	decide("feature.a", ledger.KindFeature, "a", "vllm.small", "baseline", 100, 150, verdict.Pass, true)
	end()
	same := func(rows ...string) {
		t.Helper()
		table := ModelsTable(st)
		var got []string
		for _, row := range append([][]string{table.Head}, table.Rows...) {
			got = append(got, strings.Join(row, " | "))
		}
		if want := strings.Join(rows, "\n"); strings.Join(got, "\n") != want {
			t.Errorf("%s\nwanted\n%s", strings.Join(got, "\n"), want)
		}
	}
	same("Configuration | vllm.small | vllm.large", "short | 150 ± 0 tok/s\n+50.0% | 20 ± 0 tok/s\n+100.0%", "long | 75 ± 0 tok/s\n+50.0% | 10 ± 0 tok/s\n+100.0%")
	begin("r2")
	decide("feature.b", ledger.KindFeature, "b", "vllm.small", "accepted", 150, 300, verdict.Pass, true)
	decide("feature.c", ledger.KindFeature, "c", "vllm.large", "accepted", 20, 80, verdict.Fail, false)
	end()
	same("Configuration | vllm.small | vllm.large", "short | 300 ± 0 tok/s\nnot measured together | 20 ± 0 tok/s\n+100.0%", "long | 150 ± 0 tok/s\nnot measured together | 10 ± 0 tok/s\n+100.0%")
	var page strings.Builder
	if err := Markdown(&page, st, nil); err != nil || !strings.Contains(page.String(), "| short | 300 ± 0 tok/s<br>not measured together |") {
		t.Errorf("%v\n%s", err, page.String())
	}
}
