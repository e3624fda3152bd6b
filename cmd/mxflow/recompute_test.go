package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/again"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
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

func TestRecompute(t *testing.T) {
	t.Parallel()
	lastBit := func(l *ledger.Launch, _ *measure.Recording) {
		s := l.Metrics["chat.ttft"]
		s.Stats["mean"] = math.Nextafter(s.Stats["mean"], 1e9)
	}
	other := "arm64"
	if goruntime.GOARCH == other {
		other = "amd64"
	}
	tests := []struct {
		name string
		arch string
		// change what is recorded; breaks what lies in the state directory then.
		change func(*ledger.Launch, *measure.Recording)
		breaks func(t *testing.T, artifact string)
		ask    string
		exit   int
		want   []string
	}{
		{name: "agrees", want: []string{"s-1.baseline.1  baseline  agrees ", "Everything agrees bit for bit: ", "agree too: 1 decision.", "not compared: engine.startup_s"}},
		{name: "one launch by its ID", ask: "s-1.baseline.1", want: []string{"Everything agrees bit for bit"}},
		{name: "the last bit", change: lastBit, exit: verdict.ExitFail, want: []string{"differs", "chat.ttft", "mean", "based on launches that do not agree: baseline", "1 launch contradicts its raw data"}},
		{name: "the last bit from another architecture", arch: other, change: lastBit, want: []string{"agrees within 1e-9", "on another architecture"}},
		{
			name: "more than the last bit from another architecture", arch: other, exit: verdict.ExitFail, want: []string{"differs"},
			change: func(l *ledger.Launch, _ *measure.Recording) { l.Metrics["chat.tg"].Stats["median"] *= 1 + 1e-8 },
		},
		{
			name: "a sample was left out", exit: verdict.ExitFail, want: []string{"chat.ttft", "requests"},
			change: func(_ *ledger.Launch, r *measure.Recording) { r.Samples = r.Samples[:1] },
		},
		{
			name: "the series are not kept", exit: verdict.ExitFail, want: []string{"host.cpu_share", "absent"},
			change: func(_ *ledger.Launch, r *measure.Recording) { r.Series = nil },
		},
		{
			name: "samples are gone", exit: verdict.ExitInconclusive, want: []string{"no raw data", "1 launch without raw data"},
			breaks: func(t *testing.T, artifact string) { remove(t, artifact) },
		},
		{
			name: "samples are damaged", exit: verdict.ExitFail, want: []string{"damaged", "has digest", "raw data of 1 launch are damaged"},
			breaks: func(t *testing.T, artifact string) {
				remove(t, artifact)
				if err := os.WriteFile(artifact, []byte("no samples"), 0o644); err != nil {
					t.Fatal(err)
				}
			},
		},
		{
			name: "no samples were recorded", exit: verdict.ExitInconclusive, want: []string{"its record names no raw data"},
			change: func(_ *ledger.Launch, r *measure.Recording) { r.Samples, r.Series = nil, nil },
		},
		{
			name: "a qualification", exit: verdict.ExitInconclusive, want: []string{"nothing from samples", "there is nothing to recompute"},
			change: func(l *ledger.Launch, r *measure.Recording) { l.Metrics, r.Samples, r.Series = nil, nil, nil },
		},
		{name: "nobody knows it", ask: "luck", exit: verdict.ExitUsage, want: []string{`nor is there a launch named "luck"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			st, err := store.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
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
			if err := st.Close(); err != nil {
				t.Fatal(err)
			}
			if tt.ask == "" {
				tt.ask = "latest"
			}
			var out, errs bytes.Buffer
			exit := run(context.Background(), []string{"show", tt.ask, "--recompute", "--state", dir}, &out, &errs)
			all := out.String() + errs.String()
			for _, want := range tt.want {
				if !strings.Contains(all, want) {
					t.Errorf("it does not say %q", want)
				}
			}
			if exit != tt.exit || t.Failed() {
				t.Errorf("exit status %d, want %d:\n%s", exit, tt.exit, all)
			}
			if tt.exit == verdict.ExitUsage {
				return
			}
			out.Reset()
			run(context.Background(), []string{"show", tt.ask, "--recompute", "--json", "--state", dir}, &out, &errs)
			var doc again.Recomputation
			if err := json.Unmarshal(out.Bytes(), &doc); err != nil || doc.Agrees != (tt.exit == 0) || len(doc.Launches) != 1 {
				t.Errorf("%v: %s", err, out.String())
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
	if err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}
