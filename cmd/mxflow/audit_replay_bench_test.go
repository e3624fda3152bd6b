package main

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
)

// BenchmarkReplay decides 10,000 recorded gates again, over the launches of 20
// sessions, from the opening of the state directory on. It is to take less than
// 10 s.
func BenchmarkReplay(b *testing.B) {
	const gates, sessions = 10_000, 20
	s := newRecordedState(b)
	s.apply(planWith(tenPercent, "chat.tg.gain >= 0.10 and levels.kernels == 'pass' and chat.tg >= 30"), nil)
	for i := range sessions {
		id := fmt.Sprintf("s-%d", i+1)
		base, gain := append([]float64(nil), steadyBase...), append([]float64(nil), clearGain...)
		for j := range base {
			base[j] += 0.01 * float64(i)
			gain[j] -= 0.01 * float64(i)
		}
		s.session(id, base, gain)
		s.decide(id)
	}
	var recs []*ledger.Record
	for i := 0; len(recs) < gates; i++ {
		old := s.st.History("phase.experts")[i%sessions]
		d := *old.Decision
		d.Attempt = sessions + 1 + i
		recs = append(recs, &ledger.Record{Type: "decision", Time: s.at, Run: old.Run, Decision: &d})
	}
	if err := s.st.Append(recs...); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	before := cpuSeconds(b)
	for range b.N {
		st, err := store.OpenReadOnly(s.dir)
		if err != nil {
			b.Fatal(err)
		}
		r := steps.NewReplay(st, nil)
		for _, d := range r.Decisions() {
			if got := r.Decide(d); got.Outcome != steps.ReplayAgrees || got.Again != verdict.Pass {
				b.Fatalf("%+v", got)
			}
		}
		st.Close()
	}
	// On a machine that others use too, the time on the wall says little.
	b.ReportMetric((cpuSeconds(b)-before)/float64(b.N), "cpu-s/op")
}

// cpuSeconds is the processor time that this process has used.
func cpuSeconds(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}
