package report

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

func TestWorkOn(t *testing.T) {
	dir := t.TempDir()
	st := must.Get(store.Open(dir))(t)
	defer st.Close()
	want := func(state string, held bool) Work {
		t.Helper()
		w := WorkOn(st)
		if w.State != state || w.Held != held {
			t.Fatalf("%+v, want %s, held %v", w, state, held)
		}
		return w
	}
	// Every run begins in an hour: the clock is set back behind each.
	record := func(r *ledger.Record) {
		t.Helper()
		r.Time = time.Now().UTC().Add(time.Hour)
		must.Do(t, st.Append(r))
	}
	begin := func(run string) {
		t.Helper()
		record(&ledger.Record{Type: "run", Run: run, RunStart: &ledger.RunStart{Plan: "p", PlanFile: "p.hcl", Tool: "mxflow test"}})
	}
	sign := func(text string) {
		t.Helper()
		must.Do(t, os.WriteFile(filepath.Join(dir, "lock"), []byte(text), 0o644))
	}
	want(None, false)
	l := must.Get(store.Lock(dir))(t)
	must.Do(t, l.Begin("r-1"))
	want(None, false)
	begin("r-1")
	if w := want(UnderWay, true); w.Run != "r-1" || w.Holder == nil || w.Holder.PID == 0 || w.Holder.Started.IsZero() {
		t.Errorf("%+v", w)
	}
	must.Do(t, l.Unlock())
	want(Killed, false)
	// Who comes later is not who began that run.
	l = must.Get(store.Lock(dir))(t)
	want(Killed, true)
	must.Do(t, l.Begin("r-2"))
	want(Killed, true)
	// Who has not said it may be at work on any.
	for _, text := range []string{"", `{"pid":`} {
		sign(text)
		want(Unknown, true)
	}
	begin("r-2")
	must.Do(t, l.Begin("r-2"))
	want(UnderWay, true)
	record(&ledger.Record{Type: "end", Run: "r-2", End: &ledger.End{Verdict: verdict.Pass, Reason: verdict.New(code.Finished)}})
	want(Ended, true)
	must.Do(t, l.Unlock())
	want(Ended, false)
}
