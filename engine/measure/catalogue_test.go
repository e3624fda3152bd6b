package measure

import (
	"slices"
	"testing"
)

func TestCatalogue(t *testing.T) {
	want := []struct {
		name, unit string
		better     Better
		scope      Scope
	}{
		{"tg", "tok/s", Higher, PerRequest},
		{"pp", "tok/s", Higher, PerRequest},
		{"ttfr", "ms", Lower, PerRequest},
		{"ttft", "ms", Lower, PerRequest},
		{"tpot", "ms", Lower, PerRequest},
		{"itl", "ms", Lower, PerRequest},
		{"e2e", "ms", Lower, PerRequest},
		{"prompt_tokens", "tokens", Neither, PerRequest},
		{"output_tokens", "tokens", Neither, PerRequest},
		{"cached_tokens", "tokens", Neither, PerRequest},
		{"startup_s", "s", Lower, PerLaunch},
		{"first_request_s", "s", Lower, PerLaunch},
		{"memory_gb", "GB", Lower, PerLaunch},
		{"crashes", "count", Lower, PerLaunch},
		{"kv_capacity_tokens", "tokens", Higher, PerLaunch},
		{"weights_gb", "GB", Lower, PerLaunch},
	}
	all := Catalogue()
	if len(all) != len(want) {
		t.Fatalf("%d metrics, want %d", len(all), len(want))
	}
	for i, w := range want {
		m, ok := Lookup(w.name)
		if !ok || m != all[i] {
			t.Errorf("Lookup(%s) = %+v, %v", w.name, m, ok)
		}
		if m.Unit != w.unit || m.Better != w.better || m.Scope != w.scope || m.Evidence == "" || m.Definition == "" {
			t.Errorf("%s: %+v", w.name, m)
		}
		if IsStat(w.name) {
			t.Errorf("%s is both a metric and a statistic", w.name)
		}
	}
	all[0].Name = "changed"
	if _, ok := Lookup("tg"); !ok {
		t.Error("the caller's slice changed the catalogue")
	}
	if _, ok := Lookup("TG"); ok {
		t.Error("names are matched exactly")
	}
}

func TestStats(t *testing.T) {
	want := []string{"mean", "median", "p50", "p90", "p95", "p99", "min", "max", "std", "cv", "n", "n_requests"}
	if got := Stats(); !slices.Equal(got, want) {
		t.Errorf("Stats() = %v, want %v", got, want)
	}
	for _, name := range want {
		if !IsStat(name) {
			t.Errorf("IsStat(%s) = false", name)
		}
	}
	if IsStat("p42") || IsStat("") {
		t.Error("IsStat knows what it should not")
	}
}
