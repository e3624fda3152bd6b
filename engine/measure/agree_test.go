package measure

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"testing"
)

// stored are metrics as they come back from a ledger.
func stored(t *testing.T, r Recording) map[string]Summary {
	t.Helper()
	text, err := json.Marshal(Evaluate(r))
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]Summary
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAgree(t *testing.T) {
	r := invented()
	all := stored(t, r)
	n := len(all)
	all["engine.startup_s"] = Summary{Unit: "s", N: 1}
	all["command.tg"] = Summary{N: 1}
	a := Agree(r, all, 0)
	if len(a.Differ) != 0 || a.Metrics != n || a.Numbers < 5*n || len(a.New) != 0 || !slices.Equal(a.Elsewhere, []string{"command.tg", "engine.startup_s"}) {
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
		{"a millionth on another architecture", change("chat.c4.ttft", func(s *Summary) { s.Stats["mean"] *= 1.000001 }), 1e-9, "mean"},
		{"a statistic more", change("gpu.power_w", func(s *Summary) { s.Stats["p99"] = 1 }), 1e-9, "p99"},
		{"a statistic less", change("host.memory_gb", func(s *Summary) { delete(s.Stats, "max") }), 1e-9, "max"},
		{"requests", change("chat.c16.itl", func(s *Summary) { s.Requests++ }), 1e-9, "requests"},
		{"unit", change("chat.c16.tg", func(s *Summary) { s.Unit = "tok/h" }), 1e-9, "unit"},
		{"correction", change("chat.c4.pp_corrected", func(s *Summary) { s.Correction = "generation" }), 1e-9, "correction"},
		{"a metric that cannot be derived", change("chat.c4.ttft_reasoning", func(s *Summary) { s.N = 1 }), 0, "metric"},
		{"a metric nobody knows", change("gpu.luck", func(s *Summary) { s.N = 1 }), 0, "metric"},
	} {
		got := Agree(r, tt.stored, tt.tolerance).Differ
		if (tt.want == "") != (len(got) == 0) || (len(got) > 0 && (len(got) != 1 || got[0].What != tt.want)) {
			t.Errorf("%s: %+v, want %q", tt.name, got, tt.want)
		}
	}
	delete(all, "chat.c4.tg_total")
	if a := Agree(r, all, 0); !slices.Equal(a.New, []string{"chat.c4.tg_total"}) || len(a.Differ) != 0 {
		t.Errorf("%+v", a)
	}
}

func TestCellsOf(t *testing.T) {
	got := CellsOf([]Sample{{Workload: "b"}, {Workload: "a"}, {Workload: "b", Warmup: true}})
	if len(got) != 2 || got[0].Cell != "b" || got[1].Cell != "a" || got[0].window().exists() {
		t.Errorf("%+v", got)
	}
}
