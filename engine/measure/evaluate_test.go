package measure

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/internal/testing/must"
)

var update = flag.Bool("update", false, "rewrite the goldens")

// invented is a recording of two cells on a machine with two GPUs. It is made of
// whole numbers and single divisions, so every architecture makes the same.
func invented() Recording {
	r := rand.New(rand.NewPCG(5, 2))
	clock := 10 * time.Second
	var out Recording
	for i, cell := range []string{"chat.c4", "chat.c16"} {
		run := CellRun{
			Cell: cell, From: clock, Dimensions: Dimensions{Concurrency: 4 << (2 * i)}, ExactOutput: true,
			UniqueContext: true,
			SLO:           map[string]float64{"ttft": 120, "tpot": 15, "itl": 60},
			Limit: &Limit{
				BandwidthGBs: 273, StepGB: 3.5, Requests: 1, LeastGB: 1, PromptGFLOP: 9, Bits: 16,
				TFLOPs: 125, MostTFLOPs: 500, Room: 1.2,
			},
		}
		for n := range 40 {
			s := Sample{
				Workload: cell, Index: n, PromptTokens: 512 + r.IntN(9), CachedTokens: -1, RequestedOutput: 32,
				ContextTokens: 128 * i,
				Scheduled:     clock, Due: clock + time.Duration(r.IntN(1e6)), OpenLoop: i == 1, Finish: "length",
				Retries: r.IntN(12) / 11,
			}
			s.Start = s.Due + time.Duration(r.IntN(1e6))
			at, tokens := time.Duration(50e6+r.IntN(90e6)), 0
			for range 20 + r.IntN(12) {
				tokens += 1 + r.IntN(2)
				s.Events = append(s.Events, Event{At: at, Kind: KindText, Tokens: tokens, Bytes: 4 * tokens})
				at += time.Duration(5e6 + r.IntN(20e6))
			}
			s.OutputTokens = tokens
			if n == 7 {
				s.Err = "reset"
			}
			out.Samples = append(out.Samples, s)
			run.To = max(run.To, s.Start+at)
			clock += time.Duration(40e6 + r.IntN(9e6))
		}
		out.Cells = append(out.Cells, run)
		clock = run.To + time.Second
	}
	wave := func(name, source string, scale int) {
		s := Series{Name: name, Source: source}
		for at := 4 * time.Second; at < clock+2*time.Second; at += time.Duration(95e6 + r.IntN(10e6)) {
			s.At, s.Value = append(s.At, at), append(s.Value, float64(r.IntN(1000*scale))/7)
		}
		out.Series = append(out.Series, s)
	}
	rising := func(name, source string) {
		wave(name, source, 1)
		v := out.Series[len(out.Series)-1].Value
		for i := 1; i < len(v); i++ {
			v[i] += v[i-1]
		}
	}
	for _, gpu := range []string{"GPU-0", "GPU-1"} {
		for i, name := range []string{
			GPUPower, GPUPowerInstant, GPUMemory, GPUProcessMemory, GPUClock, GPUTemperature,
			GPUUtilization,
		} {
			wave(name, gpu, i+1)
		}
		out.Series = append(out.Series,
			Series{Name: GPUThrottle, Source: gpu, At: []time.Duration{
				9e9, 11e9, 12e9, 13e9, 14e9, 15e9, 16e9, 18e9,
				19e9,
			}, Value: []float64{0, 4, 32, 0, 0, 8, 8, 0, 0}})
	}
	for _, name := range []string{
		HostCPU, HostMemory, EngineMemory, "container.memory_gb", "engine.running",
		"engine.waiting", "engine.kv_cache_usage",
	} {
		wave(name, "", 2)
	}
	for i, x := range out.Series[len(out.Series)-1].Value {
		out.Series[len(out.Series)-1].Value[i] = x / 300 // the cache's usage is a share
	}
	rising("host.energy_j", "package-0") // series that nothing reads change nothing
	rising("host.energy_j", "package-1")
	for _, name := range []string{
		"spec_drafts", "spec_draft_tokens", "spec_accepted_tokens", "prefix_cache_queries",
		"prefix_cache_hits", "preemptions", "queue_time_sum", "queue_time_count",
	} {
		rising("engine."+name, "")
	}
	rising("engine.spec_accepted_per_pos", `position="0"`)
	rising("engine.spec_accepted_per_pos", `position="1"`)
	return out
}

// bits are the statistics, bit by bit, and in decimals for people.
func bits(all map[string]Summary) map[string]map[string]string {
	out := map[string]map[string]string{}
	for address, s := range all {
		out[address] = map[string]string{"n": fmt.Sprint(s.N, " ", s.Requests, " ", s.Unit, " ", s.Better)}
		for stat, v := range s.Stats {
			out[address][stat] = fmt.Sprintf("%016x %.6g", math.Float64bits(v), v)
		}
	}
	return out
}

// TestEvaluateGolden passes on every architecture: run it with GOARCH=arm64.
func TestEvaluateGolden(t *testing.T) {
	const path = "testdata/evaluate.json"
	got := bits(Evaluate(invented()))
	if *update {
		text, err := json.MarshalIndent(got, "", "  ")
		must.Do(t, err)
		must.Do(t, os.WriteFile(path, append(text, '\n'), 0o644))
	}
	text, err := os.ReadFile(path)
	must.Do(t, err)
	var want map[string]map[string]string
	must.Do(t, json.Unmarshal(text, &want))
	for _, address := range slices.Sorted(maps.Keys(want)) {
		if !reflect.DeepEqual(got[address], want[address]) {
			t.Errorf("%s\n got %v\nwant %v", address, got[address], want[address])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d metrics, want %d: %v", len(got), len(want), slices.Sorted(maps.Keys(got)))
	}
}

// The golden covers everything that a recording can give: anything missing from it is not tested.
func TestGoldenIsWhole(t *testing.T) {
	got := Evaluate(invented())
	for _, m := range Catalogue() {
		address := strings.Replace(m.Path(), "<workload>", "chat.c4", 1)
		switch m.Name {
		case "cached_tokens", "pp_total", "capacity", "prefix_shared", "prefix_found", "ttft_to_256", "ttft_to_1k",
			"ttft_to_4k", "ttft_to_16k", "ttft_longer":
			continue // needs what the recording does not have; tested elsewhere
		}
		if _, ok := got[address]; !ok && m.Scope != PerLaunch {
			t.Errorf("%s is not in the golden", address)
		}
	}
}

// The order of samples and series means nothing, so it changes nothing, not even a last bit.
func TestEvaluateIgnoresOrder(t *testing.T) {
	want := bits(Evaluate(invented()))
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, 1))
		mixed := invented()
		r.Shuffle(len(mixed.Samples), func(i, j int) {
			mixed.Samples[i], mixed.Samples[j] = mixed.Samples[j], mixed.Samples[i]
		})
		r.Shuffle(len(mixed.Series), func(i, j int) {
			mixed.Series[i], mixed.Series[j] = mixed.Series[j], mixed.Series[i]
		})
		if got := bits(Evaluate(mixed)); !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: other numbers", seed)
		}
	}
}

// Whatever a recording holds, Evaluate returns, and every number is finite.
func FuzzEvaluate(f *testing.F) {
	f.Add(uint64(1), int64(0), int64(5e9))
	f.Fuzz(func(t *testing.T, seed uint64, from, to int64) {
		r := rand.New(rand.NewPCG(seed, 4))
		recording := invented()
		recording.Cells[0].From, recording.Cells[1].To = time.Duration(from), time.Duration(to)
		for range r.IntN(60) {
			s := &recording.Series[r.IntN(len(recording.Series))]
			i := r.IntN(len(s.At))
			switch r.IntN(5) {
			case 0:
				s.Value[i] = math.Float64frombits(r.Uint64())
			case 1:
				s.At[i] = time.Duration(r.Int64())
			case 2:
				s.At, s.Value = s.At[:i+1], s.Value[:i+1]
			case 3:
				e := recording.Samples[r.IntN(len(recording.Samples))].Events
				e[r.IntN(len(e))].Tokens = r.IntN(100) - 5
			case 4:
				recording.Samples[r.IntN(len(recording.Samples))].Start = time.Duration(r.Int64())
			}
		}
		for address, s := range Evaluate(recording) {
			for stat, v := range s.Stats {
				if notFinite(v) {
					t.Errorf("%s.%s = %v", address, stat, v)
				}
			}
		}
		Disturbances(recording)
	})
}

// stored are metrics as they come back from a ledger.
func stored(t *testing.T, r Recording) map[string]Summary {
	t.Helper()
	text, err := json.Marshal(Evaluate(r))
	must.Do(t, err)
	var out map[string]Summary
	must.Do(t, json.Unmarshal(text, &out))
	return out
}

func TestAgree(t *testing.T) {
	r := invented()
	all := stored(t, r)
	n := len(all)
	all["engine.startup_s"] = Summary{Unit: "s", N: 1}
	all["command.tg"] = Summary{N: 1}
	a := Agree(r, all, 0)
	if len(a.Differ) != 0 || a.Numbers < 5*n || len(a.Evaluated) != n || r.Gives("command.tg") ||
		r.Gives("engine.startup_s") {
		t.Fatalf("%+v", a)
	}
	change := func(address string, f func(*Summary)) map[string]Summary {
		changed := maps.Clone(all)
		s := changed[address]
		s.Stats = maps.Clone(s.Stats)
		f(&s)
		changed[address] = s
		return changed
	}
	lastBit := func(s *Summary) { s.Stats["mean"] = math.Nextafter(s.Stats["mean"], 1e9) }
	for _, tt := range []struct {
		name      string
		stored    map[string]Summary
		tolerance float64
		want      string
	}{
		{"the last bit", change("chat.c4.ttft", lastBit), 0, "mean"},
		{"the last bit on another architecture", change("chat.c4.ttft", lastBit), 1e-9, ""},
		{"a millionth on another architecture", change("chat.c4.ttft", func(s *Summary) {
			s.Stats["mean"] *= 1.000001
		}), 1e-9, "mean"},
		{"a statistic more", change("gpu.power_w", func(s *Summary) { s.Stats["p99"] = 1 }), 1e-9, "p99"},
		{"a statistic less", change("host.memory_gb", func(s *Summary) { delete(s.Stats, "max") }), 1e-9, "max"},
		{"requests", change("chat.c16.itl", func(s *Summary) { s.Requests++ }), 1e-9, "requests"},
		{"unit", change("chat.c16.tg", func(s *Summary) { s.Unit = "tok/h" }), 1e-9, "unit"},
		{"a metric that cannot be derived", change("chat.c4.cached_tokens", func(s *Summary) { s.N = 1 }), 0, "metric"},
		{"a metric nobody knows", change("gpu.luck", func(s *Summary) { s.N = 1 }), 0, "metric"},
	} {
		got := Agree(r, tt.stored, tt.tolerance).Differ
		if (tt.want == "") != (len(got) == 0) || (len(got) > 0 && (len(got) != 1 || got[0].What != tt.want)) {
			t.Errorf("%s: %+v, want %q", tt.name, got, tt.want)
		}
	}
	delete(all, "chat.c4.tg_total")
	if a := Agree(r, all, 0); len(a.Differ) != 0 {
		t.Errorf("%+v", a)
	}
}
