package replay

import (
	"math"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/try"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// recordedLaunch is a launch as an apply records it: two answers in a window, and
// the host watched meanwhile.
func recordedLaunch() (measure.Recording, *ledger.Launch) {
	ms := time.Millisecond
	answer := func(index int, at time.Duration) measure.Sample {
		return measure.Sample{
			Workload: "chat", Index: index, Scheduled: at, Due: at, Start: at + ms, PromptTokens: 77, OutputTokens: 3, CachedTokens: -1, TokenSource: measure.SourceContinuousUsage,
			Events: []measure.Event{
				{At: 31 * ms, Kind: measure.KindText, Tokens: 1, Bytes: 3},
				{At: 44*ms + time.Duration(index), Kind: measure.KindText, Tokens: 2, Bytes: 3},
				{At: 58 * ms, Kind: measure.KindText, Tokens: 3, Bytes: 3},
			},
		}
	}
	r := measure.Recording{
		Cells:   []measure.CellRun{{Cell: "chat", From: 100 * ms, To: 400 * ms}},
		Samples: []measure.Sample{answer(0, 100*ms), answer(1, 300*ms)},
		Series:  []measure.Series{{Name: measure.HostCPU, At: []time.Duration{150 * ms, 250 * ms}, Value: []float64{0.1, 0.7}}},
	}
	return r, &ledger.Launch{
		ID: "s-1.baseline.1", Session: "s-1", Purpose: "benchmark", Node: "baseline", Variant: "baseline", VariantKey: "k", Ordinal: 1, Order: 1,
		Started: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), Seconds: 3, OK: true, Engine: map[string]string{"kind": "embedded"}, Cells: r.Cells,
	}
}

// TestRawData: a launch is derived again from the raw data that it kept, bit for bit where
// its machine was like this one.
func TestRawData(t *testing.T) {
	t.Parallel()
	lastBit := func(l *ledger.Launch, _ *measure.Recording) {
		s := l.Metrics["chat.ttft"]
		s.Stats["mean"] = math.Nextafter(s.Stats["mean"], 1e9)
	}
	other := "arm64"
	if goruntime.GOARCH == other {
		other = "amd64"
	}
	remove := func(t *testing.T, artifact string) {
		try.OK(t, os.Remove(artifact))
	}
	tests := []struct {
		name string
		arch string
		// change what is recorded; breaks what lies in the state directory then.
		change func(*ledger.Launch, *measure.Recording)
		breaks func(t *testing.T, artifact string)
		// gone is what is said of raw data that cannot be read, differ the address and the
		// statistic of a number that came out differently, note what is said besides.
		gone, differ, note string
	}{
		{name: "agrees"},
		{name: "the last bit", change: lastBit, differ: "chat.ttft mean"},
		{name: "the last bit from another architecture", arch: other, change: lastBit, note: other},
		{
			name: "more than the last bit from another architecture", arch: other, differ: "chat.tg median",
			change: func(l *ledger.Launch, _ *measure.Recording) { l.Metrics["chat.tg"].Stats["median"] *= 1 + 1e-8 },
		},
		{
			name: "a sample was left out", differ: "chat.ttft requests",
			change: func(_ *ledger.Launch, r *measure.Recording) { r.Samples = r.Samples[:1] },
		},
		{
			name: "the series are not kept", differ: "host.cpu_share metric",
			change: func(_ *ledger.Launch, r *measure.Recording) { r.Series = nil },
		},
		{name: "samples are gone", gone: "does not exist", breaks: remove},
		{
			name: "samples are damaged", gone: "has digest",
			breaks: func(t *testing.T, artifact string) {
				remove(t, artifact)
				try.Write(t, artifact, "no samples")
			},
		},
		{
			name: "no samples were recorded", gone: "its record names no raw data",
			change: func(_ *ledger.Launch, r *measure.Recording) { r.Samples, r.Series = nil, nil },
		},
		{
			name:   "a qualification",
			change: func(l *ledger.Launch, r *measure.Recording) { l.Metrics, r.Samples, r.Series = nil, nil, nil },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			st, err := store.Open(dir)
			try.OK(t, err)
			defer st.Close()
			r, l := recordedLaunch()
			l.Metrics = measure.Evaluate(r)
			if startup, ok := measure.SummaryOf("startup_s", []float64{2}); ok {
				l.Metrics["engine.startup_s"] = startup
			}
			if tt.change != nil {
				tt.change(l, &r)
			}
			keep(t, st, tt.arch, r, l)
			if tt.breaks != nil {
				tt.breaks(t, filepath.Join(dir, "artifacts", "sha256", l.Samples[:2], l.Samples[2:]))
			}
			var out Replayed
			again, err := New(st, nil, nil).recomputeLaunch(&out, l.ID)
			if tt.gone != "" {
				if said := verdict.OfError(err).String(); !strings.Contains(said, tt.gone) {
					t.Errorf("%q, want %q", said, tt.gone)
				}
				return
			}
			try.OK(t, err)
			var differ, notes strings.Builder
			for _, d := range out.Differences {
				differ.WriteString(d.What + "\n")
			}
			for _, n := range out.Notes {
				notes.WriteString(n.String() + "\n")
			}
			if !strings.Contains(differ.String(), tt.differ) || (differ.Len() > 0) != (tt.differ != "") {
				t.Errorf("it differs in %q, want %q", &differ, tt.differ)
			}
			if !strings.Contains(notes.String(), tt.note) || (notes.Len() > 0) != (tt.note != "") {
				t.Errorf("it notes %q, want %q", &notes, tt.note)
			}
			if out.Numbers == 0 && l.Metrics != nil {
				t.Error("no number was compared")
			}
			if _, kept := again.Metrics["engine.startup_s"]; kept != (l.Metrics != nil) {
				t.Errorf("what does not come from samples is not as recorded: %v", again.Metrics)
			}
		})
	}
}

// keep records a run with one launch, its raw data and a decision on it.
func keep(t *testing.T, st *store.Store, arch string, r measure.Recording, l *ledger.Launch) {
	t.Helper()
	if arch == "" {
		arch = goruntime.GOARCH
	}
	var err error
	if len(r.Samples) > 0 {
		err = st.WriteSamples("r1", l, r.Samples)
	}
	if err == nil && len(r.Series) > 0 {
		err = st.WriteSeries("r1", l, r.Series)
	}
	if err == nil {
		err = st.Append(
			&ledger.Record{Type: "run", Time: l.Started, Run: "r1", RunStart: &ledger.RunStart{Plan: "p", PlanFile: "p.hcl", Tool: "test", Environment: map[string]string{"arch": arch}}},
			&ledger.Record{Type: "launch", Time: l.Started, Run: "r1", Launch: l},
			&ledger.Record{Type: "decision", Time: l.Started, Run: "r1", Decision: &ledger.Decision{Node: "baseline", Kind: "qualify", Attempt: 1, Verdict: verdict.Pass, Launches: []string{l.ID}}},
		)
	}
	try.OK(t, err)
}
