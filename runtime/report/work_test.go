package report

import (
	"testing"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

func TestWorkOn(t *testing.T) {
	dir := t.TempDir()
	st, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	want := func(state string, held bool) Work {
		t.Helper()
		w := WorkOn(st)
		if w.State != state || w.Held != held {
			t.Fatalf("%+v, want %s, held %v", w, state, held)
		}
		return w
	}
	record := func(r *ledger.Record) {
		t.Helper()
		r.Time, r.Run = time.Now().UTC(), "r-1"
		if err := st.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	want(None, false)
	l, err := store.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	record(&ledger.Record{Type: "run", RunStart: &ledger.RunStart{Plan: "p", PlanFile: "p.hcl", Tool: "mxflow test"}})
	if w := want(UnderWay, true); w.Run != "r-1" || w.Holder == nil || w.Holder.PID == 0 || w.Holder.Started.IsZero() {
		t.Errorf("%+v", w)
	}
	if err := l.Unlock(); err != nil {
		t.Fatal(err)
	}
	want(Killed, false)
	// Who comes later is not who began that run.
	if l, err = store.Lock(dir); err != nil {
		t.Fatal(err)
	}
	want(Killed, true)
	record(&ledger.Record{Type: "end", End: &ledger.End{Verdict: verdict.Pass, Reason: "finished"}})
	want(Ended, true)
	if err := l.Unlock(); err != nil {
		t.Fatal(err)
	}
	want(Ended, false)
}
