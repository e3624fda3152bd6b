package measure

import (
	"slices"
	"strings"
	"testing"
)

// wantCatalogue is the vocabulary of rules: scope, name, unit, better direction.
const wantCatalogue = `
request tg tok/s higher
request pp tok/s higher
request ttfr ms lower
request ttft ms lower
request ttft_own ms lower
request ttft_answer ms lower
request tpot ms lower
request itl ms lower
request e2e ms lower
request queue ms lower
request prompt_tokens tokens -
request context_tokens tokens -
request output_tokens tokens -
request cached_tokens tokens -
request shortfall tokens lower
request retries count lower
cell tg_total tok/s higher
cell pp_total tok/s higher
cell requests_per_s req/s higher
cell goodput req/s higher
cell slo_attainment share higher
cell errors count lower
cell error_rate share lower
cell retry_count count lower
cell reached_concurrency requests -
cell waiting requests lower
cell engine_queue ms lower
cell tg_of_limit share higher
cell pp_of_limit share higher
cell accept_rate share higher
cell accept_length tokens higher
cell prefix_hit_rate share higher
cell preemptions count lower
cell kv_cache_usage share lower
cell power_w W lower
cell energy_j J lower
cell tokens_per_joule tok/J higher
cell gpu_memory_gb GB lower
cell gpu_memory_in_use_gb GB lower
cell engine_memory_gb GB lower
launch startup_s s lower
launch first_request_s s lower
launch memory_gb GB lower
launch crashes count lower
launch kv_capacity_tokens tokens higher
launch weights_gb GB lower
gpu idle_power_w W lower
gpu power_w W lower
gpu peak_power_w W lower
gpu energy_j J lower
gpu memory_gb GB lower
gpu memory_in_use_gb GB lower
gpu process_memory_gb GB lower
gpu clock_mhz MHz -
gpu temperature_c °C lower
gpu throttled_share share lower
gpu power_capped_share share lower
host cpu_share share lower
host memory_gb GB lower`

func TestCatalogue(t *testing.T) {
	var got strings.Builder
	paths := map[string]bool{}
	for _, m := range Catalogue() {
		better := string(m.Better)
		if m.Better == Neither {
			better = "-"
		}
		got.WriteString("\n" + strings.Join([]string{string(m.Scope), m.Name, m.Unit, better}, " "))
		switch m.Unit {
		case "tokens", "count", "requests", "°C", "MHz":
			// Of the metrics in these units, two are averages.
			if averaged := m.Name == "accept_length" || m.Name == "waiting"; m.Whole == averaged {
				t.Errorf("%s: whole numbers: %v", m.Name, m.Whole)
			}
		default:
			if m.Whole {
				t.Errorf("%s is a number of whole %s", m.Name, m.Unit)
			}
		}
		if m.Evidence == "" || !strings.HasSuffix(m.Definition, ".") {
			t.Errorf("%s: evidence %q, definition %q", m.Name, m.Evidence, m.Definition)
		}
		if StatOf(m.Name).Name != "" {
			t.Errorf("%s is both a metric and a statistic", m.Name)
		}
		if paths[m.Path()] {
			t.Errorf("%s is there twice: what a request and a cell have shares addresses", m.Path())
		}
		paths[m.Path()] = true
		if found, ok := LookupIn(m.Name, m.Scope); !ok || found != m {
			t.Errorf("LookupIn(%s, %s) = %+v, %v", m.Name, m.Scope, found, ok)
		}
	}
	if got.String() != wantCatalogue {
		t.Errorf("the catalogue is%s\nwant%s", got.String(), wantCatalogue)
	}
}

func TestLookup(t *testing.T) {
	all := Catalogue()
	all[0].Name = "changed"
	if _, ok := Lookup("tg"); !ok {
		t.Error("the caller's slice changed the catalogue")
	}
	if _, ok := Lookup("TG"); ok {
		t.Error("names are matched exactly")
	}
	// engine.memory_gb, as rules have always called it, stays the engine's.
	for name, scope := range map[string]Scope{"memory_gb": PerLaunch, "power_w": PerCell} {
		if m, ok := Lookup(name); !ok || m.Scope != scope {
			t.Errorf("Lookup(%s) has the scope %q, want %q", name, m.Scope, scope)
		}
	}
	if m, ok := LookupIn("memory_gb", PerHost, PerGPU); !ok || m.Scope != PerGPU {
		t.Errorf("memory_gb of a machine: %+v", m)
	}
	if _, ok := LookupIn("tg", PerGPU, PerHost); ok {
		t.Error("found a metric of requests below gpu")
	}
	for name, want := range map[string]string{"tg": "<workload>.tg", "tg_total": "<workload>.tg_total", "crashes": "engine.crashes"} {
		if m, _ := Lookup(name); m.Path() != want {
			t.Errorf("path of %s is %s", name, m.Path())
		}
	}
}

func TestStats(t *testing.T) {
	want := []string{"mean", "median", "p50", "p90", "p95", "p99", "min", "max", "std", "cv", "n", "n_requests"}
	tg, _ := Lookup("tg")
	if got := tg.Stats(); !slices.Equal(got, want) {
		t.Errorf("statistics of tg are %v, want %v", got, want)
	}
	rate, _ := Lookup("accept_rate")
	if got := rate.Stats(); !slices.Contains(got, "pos1") || slices.Contains(got, "pos0") || len(got) != len(want)+Positions {
		t.Errorf("statistics of accept_rate are %v", got)
	}
	for _, name := range want {
		if StatOf(name).Name != name {
			t.Errorf("there is no statistic %s", name)
		}
	}
	if StatOf("p42") != (Stat{}) || StatOf("") != (Stat{}) {
		t.Error("there is a statistic that should not be")
	}
}
