package measure

import (
	"slices"
	"strings"
	"testing"
)

// TestCatalogue: what holds of every metric. Their names, units and better directions are held by
// the list in docs/language.md.
func TestCatalogue(t *testing.T) {
	paths := map[string]bool{}
	for _, m := range Catalogue() {
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
	for name, want := range map[string]string{
		"tg": "<workload>.tg", "tg_total": "<workload>.tg_total",
		"crashes": "engine.crashes",
	} {
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
	if got := rate.Stats(); !slices.Contains(got, "pos1") || slices.Contains(got, "pos0") ||
		len(got) != len(want)+Positions {
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
