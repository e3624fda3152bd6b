package decide

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// Noise is pooled within the launches of one variant in one session, of those
// before the session in question that count and sent the same work.
func TestNoise(t *testing.T) {
	launch := func(session, variant, work string, tg float64) *ledger.Launch {
		return &ledger.Launch{
			Session: session, VariantKey: variant, Work: work, Purpose: "benchmark", OK: true,
			Metrics: map[string]measure.Summary{
				"w.tg": {Stats: map[string]float64{"median": tg, "p90": 2 * tg * tg}},
			},
		}
	}
	// Two groups whose logs lie 0.02 and 0.04 apart: variances 0.0002 and 0.0008,
	// one degree of freedom each.
	all := []*ledger.Launch{
		launch("s1", "a", "k", 100), launch("s1", "b", "k", 50),
		launch("s1", "a", "k", 100*math.Exp(0.02)), launch("s1", "b", "k", 50*math.Exp(0.04)),
		launch("s1", "a", "other", 1), launch("s2", "a", "k", 70), launch("s2", "a", "k", 7000),
	}
	broken := launch("s1", "a", "k", 1)
	broken.OK = false
	disturbed := launch("s1", "a", "k", 1)
	disturbed.Invalid = []verdict.Reason{fact("throttled")}
	all = append([]*ledger.Launch{broken, disturbed}, all...)
	var known ledgerOf
	for _, l := range all {
		known = append(known, &ledger.Record{Launch: l})
	}
	before := launchesBefore(known.Records(), "s2", "k", "a")
	if len(before) != 4 {
		t.Fatalf("%d launches before", len(before))
	}
	got := noiseAmong(before, []string{"w.tg", "w.tg.p90", "w.ttft"}, []string{"a"})
	if n := got["w.tg"]; math.Abs(n.SD-math.Sqrt(0.0005)) > 1e-12 || n.DF != 2 || n.Gap != 0 {
		t.Errorf("w.tg: %+v", n)
	}
	if n := got["w.tg.p90"]; math.Abs(n.SD-2*math.Sqrt(0.0005)) > 1e-12 {
		t.Errorf("w.tg.p90: %+v", n)
	}
	if _, known := got["w.ttft"]; known {
		t.Error("noise of what was never measured")
	}
	must.Equal(t, "launches before a session that has not begun", len(launchesBefore(known.Records(), "", "k", "a")), 6)
	if n := len(launchesBefore(known.Records(), "s2", "", "a")); n != 0 {
		t.Errorf("%d launches of no work", n)
	}
}

// Noise is of one engine: what hangs together by variants that stood beside each
// other in a session.
func TestNoiseBeforeOfOneEngine(t *testing.T) {
	var records []*ledger.Record
	launch := func(session string, variants ...string) {
		for _, v := range variants {
			records = append(records, &ledger.Record{Launch: &ledger.Launch{
				ID: session + v, Session: session, VariantKey: v, Work: "k", Purpose: ledger.ForBenchmark, OK: true,
			}})
		}
	}
	launch("s1", "base", "a")
	launch("s2", "a", "b")
	launch("s3", "other", "x")
	launch("s4", "other", "y")
	launch("s5", "b", "c")
	launch("s6", "base", "d")
	for _, c := range []struct{ session, variants, want string }{
		{"", "base d", "s1base s1a s2a s2b s5b s5c s6base s6d"},
		{"s6", "base d", "s1base s1a s2a s2b s5b s5c"},
		{"s5", "b c", "s1base s1a s2a s2b"},
		{"", "c new", "s1base s1a s2a s2b s5b s5c s6base s6d"},
		{"", "x", "s3other s3x s4other s4y"},
		{"s3", "other x", ""},
		{"", "new", ""},
		{"", "", ""},
	} {
		var got []string
		for _, l := range launchesBefore(slices.All(records), c.session, "k", strings.Fields(c.variants)...) {
			got = append(got, l.ID)
		}
		if fmt.Sprint(got) != fmt.Sprint(strings.Fields(c.want)) {
			t.Errorf("before %q of %s: %v, want %s", c.session, c.variants, got, c.want)
		}
	}
}

// The newest sessions count until they have 16 degrees of freedom, whole ones only.
func TestNoiseForgets(t *testing.T) {
	var before []*ledger.Launch
	session := func(name string, spread float64, n int) {
		for i := range n {
			before = append(before, &ledger.Launch{Session: name, VariantKey: "a", Metrics: map[string]measure.Summary{
				"w.tg": {Stats: map[string]float64{"median": 100 * math.Exp(spread*float64(i%2))}},
			}})
		}
	}
	session("noisy", 0.5, 8)
	for i, name := range []string{"one", "two", "three"} {
		session(name, 0.01, 7)
		n := noiseAmong(before, []string{"w.tg"}, nil)["w.tg"]
		if want := float64(7 + 6*min(i+1, 2)); i < 2 && (n.DF != want || n.SD < 0.1) {
			t.Errorf("after %s: %+v, want %v degrees of freedom and the noisy one among them", name, n, want)
		}
	}
	if n := noiseAmong(before, []string{"w.tg"}, nil)["w.tg"]; n.DF != 18 || n.SD > 0.01 ||
		fmt.Sprint(n.Sessions) != "[one two three]" {
		t.Errorf("%+v, want the newest three", n)
	}
}

// How far apart starts lie is known only of a variant's own, and only from many of them:
// those of others say nothing about two speeds of this one.
func TestNoiseOfOwnStarts(t *testing.T) {
	var before []*ledger.Launch
	add := func(variant string, n int) {
		for i := range n {
			before = append(before,
				&ledger.Launch{Session: fmt.Sprint("s", i/4), VariantKey: variant, Metrics: map[string]measure.Summary{
					"w.tg": {Stats: map[string]float64{"median": 100 * math.Exp(0.002*float64(i))}},
				}})
		}
	}
	add("parent", 9)
	add("candidate", 6)
	for range 2 {
		for _, c := range []struct {
			variants []string
			want     float64
		}{
			{[]string{"parent"}, 0.016},
			{[]string{"candidate", "parent"}, map[bool]float64{true: 0.016}[len(before) > 15]},
			{[]string{"new", "parent"}, 0},
			{nil, 0},
		} {
			if got := noiseAmong(before, []string{"w.tg"}, c.variants)["w.tg"].Gap; math.Abs(got-c.want) > 1e-12 {
				t.Errorf("%v of %d launches lie within %v, want %v", c.variants, len(before), got, c.want)
			}
		}
		add("candidate", 1)
	}
}

// Equal arms are told apart only where they differ by more than their launches; what was
// not varied is nil.
func TestAAOf(t *testing.T) {
	decision := plans.UsualDecision()
	made := func(boot, session, variant string, tg ...float64) (launches []*ledger.Launch) {
		for i, v := range tg {
			launches = append(launches, &ledger.Launch{
				ID: fmt.Sprint(session, variant, i), Session: session, Variant: variant, VariantKey: variant, Work: "k",
				Purpose: ledger.ForBenchmark,
				BootID:  boot, OK: true,
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
	alike := slices.Concat(made("b1", "s2", "baseline", 100, 102, 98, 101),
		made("b1", "s2", "noise_b", 101, 99, 100, 102), made("b1", "s2", "noise_c", 99, 101, 102, 98))
	apart := slices.Concat(made("b1", "s2", "baseline", 100, 102, 98, 101),
		made("b1", "s2", "noise_b", 131, 129, 130, 132), made("b1", "s2", "noise_c", 99, 101, 102, 98))
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
		{
			"too few for an early look", nil, slices.Concat(alike[:2], alike[4:6], alike[8:10]), 1, 0, "0.0%",
			"not varied", false,
		},
		{"one arm", nil, alike[:4], 1, 0, "not varied", "not varied", false},
		{"no launch counted", nil, nil, 0, 0, "", "", false},
	} {
		var known ledgerOf
		for _, l := range slices.Concat(c.before, c.session) {
			known = append(known, &ledger.Record{Launch: l})
		}
		got := AAOf(&plans.Plan{Decision: &decision}, known.Records(), c.session)
		if len(c.session) == 0 {
			if len(got.Metrics)+got.Arms+got.Boots > 0 {
				t.Errorf("%s: %+v", c.name, got)
			}
			continue
		}
		if len(got.Metrics) != 2 || got.Metrics[0].Metric != "w.tg" || got.Metrics[1].Metric != "w.ttft" ||
			got.Boots != c.boots || got.Tunes != got.Arms {
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
		if arms, boots := text(tg.Arms), text(tg.Boots); arms != c.arms || boots != c.byBoot ||
			tg.Differed != c.differed || ttft.Differed != c.differed {
			t.Errorf("%s: arms %s, boots %s, %d and %d differed; want %s, %s, %d", c.name, arms, boots, tg.Differed,
				ttft.Differed, c.arms, c.byBoot, c.differed)
		}
		if math.Abs(*tg.Requests-0.02) > 1e-12 || ttft.Requests != nil {
			t.Errorf("%s: requests %s and %s", c.name, text(tg.Requests), text(ttft.Requests))
		}
		if (tg.Resolves[2] != nil) != c.atTwo || tg.Resolves[4] == nil || *tg.Resolves[4] < *tg.Resolves[8] {
			t.Errorf("%s: resolves %s, %s, %s", c.name, text(tg.Resolves[2]), text(tg.Resolves[4]),
				text(tg.Resolves[8]))
		}
	}
}

// A parent that got slower once its candidate had run is said.
func TestParentSlower(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name          string
		before, after []float64 // the parent's tok/s
		boot          string
		want          string
	}{
		{"slower", []float64{100, 101}, []float64{70, 71}, "b", "chat.tg"},
		{"as before", []float64{100, 101}, []float64{101, 100}, "b", ""},
		{"slower in one", []float64{100, 101}, []float64{70, 100.5}, "b", ""},
		{"hardly", []float64{100, 101}, []float64{99.5, 99.4}, "b", ""},
		{"faster", []float64{70, 71}, []float64{100, 101}, "b", ""},
		{"one launch before", []float64{100}, []float64{70, 71}, "b", ""},
		{"before a reboot", []float64{100, 101}, []float64{70, 71}, "a", ""},
		{"not known before", []float64{0, 0}, []float64{70, 71}, "b", ""},
	} {
		var records []*ledger.Record
		var used []*ledger.Launch
		add := func(key, boot string, speed float64) *ledger.Launch {
			l := &ledger.Launch{
				ID: fmt.Sprint(len(records)), VariantKey: key, Purpose: ledger.ForBenchmark, OK: true,
				Work: "w", BootID: boot,
				Started: at.Add(time.Duration(len(records)) * time.Minute), Metrics: map[string]measure.Summary{},
			}
			if s, ok := measure.SummaryOf("tg", []float64{speed}); ok && speed > 0 {
				l.Metrics["chat.tg"] = s
			}
			records = append(records, &ledger.Record{Launch: l})
			return l
		}
		for _, speed := range c.before {
			add("p", c.boot, speed)
		}
		add("c", "b", 100)
		for _, speed := range c.after {
			used = append(used, add("p", "b", speed))
		}
		v := &View{Record: ledgerOf(records)}
		why := ParentSlower(v, Arm{Name: "new", Key: "c"}, Arm{Name: "old", Key: "p"}, used)
		if got := why.Values["metric"].Text; got != c.want {
			t.Errorf("%s: %v, want %q", c.name, why, c.want)
		}
	}
}
