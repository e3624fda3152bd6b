package steps

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/variant"
)

// A launch counts what crashed of its variant on this machine since the last one
// that counted, wherever that was; each session counts a crash once.
func TestCrashesCount(t *testing.T) {
	const here, there = "here", "there" // runs that begin, by machine
	now := time.Now().UTC()
	crash := func(id, session, purpose string) ledger.Launch {
		exit := 139
		return ledger.Launch{ID: id, Session: session, Purpose: purpose, VariantKey: "c", Exit: &exit}
	}
	qualified, benchmarked := ledger.ForQualification, ledger.ForBenchmark
	good := func(id, session, purpose string) ledger.Launch {
		return ledger.Launch{ID: id, Session: session, Purpose: purpose, VariantKey: "c", OK: true, Knobs: map[string]string{"k": "c"}}
	}
	disturbed := good("bad", "s", benchmarked)
	disturbed.Invalid = []verdict.Reason{fact("throttled")}
	other := crash("x", "s", benchmarked)
	other.VariantKey = "p"
	hung := crash("hung", "s", benchmarked)
	hung.Exit = nil
	// decided says by a value of its knob which variant a session's candidate was.
	decided := func(session, value string, launches ...string) *ledger.Decision {
		return &ledger.Decision{Kind: string(runtime.KindBenchmark), Session: session, Variant: map[string]string{"k": value}, Launches: launches, Verdict: verdict.Pass}
	}
	broke := decided("o", "c", "1")
	broke.Verdict = verdict.Error
	for _, c := range []struct {
		name    string
		records []any
		parent  bool
		want    string
	}{
		{name: "nothing"},
		{name: "in this session", records: []any{here, good("1", "s", benchmarked), crash("2", "s", benchmarked)}, want: "2"},
		{name: "counted in this session", records: []any{here, crash("2", "s", benchmarked), good("2r1", "s", benchmarked)}},
		{name: "when it was qualified", records: []any{here, crash("q", "q", qualified), good("q2", "q2", qualified)}, want: "q"},
		{name: "in a session that was left", records: []any{here, good("1", "o", benchmarked), crash("2", "o", benchmarked), decided("o", "c", "1"), good("q2", "q2", qualified)}, want: "2"},
		{name: "several", records: []any{here, crash("q", "q", qualified), crash("2", "o", benchmarked), crash("1", "s", benchmarked)}, want: "q 2 1"},
		{name: "counted in a session that was left", records: []any{here, crash("q", "q", qualified), good("1", "o", benchmarked), decided("o", "c", "1")}},
		{name: "counted by what no decision came to rest on", records: []any{here, crash("2", "o", benchmarked), decided("o", "c"), good("2r1", "o", benchmarked)}, want: "2"},
		{name: "in one that ended in an error", records: []any{here, crash("q", "q", qualified), good("1", "o", benchmarked), broke}, want: "q"},
		{name: "in one that nothing was decided by", records: []any{here, crash("q", "q", qualified), good("1", "o", benchmarked)}, want: "q"},
		{name: "where it was the parent", records: []any{here, crash("q", "q", qualified), good("1", "o", benchmarked), decided("o", "built on it", "1")}, want: "q"},
		{name: "for a parent", parent: true, records: []any{here, crash("q", "q", qualified), good("1", "o", benchmarked), decided("o", "built on it", "1")}},
		{name: "its own, whoever counted it too", parent: true, records: []any{here, crash("3", "s", benchmarked), good("1", "o", benchmarked)}, want: "3"},
		{name: "what was disturbed counts nothing", records: []any{here, crash("2", "s", benchmarked), disturbed}, want: "2"},
		{name: "of another variant", records: []any{here, other}},
		{name: "what was stopped is no crash", records: []any{here, hung}},
		{name: "on another machine", records: []any{there, crash("q", "q", qualified)}},
		{name: "on a machine nobody knows", records: []any{crash("q", "q", qualified)}, want: "q"},
	} {
		t.Run(c.name, func(t *testing.T) {
			st, err := store.Open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			lab := NewLab(&plans.Plan{}, nil)
			lab.Store = st
			on := func(host string) map[string]string { return map[string]string{"host": host} }
			lab.MachineKey = variant.MachineKey(on(here), lab.Plan)
			for i, r := range c.records {
				record := &ledger.Record{Time: now, Run: "run"}
				switch r := r.(type) {
				case string:
					record.Type, record.RunStart = "run", &ledger.RunStart{Environment: on(r)}
				case ledger.Launch:
					r.Started = now
					record.Type, record.Launch = "launch", &r
				case *ledger.Decision:
					r.Node, r.Attempt = fmt.Sprintf("node%d", i), 1
					record.Type, record.Decision = "decision", r
				}
				if err := st.Append(record); err != nil {
					t.Fatal(err)
				}
			}
			var ids []string
			for _, l := range lab.crashes(&variant.Variant{Key: "c"}, "s", !c.parent) {
				ids = append(ids, l.ID)
			}
			if got := strings.Join(ids, " "); got != c.want {
				t.Errorf("counts %q, want %q", got, c.want)
			}
		})
	}
}
