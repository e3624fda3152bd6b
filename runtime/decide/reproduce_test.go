package decide

import (
	"cmp"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/mxflow/mxflow/gates/stats"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
)

// testedAs is a feature's decision by one test of a gain, with the launches of both arms in tok/s.
func testedAs(node string, v verdict.Verdict, own, base []float64) *ledger.Decision {
	n := min(len(own), len(base))
	gain := math.Expm1(meanLog(own) - meanLog(base))
	return &ledger.Decision{
		Node: node, Kind: ledger.KindFeature, Verdict: v,
		Rules: []verdict.Rule{{
			Name: "decode", Verdict: v, Decides: true, Comparisons: []verdict.Comparison{{Test: &verdict.Test{
				Form: verdict.Ratio, Metric: "chat.tg", Stat: "median", Arm: node, Against: ledger.Baseline,
				Relation: "gain", Values: own, Base: base, Looks: []stats.Look{{N: n}}, Estimate: &gain,
			}}},
		}},
	}
}

func meanLog(values []float64) (sum float64) {
	for _, v := range values {
		sum += math.Log(v) / float64(len(values))
	}
	return sum
}

func TestReproduce(t *testing.T) {
	around := func(x float64) []float64 { return []float64{x, 1.01 * x, 0.99 * x} }
	as := func(v verdict.Verdict, own, base float64) *ledger.Decision {
		return testedAs("a", v, around(own), around(base))
	}
	pass := as(verdict.Pass, 150, 100)
	differs := []Condition{{Part: "driver", Name: "driver", Was: "1", Is: "2"}}
	accepted := []Condition{{Part: "driver", Name: "driver", Was: "1", Is: "2", Accepted: true}}
	locked := map[string]verdict.Reason{"a": fact("locked")}
	for _, c := range []struct {
		name    string
		was     *ledger.Decision // pass, if it is nil
		is      *ledger.Decision
		differs []Condition
		want    Outcome
		effect  Agreement
	}{
		{"the same", nil, as(verdict.Pass, 151, 100), nil, Reproduced, Yes},
		{"at another speed", nil, as(verdict.Pass, 302, 200), nil, Reproduced, Yes},
		{"half the effect", nil, as(verdict.Pass, 125, 100), nil, NotReproduced, No},
		{"twice the effect", nil, as(verdict.Pass, 200, 100), nil, NotReproduced, No},
		// Known to 0.1%, and 1% apart: no launches explain it, and nobody minds.
		{
			"exactly, and nearly the same",
			testedAs("a", verdict.Pass, []float64{150, 150.1, 149.9}, []float64{100, 100.1, 99.9}),
			testedAs("a", verdict.Pass, []float64{151.5, 151.6, 151.4}, []float64{100, 100.1, 99.9}),
			nil, Reproduced, Yes,
		},
		{
			"no spread to tell by", nil, testedAs("a", verdict.Pass, []float64{150}, []float64{100}), nil,
			Undecided, Open,
		},
		{"fails", nil, as(verdict.Fail, 100, 100), nil, NotReproduced, ""},
		{"is invalid", nil, as(verdict.Invalid, 150, 100), nil, NotReproduced, ""},
		{"is inconclusive", nil, as(verdict.Inconclusive, 115, 100), nil, Undecided, ""},
		{"breaks", nil, testedAs("a", verdict.Error, nil, nil), nil, Undecided, ""},
		{"is locked", nil, nil, nil, Undecided, ""},
		{"another driver", nil, as(verdict.Pass, 151, 100), differs, OtherConditions, Yes},
		{"fails by another driver", nil, as(verdict.Fail, 100, 100), differs, OtherConditions, ""},
		{"open by another driver", nil, nil, differs, Undecided, ""},
		{"an accepted driver", nil, as(verdict.Pass, 151, 100), accepted, Reproduced, Yes},
		{"fails by an accepted one", nil, as(verdict.Fail, 100, 100), accepted, NotReproduced, ""},
	} {
		here := map[string]*ledger.Decision{}
		if c.is != nil {
			here["a"] = c.is
		}
		r := Reproduce([]*ledger.Decision{cmp.Or(c.was, pass)}, here, locked, c.differs)
		if r.Outcome != c.want {
			t.Errorf("%s: %s, want %s", c.name, r.Outcome, c.want)
		}
		if effects := r.Decisions[0].Effects; (len(effects) > 0) != (c.effect != "") ||
			len(effects) > 0 && effects[0].Compatible != c.effect {
			t.Errorf("%s: %+v, want %q", c.name, effects, c.effect)
		}
	}
	if r := Reproduce(nil, nil, nil, nil); r.Outcome != Undecided {
		t.Errorf("nothing is %s", r.Outcome)
	}
	// A gate that tests what its feature did has no second effect.
	gate := as(verdict.Pass, 150, 100)
	gate.Node, gate.Kind = "phase.a", ledger.KindGate
	here := map[string]*ledger.Decision{"a": pass, "phase.a": gate}
	if r := Reproduce([]*ledger.Decision{pass, gate}, here, nil, nil); r.Outcome != Reproduced ||
		len(r.Decisions[0].Effects) != 1 || len(r.Decisions[1].Effects) != 0 {
		t.Errorf("%+v", r)
	}
}

func TestConditions(t *testing.T) {
	launch := func(change func(*ledger.Launch)) *ledger.Launch {
		l := &ledger.Launch{
			Fingerprint: map[string]string{
				"cpu": "a", "driver": "1", "host": "x", "weights": "w", "image": "i",
				"gpu": "NVIDIA H200 GPU-8f0c1f6e-0000-1111-2222-333344445555",
			},
			Engine:   map[string]string{"source.vllm.commit": "c1"},
			Trees:    map[string]ledger.Tree{"source.vllm": {Commit: "c1"}, "own": {Hash: "h1"}},
			Observed: map[string]ledger.Observed{"kernel": {Value: "marlin"}, "kv_tokens": {Value: 1000.0}},
		}
		change(l)
		return l
	}
	made := func(change func(*ledger.Launch)) Made {
		return Made{Tool: "mxflow 1", Arms: map[string]*ledger.Launch{"b": launch(change)}}
	}
	was := made(func(*ledger.Launch) {})
	for _, c := range []struct {
		name     string
		change   func(*ledger.Launch)
		settings []plans.Difference
		want     []string
	}{
		{"nothing", func(*ledger.Launch) {}, nil, nil},
		{"another of the same machines", func(l *ledger.Launch) {
			l.Fingerprint["host"], l.Observed["kv_tokens"] = "y", ledger.Observed{Value: 900.0}
			l.Fingerprint["gpu"] = "NVIDIA H200 GPU-aaaa1f6e-0000-1111-2222-333344445555"
		}, nil, nil},
		{"GPU and driver", func(l *ledger.Launch) {
			l.Fingerprint["gpu"], l.Fingerprint["driver"] = "NVIDIA L4 GPU-8f0c1f6e-0000-1111-2222-333344445555", "2"
		}, nil, []string{"driver driver", "gpu gpu"}},
		{"a lost entry", func(l *ledger.Launch) { delete(l.Fingerprint, "cpu") }, nil, []string{"machine cpu"}},
		{"commit, tree and image", func(l *ledger.Launch) {
			l.Engine["source.vllm.commit"], l.Trees["own"], l.Fingerprint["image"] = "c2", ledger.Tree{Hash: "h2"}, "j"
		}, nil, []string{"engine source.vllm", "engine tree own", "engine image"}},
		{
			"another stack", func(l *ledger.Launch) { l.Knobs = map[string]string{"moe": "routed"} }, nil,
			[]string{"arms moe"},
		},
		{
			"kernels", func(l *ledger.Launch) { l.Observed["kernel"] = ledger.Observed{Value: "triton"} }, nil,
			[]string{"kernels kernel"},
		},
		{
			"the model elsewhere", func(*ledger.Launch) {},
			[]plans.Difference{{Path: "engine.vllm.x.model", Was: "/a", Is: "/b"}},
			nil,
		},
		{
			"another model", func(l *ledger.Launch) { l.Fingerprint["weights"] = "v" },
			[]plans.Difference{{Path: "engine.vllm.x.model", Was: "/a", Is: "/b"}},
			[]string{"model weights", "settings engine.vllm.x.model"},
		},
	} {
		var got []string
		for _, d := range Conditions(was, made(c.change), c.settings, nil) {
			got = append(got, d.Part+" "+d.Name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	other := made(func(l *ledger.Launch) { l.Fingerprint["driver"], l.Fingerprint["cpu"] = "2", "b" })
	for _, accept := range [][]string{{"driver", "machine"}, {"all"}} {
		for _, d := range Conditions(was, other, nil, accept) {
			if !d.Accepted {
				t.Errorf("%q: %+v", accept, d)
			}
		}
	}
	if d := Conditions(was, other, nil, []string{"driver"}); len(d) != 2 || d[0].Accepted == d[1].Accepted {
		t.Errorf("%+v", d)
	}
	if d := Conditions(was, Made{Tool: "mxflow 1"}, nil, nil); len(d) != 1 || d[0].Part != "arms" {
		t.Errorf("an arm without a launch: %+v", d)
	}
	// What a launch will show is not known before it.
	ahead := Made{Tool: "mxflow 1", Ahead: true, Arms: map[string]*ledger.Launch{
		"b": {Fingerprint: map[string]string{"cpu": "a", "driver": "2", "kernel": "new"}},
	}}
	if d := Conditions(was, ahead, nil, nil); len(d) != 1 || d[0].Name != "driver" {
		t.Errorf("%+v", d)
	}
}

// How often an unchanged engine is not reproduced, and how often another effect is, with records that
// stopped when they had decided. The page of statistics has the table of
//
//	MXFLOW_TEST_LONG=1 go test -v -run TestReproducedRates ./runtime/decide
func TestReproducedRates(t *testing.T) {
	times := 2_000
	if os.Getenv("MXFLOW_TEST_LONG") != "" {
		times = 100_000
	}
	d := must.Get(stats.DesignFor(0.01, 0.05, 3, 8, 3))(t)
	rng := rand.New(rand.NewPCG(1, 2))
	record := func(gain, sd float64) *ledger.Decision {
		var own, base []float64
		for range d.Last() {
			own = append(own, math.Exp(math.Log1p(gain)+sd*rng.NormFloat64()))
			base = append(base, math.Exp(sd*rng.NormFloat64()))
		}
		logs := func(values []float64) (out []float64) {
			for _, v := range values {
				out = append(out, math.Log(v))
			}
			return out
		}
		outcome, looks, err := stats.Sequential(stats.Question{
			Candidate: logs(own), Base: logs(base),
			Terms: stats.Terms{Theta: math.Log(1.2), Pass: d.Pass, Fail: d.Fail},
		}, d)
		must.Do(t, err)
		v := map[stats.Outcome]verdict.Verdict{stats.Passed: verdict.Pass, stats.Failed: verdict.Fail}[outcome]
		if v == "" {
			v = verdict.Inconclusive
		}
		n := looks[len(looks)-1].N
		return testedAs("a", v, own[:n], base[:n])
	}
	for _, c := range []struct {
		gain, again, sd float64
		not             [2]float64 // the least and the most share that is not reproduced
	}{
		{0.5, 0.5, 0.01, [2]float64{0, 0.05}},
		{0.5, 0.5, 0.03, [2]float64{0, 0.05}},
		{0.3, 0.3, 0.03, [2]float64{0, 0.07}},
		{0.3, 0.3, 0.05, [2]float64{0, 0.07}},
		{0.5, 0.35, 0.01, [2]float64{0.9, 1}},
		{0.5, 0.35, 0.03, [2]float64{0.3, 1}},
		{0.5, 0, 0.03, [2]float64{0.95, 1}},
	} {
		counts, n := map[Outcome]float64{}, 0.0
		for n < float64(times) {
			first := record(c.gain, c.sd)
			if first.Verdict == verdict.Inconclusive {
				continue // there is nothing to reproduce
			}
			here := map[string]*ledger.Decision{"a": record(c.again, c.sd)}
			counts[Reproduce([]*ledger.Decision{first}, here, nil, nil).Outcome]++
			n++
		}
		not := counts[NotReproduced] / n
		t.Logf("+%2.0f%% there, +%2.0f%% here, launches vary by %.0f%%: reproduced %.1f%%, not %.2f%%, "+
			"undecided %.1f%%",
			100*c.gain, 100*c.again, 100*c.sd, 100*counts[Reproduced]/n, 100*not, 100*counts[Undecided]/n)
		if slack := 4 * math.Sqrt(0.05/n); not < c.not[0]-slack || not > c.not[1]+slack {
			t.Errorf("+%.0f%%, +%.0f%%: %.4f not reproduced", 100*c.gain, 100*c.again, not)
		}
	}
}
