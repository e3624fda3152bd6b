package gates

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/load"
)

//go:embed testdata/rule.hcl
var fixturePlan string

var registry = &plans.Registry{
	Levels: map[string]plans.Schema{
		"smoke": {}, "kernels": {},
		"benchmark": {Attrs: []plans.Attr{{Name: "workloads", Type: plans.Refs, Ref: "workload", Required: true}}},
	},
	Engines: map[string]plans.EngineKind{"embedded": {Observed: []plans.Observed{
		{Name: "attention", Type: "string"},
		{Name: "graphs", Type: "bool"},
		{Name: "capacity", Type: "number", Unit: "tokens"},
	}}},
}

// loaded compiles text as the rule of a gate over the one feature f.
func loaded(text string) *load.Result {
	quoted := `"` + quoting.Replace(text) + `"`
	return load.Bytes("plan.hcl", []byte(strings.Replace(fixturePlan, "RULE", quoted, 1)), registry, load.Options{})
}

// quoting escapes any text for use between quotation marks in a plan.
var quoting = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "${", "$${", "%{", "%%{")

func compiled(t testing.TB, text string) *plans.Rule {
	t.Helper()
	res := loaded(text)
	if !res.OK() {
		var b strings.Builder
		_ = res.WriteDiagnostics(&b, 0, false)
		t.Fatalf("%s\n%s", text, b.String())
	}
	return res.Plan.Phases[0].Gate.Rules[0]
}

func compileAll(t testing.TB, texts ...string) (rules []*plans.Rule) {
	t.Helper()
	for _, text := range texts {
		rules = append(rules, compiled(t, text))
	}
	return rules
}

// medians is an arm with one launch for each value of tg; ttft is its inverse, output_tokens always 16.
func medians(name string, values ...float64) Arm {
	a := Arm{Name: name}
	for i, v := range values {
		a.Launches = append(a.Launches, Launch{
			ID:      fmt.Sprintf("%s.%d", name, i+1),
			Round:   i + 1,
			Samples: fmt.Sprintf("sha-%s-%d", name, i+1),
			Metrics: map[string]measure.Summary{
				"chat.tg":            summary(v, "tok/s"),
				"chat.ttft":          summary(1000/v, "ms"),
				"chat.output_tokens": summary(16, "tokens"),
				"engine.memory_gb":   launchSummary(2, "GB"),
				"engine.crashes":     launchSummary(0, "count"),
				"engine.startup_s":   launchSummary(1.5+float64(i), "s"),
			},
		})
	}
	return a
}

func summary(v float64, unit string) measure.Summary {
	return measure.Summary{Unit: unit, N: 10, Requests: 10, Stats: map[string]float64{
		"median": v, "p50": v, "mean": v, "min": v / 2, "max": v * 2, "std": v / 10, "cv": 0.1,
	}}
}

func launchSummary(v float64, unit string) measure.Summary {
	return measure.Summary{
		Unit: unit, N: 1,
		Stats: map[string]float64{"median": v, "mean": v, "min": v, "max": v, "p50": v},
	}
}

// full is evidence that lacks nothing.
func full() Evidence {
	return Evidence{"f": {
		Candidate: medians("f", 38.4, 38.6, 38.5, 38.5),
		Parent:    medians("baseline", 31.58, 31.82, 31.63, 31.7),
		Root:      medians("root", 20, 20.5, 19.5, 20),
		Levels: map[string]verdict.Verdict{
			"smoke": verdict.Pass, "kernels": verdict.Pass,
			"benchmark": verdict.Pass,
		},
		Knobs:    map[string]string{"moe": "routed"},
		Outcome:  verdict.Pass,
		Accepted: true,
	}}
}

// with is full evidence, changed.
func with(change func(f *Feature)) Evidence {
	ev := full()
	change(ev["f"])
	return ev
}

type noise = map[string]verdict.Noise

// noiseless is launch noise that is recorded but too small to matter, so the first look is at 3 launches.
func noiseless(addresses ...string) noise {
	out := noise{}
	for _, a := range addresses {
		out[a] = verdict.Noise{SD: 1e-9, DF: 8, Gap: 1e-9}
	}
	return out
}

// knowing is evidence with launch noise on record.
func knowing(n noise, ev Evidence) Evidence {
	for _, f := range ev {
		f.Noise = n
	}
	return ev
}

func set(a *Arm, launch int, metric, stat string, v float64) {
	s := a.Launches[launch].Metrics[metric]
	s.Stats[stat] = v
}

func drop(a *Arm, launch int, metric string) { delete(a.Launches[launch].Metrics, metric) }

// giving is full evidence whose launches have one more metric: that of arm "f" or "baseline", launch i from 0.
func giving(metric string, of func(arm string, i int) measure.Summary) Evidence {
	return with(func(f *Feature) {
		for _, a := range []*Arm{&f.Candidate, &f.Parent} {
			for i, l := range a.Launches {
				l.Metrics[metric] = of(a.Name, i)
			}
		}
	})
}

// always gives every launch the same value.
func always(v float64, unit string) func(string, int) measure.Summary {
	return func(string, int) measure.Summary { return launchSummary(v, unit) }
}

// usual are the defaults of a plan, without recorded launch noise: the first look is at 4 launches per arm.
var usual = Settings{FalsePass: 0.01, FalseFail: 0.05, Min: 2, Max: 8}

// died is the reason that something below a feature broke.
func died(text string) verdict.Reason {
	return verdict.Say("broken", "{error}", verdict.Err(errors.New(text)))
}

// decided is one rule by itself.
func decided(rule *plans.Rule, ev Evidence) verdict.Rule {
	return Decide([]*plans.Rule{rule}, ev, usual)[0]
}
