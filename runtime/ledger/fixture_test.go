package ledger

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 123456789, time.UTC)

func runStart(run string) *Record {
	return &Record{Type: "run", Time: noon, Run: run, RunStart: &RunStart{
		Plan: "p", PlanFile: "p.hcl", Tool: "test",
		Environment: map[string]string{"os": "linux", "arch": "arm64"},
	}}
}

func launch(run, id string) *Record {
	return &Record{Type: "launch", Time: noon, Run: run, Launch: &Launch{
		ID: id, Session: "s1", Purpose: "benchmark", Node: "baseline", Variant: "baseline", VariantKey: "vk",
		Ordinal: 1, Order: 1,
		Started: noon, Seconds: 1.25, OK: true,
		Metrics: map[string]measure.Summary{"chat.tg": {
			Unit: "tok/s", Better: "higher", N: 10,
			Stats: map[string]float64{"mean": 57.85, "median": 57.9},
		}},
	}}
}

func decision(run, node string, attempt int) *Record {
	v, low, high := 0.12, 0.10, 0.14
	return &Record{Type: "decision", Time: noon, Run: run, Decision: &Decision{
		Node: node, Kind: "feature", MeasureKey: "m", DecisionKey: "d", Attempt: attempt, Verdict: verdict.Pass,
		Reasons: []verdict.Reason{verdict.Say("broken", "{error}",
			verdict.Text("error", "chat.tg.gain 12% >= 10% <script> &"))},
		Rules: []verdict.Rule{{
			Name: "decode", Role: "criterion", Expr: "chat.tg.gain >= 0.10", Source: "p.hcl:3:5",
			Verdict: verdict.Pass, Decides: true,
			Inputs: []verdict.Input{{Path: "chat.tg.gain", Value: &v, N: 5, BaseN: 5, Low: &low, High: &high}},
		}},
		Launches: []string{"l1"},
	}}
}

func end(run string) *Record {
	return &Record{
		Type: "end", Time: noon, Run: run,
		End: &End{Verdict: verdict.Pass, Reason: verdict.New(code.Finished)},
	}
}

// small is a ledger of one run with one record of each type.
func small() []*Record {
	return []*Record{runStart("r1"), launch("r1", "l1"), decision("r1", "feature.a", 1), end("r1")}
}

// create writes a ledger of these records, each appended by itself, and
// returns its path, its bytes, and its size after each append, from none on.
func create(t testing.TB, recs ...*Record) (path string, data []byte, sizes []int64) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "ledger")
	l := opened(t, path)
	sizes = append(sizes, l.size)
	for _, r := range recs {
		must.Do(t, l.Append(r))
		sizes = append(sizes, l.size)
	}
	data = must.Get(os.ReadFile(path))(t)
	return path, data, sizes
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	must.Do(t, os.WriteFile(path, data, 0o644))
}

// opened is a ledger that the test's end closes.
func opened(t testing.TB, path string) *Ledger {
	t.Helper()
	l := must.Get(Open(path, nil))(t)
	t.Cleanup(func() { l.Close() })
	return l
}

// ofCheckpoint is the checkpoint of a ledger.
func ofCheckpoint(t testing.TB, path string) []byte {
	t.Helper()
	return must.Get(os.ReadFile(checkpointPath(path)))(t)
}

func nodes(n int) []*Record {
	recs := make([]*Record, n)
	for i := range recs {
		recs[i] = decision("r1", fmt.Sprintf("feature.f%d", i), 1)
	}
	return recs
}
