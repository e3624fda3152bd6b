package decide

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Equal arms are told apart only where they differ by more than their launches; what was
// not varied is nil.
func TestAAOf(t *testing.T) {
	decision := plans.UsualDecision()
	made := func(boot, session, variant string, tg ...float64) (launches []*ledger.Launch) {
		for i, v := range tg {
			launches = append(launches, &ledger.Launch{
				ID: fmt.Sprint(session, variant, i), Session: session, Variant: variant, VariantKey: variant, Work: "k", Purpose: ledger.ForBenchmark,
				BootID: boot, OK: true,
				Observed: map[string]ledger.Observed{"tune": {Value: variant}},
				Metrics: map[string]measure.Summary{
					"w.tg":       {Unit: "tok/s", N: 3, Stats: map[string]float64{"median": v, "cv": 0.02}},
					"w.ttft":     {Unit: "ms", N: 1, Stats: map[string]float64{"median": 1000 / v}},
					"w.requests": {Stats: map[string]float64{"median": 3}},
				},
			})
		}
		return launches
	}
	alike := slices.Concat(made("b1", "s2", "baseline", 100, 102, 98, 101), made("b1", "s2", "noise_b", 101, 99, 100, 102), made("b1", "s2", "noise_c", 99, 101, 102, 98))
	apart := slices.Concat(made("b1", "s2", "baseline", 100, 102, 98, 101), made("b1", "s2", "noise_b", 131, 129, 130, 132), made("b1", "s2", "noise_c", 99, 101, 102, 98))
	for _, c := range []struct {
		name            string
		before, session []*ledger.Launch
		boots, differed int
		arms, byBoot    string
		atTwo           bool
	}{
		{"alike", nil, alike, 1, 0, "0.0%", "not varied", true},
		{"one arm apart", nil, apart, 1, 2, "16.5%", "not varied", true},
		{"two boots", made("b0", "s1", "baseline", 90, 91, 89, 90), alike, 2, 0, "0.0%", "7.9%", true},
		{"another engine's boot", made("b0", "s1", "other", 90, 91, 89, 90), alike, 1, 0, "0.0%", "not varied", true},
		{"too few for an early look", nil, slices.Concat(alike[:2], alike[4:6], alike[8:10]), 1, 0, "0.0%", "not varied", false},
		{"one arm", nil, alike[:4], 1, 0, "not varied", "not varied", false},
		{"no launch counted", nil, nil, 0, 0, "", "", false},
	} {
		var known ledgerOf
		for _, l := range slices.Concat(c.before, c.session) {
			known = append(known, &ledger.Record{Launch: l})
		}
		got := AAOf(&plans.Plan{Decision: &decision}, known.records(), c.session)
		if len(c.session) == 0 {
			if len(got.Metrics)+got.Arms+got.Boots > 0 {
				t.Errorf("%s: %+v", c.name, got)
			}
			continue
		}
		if len(got.Metrics) != 2 || got.Metrics[0].Metric != "w.tg" || got.Metrics[1].Metric != "w.ttft" || got.Boots != c.boots || got.Tunes != got.Arms {
			t.Errorf("%s: %+v", c.name, got)
			continue
		}
		text := func(x *float64) string {
			if x == nil {
				return "not varied"
			}
			return fmt.Sprintf("%.1f%%", 100**x)
		}
		tg, ttft := got.Metrics[0], got.Metrics[1]
		if arms, boots := text(tg.Arms), text(tg.Boots); arms != c.arms || boots != c.byBoot || tg.Differed != c.differed || ttft.Differed != c.differed {
			t.Errorf("%s: arms %s, boots %s, %d and %d differed; want %s, %s, %d", c.name, arms, boots, tg.Differed, ttft.Differed, c.arms, c.byBoot, c.differed)
		}
		if math.Abs(*tg.Requests-0.02) > 1e-12 || ttft.Requests != nil {
			t.Errorf("%s: requests %s and %s", c.name, text(tg.Requests), text(ttft.Requests))
		}
		if (tg.Resolves[2] != nil) != c.atTwo || tg.Resolves[4] == nil || *tg.Resolves[4] < *tg.Resolves[8] {
			t.Errorf("%s: resolves %s, %s, %s", c.name, text(tg.Resolves[2]), text(tg.Resolves[4]), text(tg.Resolves[8]))
		}
	}
}
