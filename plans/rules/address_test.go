package rules_test

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/internal/testing/planstest"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/plans/rules"
)

// ruleSet compiles against planstest.RulePlan. The places are "criterion" (of first) and the gates of the phases.
type ruleSet struct {
	ns     *rules.Namespace
	places map[string]*rules.Scope
}

func newRules(t testing.TB) ruleSet {
	t.Helper()
	res := load.Bytes("rules.hcl", []byte(planstest.RulePlan), planstest.Registry(), load.Options{})
	if !res.OK() {
		t.Fatal(planstest.Text(&res.Findings))
	}
	r := ruleSet{ns: rules.New(res.Plan), places: map[string]*rules.Scope{}}
	r.places["criterion"] = &rules.Scope{Own: res.Plan.Feature("first"), Criterion: true}
	for _, ph := range res.Plan.Phases {
		r.places[ph.Name] = r.ns.GateScope(ph)
	}
	return r
}

func (r ruleSet) compile(src, place string) (*plans.Cond, []*rules.Error) {
	return r.ns.Compile(src, r.places[place])
}

// sound compiles a rule that has no mistakes.
func (r ruleSet) sound(t *testing.T, src, place string) *plans.Cond {
	t.Helper()
	p, errs := r.compile(src, place)
	if len(errs) > 0 {
		t.Fatalf("%s: %s: %s", src, errs[0].Summary, errs[0].Detail)
	}
	return p
}

// mistakes are the errors, each with the text that it points at.
func mistakes(src string, errs []*rules.Error) string {
	var list []string
	for _, e := range errs {
		at := "nowhere"
		if e.At >= 0 {
			runes := []rune(src)
			at = string(runes[min(e.At, len(runes)):min(e.At+e.Length, len(runes))])
		}
		list = append(list, fmt.Sprintf("%s at %q", e.Summary, at))
	}
	return strings.Join(list, "; ")
}

// inputs describes what a rule reads.
func inputs(p *plans.Cond) string {
	var list []string
	for _, in := range p.Inputs() {
		s := string(in.Kind)
		for _, part := range []string{in.Feature, in.Cell, in.Metric, in.Stat, string(in.Relation)} {
			if part != "" {
				s += " " + part
			}
		}
		if in.Against == plans.Root {
			s += " of the root"
		}
		if in.Name != "" {
			s += " " + in.Name
		}
		list = append(list, fmt.Sprintf("%s [%s %s]", s, in.Type, in.Unit))
	}
	return strings.Join(list, "; ")
}

func TestAddresses(t *testing.T) {
	r := newRules(t)
	for _, c := range []struct{ place, address, want string }{
		{"criterion", "chat.tg", "metric first chat tg median [number tok/s]"},
		{"criterion", "chat.tg.median", "metric first chat tg median [number tok/s]"},
		{"criterion", `chat["tg"].p99`, "metric first chat tg p99 [number tok/s]"},
		{"criterion", "chat.tg.cv", "metric first chat tg cv [number ]"},
		{"criterion", "chat.tg.n", "metric first chat tg n [number launches]"},
		{"criterion", "chat.tg.n_requests", "metric first chat tg n_requests [number requests]"},
		{"criterion", "chat.output_tokens.min", "metric first chat output_tokens min [number tokens]"},
		{"criterion", "chat.tg.gain", "metric first chat tg median gain [number ]"},
		{"criterion", "chat.ttft.root.p99.change", "metric first chat ttft p99 change of the root [number ]"},
		{"criterion", "chat.tg.cv.delta", "metric first chat tg cv delta [number ]"},
		{"criterion", "chat.ttft.delta", "metric first chat ttft median delta [number ms]"},
		{"criterion", "chat.tg.base", "metric first chat tg median base [number tok/s]"},
		{"criterion", "chat.tg.root", "metric first chat tg median base of the root [number tok/s]"},
		{"criterion", "chat.tg.root.gain", "metric first chat tg median gain of the root [number ]"},
		{"criterion", "chat.accept_rate.pos1", "metric first chat accept_rate pos1 [number share]"},
		{
			"criterion", "chat.accept_rate.root.pos3.gain",
			"metric first chat accept_rate pos3 gain of the root [number ]",
		},
		{"criterion", "outs.o32.tg", "metric first outs.o32 tg median [number tok/s]"},
		{"criterion", "outs.tg64.gain", "metric first outs.o64 tg median gain [number ]"},
		{"criterion", "lens.p128.o32.ttft.p50", "metric first lens.p128.o32 ttft p50 [number ms]"},
		{"criterion", "lens.p512.tg16", "metric first lens.p512.o16 tg median [number tok/s]"},
		{"criterion", "lens.p512.o16.pp512", "metric first lens.p512.o16 pp median [number tok/s]"},
		{"criterion", "chat.tg32", "metric first chat tg median [number tok/s]"},
		{"criterion", "engine.startup_s", "metric first startup_s median [number s]"},
		{"criterion", "engine.crashes.max", "metric first crashes max [number count]"},
		{"three", "chat.tg", "metric fourth chat tg median [number tok/s]"},
		{"three", `feature["second"].outs.tg32.gain`, "metric second outs.o32 tg median gain [number ]"},
		{"three", "feature.first.engine.startup_s", "metric first startup_s median [number s]"},
	} {
		must.Equal(t, c.address, inputs(r.sound(t, c.address+" > 1", c.place)), c.want)
	}
}

// TestColumns: without a report block columns are what rules, hypotheses and targets read, each once,
// as the plan spells it and as each row has it.
func TestColumns(t *testing.T) {
	var got []string
	for _, c := range load.Bytes("rules.hcl", []byte(planstest.RulePlan), planstest.Registry(),
		load.Options{}).Plan.Reads {
		if c.Input.Relation != plans.Own || c.Input.Against != plans.Parent {
			t.Errorf("%s is compared with something", c.Path)
		}
		got = append(got, fmt.Sprintf("%s=%s.%s", c.Path, c.Input.LaunchAddress(), c.Input.Stat))
	}
	must.Equal(t, "columns are", "chat.tg=chat.tg.median chat.pp=chat.pp.median", strings.Join(got, " "))
}

func TestAddressesThatAreNoNumbers(t *testing.T) {
	r := newRules(t)
	for _, c := range []struct{ place, rule, want string }{
		{"criterion", "levels.kernels == 'pass'", "level first kernels [word ]"},
		{"three", "levels.smoke in ['pass', 'inconclusive']", "level fourth smoke [word ]"},
		{"three", `feature["third"].verdict != 'fail'`, "feature third verdict [word ]"},
		{"three", `feature["third"].accepted`, "feature third accepted [bool ]"},
		{"three", `feature["third"].decided == true`, "feature third decided [bool ]"},
		{
			"criterion", "knob.moe == 'routed' and chat.tg > 1",
			"knob first moe [word ]; metric first chat tg median [number tok/s]",
		},
		{
			"criterion", "chat.tg >= target.llamacpp.chat.tg",
			"metric first chat tg median [number tok/s]; target llamacpp [number tok/s]",
		},
		{
			"criterion", "chat.tg.gain > 0.1 and chat.tg.gain < 0.5 or chat.tg > 5",
			"metric first chat tg median gain [number ]; metric first chat tg median [number tok/s]",
		},
	} {
		must.Equal(t, c.rule, inputs(r.sound(t, c.rule, c.place)), c.want)
	}
}

func TestAddressesThatDoNotExist(t *testing.T) {
	r := newRules(t)
	for _, c := range []struct{ place, address, want, hint string }{
		{"criterion", "chatt.tg", "Unknown name in a rule", `Did you mean "chat"?`},
		{"criterion", "var.least", "Unknown name in a rule", `"${var.least}" in place of var.least`},
		{"criterion", "each.value.least", "Unknown name in a rule", `"${each.value.least}"`},
		{"criterion", "chat", "Incomplete address", "chat.<metric>"},
		{"criterion", "chat.tgg", "Unknown metric", `Did you mean "tg"?`},
		{"criterion", "chat.tg33", "Unknown metric", ""},
		{"criterion", "chat.tg.mediam", "Unknown statistic", `Did you mean "median"?`},
		{
			"criterion", "chat.tg.last_good.gain", "Unknown statistic",
			"\"last_good\" is neither a statistic nor a comparison",
		},
		{"criterion", "chat.tg.base.gain", "Unknown address", "without base"},
		{"criterion", "chat.tg.gain.p90", "Unknown address", "remove \"p90\""},
		{"criterion", "chat.tg.n.change", "Unknown address", "remove .change"},
		{"criterion", "chat.tg.cv.gain", "No better direction", "chat.tg.cv has no better direction"},
		{"criterion", "tg.gain", "Unknown name in a rule", "base or root follows the metric"},
		{"criterion", "baseline.chat.tg", "Unknown name in a rule", "as in chat.tg.base"},
		{"criterion", "chat.output_tokens.gain", "No better direction", ".change"},
		{"criterion", "outs.tg", "Which cell?", "outs.o32, outs.o64"},
		{"criterion", "lens.tg16", "Which cell?", "lens.p128.o16, lens.p512.o16"},
		{"criterion", "lens.o16.p128.tg", "Unknown cell", "lens.p128.o16"},
		{"criterion", "outs.o33.tg", "Unknown cell", "outs.o32, outs.o64"},
		{"criterion", "unsent.tg", "Workload is not measured", "workload.unsent"},
		{"criterion", "engine.startup_s.p99", "One value per launch", "engine.startup_s"},
		{"criterion", "chat.accept_rate.pos0", "Unknown statistic", `Did you mean "pos1"?`},
		{"criterion", "chat.tg.pos1", "Unknown statistic", ""},
		{"criterion", "quality.kl.delta", "Unknown address", "levels.correctness.kl"},
		{"criterion", "levels", "Incomplete address", "smoke, kernels"},
		{"criterion", "levels.kernel", "Level not in the protocol", `Did you mean "kernels"?`},
		{"criterion", "levels.kernels.verdict", "Unknown metric", "It has none."},
		{"criterion", "knob.mow", "Unknown knob", "moe"},
		{"criterion", "target.llamacpp.chat", "Incomplete address", ""},
		{"criterion", "target.llama.chat.tg", "Unknown target", ""},
		{"criterion", "target.llamacpp.chat.ttft", "Unknown number", ""},
		{"criterion", `feature["second"].verdict`, "Criterion reads another feature", "gate"},
		{"criterion", "verdict", "Whose value?", `feature["first"].verdict`},
		{"two", "chat.tg", "Whose value?", "2 features (second, third)"},
		{"empty", "chat.tg", "Whose value?", `phase "empty" has no feature of its own: write feature["first"].chat.tg`},
		{"empty", "step.build.verdict", "Unknown step", "already fails its phase"},
		{"one", "step.build", "Unknown step", "It has none."},
		{"criterion", `compare.both["openai.a"].chat.tg.gain`, "Criterion reads a step", "gate of a phase"},
		{"two", `compare.both["openai.a"].chat.tg.gain`, "Unknown step", `no step of kind compare called "both"`},
		{"two", `feature["third"].outs.tg32`, "Workload is not measured", "quick"},
		{"two", `feature["third"].levels.kernels`, "Level not in the protocol", ""},
		{"two", `feature["fourth"].chat.tg`, "Feature not decided before this gate", "phase.three"},
		{"three", `feature["secnd"].chat.tg`, "Unknown feature", `Did you mean "second"?`},
		{"three", `feature["second"]`, "Incomplete address", ""},
		{"three", `feature["second"].accepted.yes`, "Unknown address", ""},
	} {
		_, errs := r.compile(c.address+" > 1", c.place)
		if len(errs) != 1 || errs[0].Summary != c.want || !strings.Contains(errs[0].Detail, c.hint) {
			t.Errorf("%s: want %s (%s), got %v", c.address, c.want, c.hint, errs)
			continue
		}
		if got := mistakes(c.address+" > 1", errs); !strings.Contains(got,
			fmt.Sprintf("%q", strings.TrimSuffix(c.address, "]"))) {
			t.Errorf("%s: points elsewhere: %s", c.address, got)
		}
	}
}

// TestGateOfStepsOnly: if no feature is decided before a gate, no suggestion names one.
func TestGateOfStepsOnly(t *testing.T) {
	ns := rules.New(&plans.Plan{})
	ph := &plans.Phase{Name: "build"}
	_, err := ns.Resolve([]string{"chat", "tg"}, ns.GateScope(ph))
	if err == nil || err.Summary != "Whose value?" || strings.Contains(err.Detail, "feature[") ||
		!strings.Contains(err.Detail, "needs no gate") {
		t.Errorf("%+v", err)
	}
}

func TestGatesReadWhatIsDecidedBefore(t *testing.T) {
	r := newRules(t)
	for place, visible := range map[string]string{
		"one": "first", "two": "first second third",
		"three": "first second third fourth", "empty": "first second third fourth",
	} {
		for _, f := range strings.Fields("first second third fourth") {
			_, errs := r.compile(fmt.Sprintf("feature[%q].decided", f), place)
			must.Equal(t, fmt.Sprint(place, " ", f), len(errs) == 0, strings.Contains(visible, f))
		}
	}
}

// withRule is the fixture of workloads with a different rule in one criterion.
func withRule(t *testing.T, rule, suite string) *load.Result {
	t.Helper()
	src := must.Get(os.ReadFile("../load/testdata/valid/workloads.hcl"))(t)
	text := strings.Replace(string(src), "gpu.power_w.change <= 0.05 and host.cpu_share < 0.9", rule, 1)
	return load.Bytes("../load/testdata/valid/plan.hcl", []byte(text), planstest.Registry(), load.Options{Suite: suite})
}

func TestAddressesOfCells(t *testing.T) {
	for rule, want := range map[string]string{
		"grid.p512.o32.d4096.c16.tg > 1": "grid.p512.o32.d4096.c16 tg median tok/s",
		"grid.p512.d0.c1.tg32 > 1":       "error Unknown cell: has no cell d0 here",
		"grid.p512.o32.d0.c1.tg32 > 1":   "grid.p512.o32.d0.c1 tg median tok/s",
		"grid.o32.d0.c1.tg > 1": "error Unknown cell: An address has all elements, in the order " +
			"prompt, output, depth, concurrency, rate",
		"grid.p512.o32.d4096.c8.tg > 1":        "error Unknown cell: grid.p512.o32.d4096.c1, grid.p512.o32.d4096.c4",
		"grid.p512.tg > 1":                     "error Which cell?: grid.p512.o32.d0.c1",
		"serving.r1.ttft > 1":                  "serving.r1 ttft median ms",
		"serving.r2_5.goodput.gain > 0.1":      "serving.r2_5 goodput median ",
		"serving.r2.5.goodput.gain > 0.1":      `error Invalid rule: "serving.r2.5.goodput.gain" cannot be read as a number`,
		"gpu.power_w < 400 W":                  "error Invalid rule: 400W has a unit: write the number alone",
		"serving.r1.ttft < 5ms":                "error Invalid rule: 5ms has a unit: write the number alone",
		"serving.r1.tg.gain > 20 %":            "error Invalid rule: Write 20%. ",
		"gpu.power_w < 99999999999999999999":   `error Invalid rule: "99999999999999999999" cannot be read as a number`,
		"levels.kernels == 'pass":              "error Invalid rule: A quote is not closed",
		"gpu.power_w < @":                      `error Invalid rule: Unexpected "@"`,
		"serving.r5.ttft > 1":                  "error Unknown cell: serving.r1, serving.r2_5",
		"grid.p512.o32.d0.c1.goodput > 1":      `error Workload has no SLO: workload "grid" declares none`,
		"grid.p512.o32.d0.c1.prefix_found > 1": `error Workload has no trace: workload "grid" has none`,
		"grid.p512.o32.d0.c1.tg_total.p99 > 1": "error One value per launch: Write grid.p512.o32.d0.c1.tg_total.",
		"serving.r1.tg_total.n >= 3":           "serving.r1 tg_total n launches",
		"gpu.power_w < 400":                    "gpu power_w median W",
		"gpu.power_w.base.max < 400":           "gpu power_w max W",
		"gpu.power_w.p99 < 400":                "error One value per launch: Write gpu.power_w.",
		"gpu.pwer_w < 400":                     `error Unknown metric: gpu has no metric "pwer_w". Did you mean "power_w"?`,
		"gpu > 1":                              "error Incomplete address: Write gpu.<metric>",
		"host.cpu_share < 0.5":                 "host cpu_share median share",
		"engine.memory_gb < 5":                 " memory_gb median GB",
		"gpu.power_w < host.cpu_share":         "error Units do not match: ",
	} {
		res := withRule(t, rule, "")
		detail := ""
		for _, d := range mistakesOnly(res) {
			detail += d.Summary + ": " + d.Detail
		}
		if detail == "" {
			in := res.Plan.Phases[0].Features[0].Criteria[2].Inputs()[0]
			must.Equal(t, rule, fmt.Sprint(in.Cell, " ", in.Metric, " ", in.Stat, " ", in.Unit), want)
			continue
		}
		summary, words, _ := strings.Cut(strings.TrimPrefix(want, "error "), ": ")
		if !strings.HasPrefix(want, "error ") || !strings.HasPrefix(detail, summary+": ") ||
			!strings.Contains(detail, words) {
			t.Errorf("%s: got %q, want %q", rule, detail, want)
		}
	}
}

// TestSensibleNumbersOfNewScopes: mistakes in a rule that are found before anything is measured.
func TestSensibleNumbersOfNewScopes(t *testing.T) {
	for rule, want := range map[string]string{
		"host.cpu_share <= 80":                                    "Comparison always holds",
		"serving.r1.error_rate < 0":                               "Comparison can never hold",
		"serving.r1.goodput > 0":                                  "",
		"gpu.power_w > 0":                                         "Comparison always holds",
		"grid.p512.o32.d0.c1.ttft.p99 <= 500":                     "Too few requests",
		"grid.p512.o32.d0.c1.itl.p99 <= 50":                       "",
		"serving.r1.ttft.p99 <= 500":                              "", // with a duration, at most enough
		"random.ttft.p99 <= 500":                                  "Too few requests",
		"gpu.throttled_share >= 0":                                "Comparison always holds",
		"serving.r1.ttft.p99 <= 500 and levels.kernels == 'pass'": "",
	} {
		res := withRule(t, rule, "full")
		var got []string
		for _, d := range res.Diagnostics {
			before, _, _ := strings.Cut(string(res.Source), rule)
			if d.Subject.Start.Line == 1+strings.Count(before, "\n") {
				got = append(got, d.Summary)
			}
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%s: got %q, want %q\n%s", rule, got, want, planstest.Text(&res.Findings))
		}
	}
}

func TestRulesThatAreRefused(t *testing.T) {
	r := newRules(t)
	for _, c := range []struct{ rule, want string }{
		// Nothing is read, or it does not matter.
		{"1 < 2", `Comparison reads nothing at "1 < 2"`},
		{"true", `Constant in a rule at "true"`},
		{"chat.tg.gain > 0 or true", `Constant in a rule at "true"`},
		{
			"chat.tg.gain > 0 or target.llamacpp.chat.tg > 1",
			`Comparison reads nothing at "target.llamacpp.chat.tg > 1"`,
		},
		{"knob.moe == 'routed'", `Rule reads nothing at "knob.moe == 'routed'"`},
		{"chat.tg >= chat.tg.median", `Compared with itself at "chat.tg >= chat.tg.median"`},
		// Not a yes or no.
		{"chat.tg > 1 and chat.ttft", `Not a yes or no at "chat.ttft"`},
		{"'yes'", `Not a yes or no at "'yes'"`},
		// Types and units.
		{"chat.tg == 'fast'", `Cannot compare at "chat.tg == 'fast'"`},
		{"levels.kernels == 1", `Cannot compare at "levels.kernels == 1"`},
		{"levels.kernels >= 'pass'", `Words have no order at "levels.kernels >= 'pass'"`},
		{"levels.kernels * 2 > 0", `Wrong type in a rule at "levels.kernels * 2"`},
		{"chat.tg > chat.ttft", `Units do not match at "chat.tg > chat.ttft"`},
		{"chat.tg.gain >= target.llamacpp.chat.tg", `Units do not match at "chat.tg.gain >= target.llamacpp.chat.tg"`},
		{"chat.tg != 5", `Always different at "chat.tg != 5"`},
		{"levels.smoke == levels.kernels", `Compare with a word at "levels.smoke == levels.kernels"`},
		// Words.
		{"levels.kernels == 'passed'", `Unknown word at "'passed'"`},
		{"levels.kernels != 'invalid'", `Unknown word at "'invalid'"`},
		{"'Pass' == levels.kernels", `Unknown word at "'Pass'"`},
		{"levels.kernels in ['pass', 'ok', 'good']", `Unknown word at "'ok'"; Unknown word at "'good'"`},
		{"knob.moe == 'router' and chat.tg > 1", `Unknown word at "'router'"`},
		// Lists.
		{"levels.kernels in []", `Not a list at "["`},
		{"levels.kernels in 'pass'", `Not a list at "'pass'"`},
		{"levels.kernels in ['pass', 1]", `Not a constant at "1"`},
		{"levels.kernels in [levels.smoke]", `Not a constant at "levels.smoke"`},
		{"levels.kernels in [['pass']]", `Not allowed in a rule at "["`},
		{"[1] == [1]", `Not allowed in a rule at "["; Not allowed in a rule at "["`},
		// What expr-lang has but rules do not.
		{"let x = 1; x < chat.tg", `Not allowed in a rule at "x"`},
		{"chat[let k = 'tg'; k].median > 1", `Not an address at "chat[let k"`},
		{"chat[levels.smoke] > 1", `Not an address at "chat[levels.smoke"`},
		{"chat['t' + 'g'] > 1", `Not an address at "chat['t' + 'g'"`},
		{"chat.tg[0] > 1", `Not an address at "chat.tg[0"`},
		{"$env.chat.tg > 1", `Unknown name in a rule at "$env.chat.tg"`},
		{"chat?.tg > 1", `Not allowed in a rule at "tg"`},
		{"(chat.tg ?? 5) > 1", `Not allowed in a rule at "chat.tg ?? 5"`},
		{"chat.tg > 1 ? true : false", `Not allowed in a rule at "chat.tg > 1 ? true : false"`},
		{"chat.tg > nil", `Not allowed in a rule at "nil"`},
		{"all([], # > 5)", `Not allowed in a rule at "all"`},
		{"chat.tg() > 1", `Not allowed in a rule at "chat.tg"`},
		{"'x'.tg > 1", `Not an address at "'x'"`},
		{"(chat.tg).gain > 1", ``},
		{"levels.kernels matches '.*'", `Not allowed in a rule at "levels.kernels matches '.*'"`},
		{"chat.tg % 2 == 0", `Not allowed in a rule at "chat.tg % 2"`},
		{"chat.tg > 1; true", `Not allowed in a rule at ">"`},
		{"chat.tg[1:2] > 1", `Not allowed in a rule at "["`},
		{"b'pass' == levels.kernels", `Not allowed in a rule at "b'pass'"`},
		// Comparisons where values belong.
		{"not chat.tg.gain >= 0.1", `Not allowed in a rule at "not chat.tg.gain"`},
		{"(chat.tg > 1) == true", `Not allowed in a rule at "chat.tg > 1"`},
		// Arithmetic other than a number times a value.
		{"chat.tg > 1 + 2", `Arithmetic in a rule at "1 + 2"`},
		{
			"chat.tg / chat.tg.base > 1 and chat.tg.delta > -(2 * 3)",
			`Arithmetic in a rule at "chat.tg / chat.tg.base"; Arithmetic in a rule at "2 * 3"`,
		},
		{"abs(chat.tg.gain) > 0.1", `Not allowed in a rule at "abs"`},
		// Every mistake is found at once.
		{
			"chat.tgg > 1 and levels.kernel == 'pass' or quality.x < 1",
			`Unknown metric at "chat.tgg"; Level not in the protocol at "levels.kernel"; Unknown address at "quality.x"`,
		},
	} {
		_, errs := r.compile(c.rule, "criterion")
		must.Equal(t, c.rule, mistakes(c.rule, errs), c.want)
		for _, e := range errs {
			if e.Detail == "" || !strings.HasSuffix(strings.TrimSpace(e.Detail), ".") &&
				!strings.HasSuffix(e.Detail, "?") {
				t.Errorf("%s: %s says %q", c.rule, e.Summary, e.Detail)
			}
		}
	}
}

func TestSyntaxMistakesSayWhatWasMeant(t *testing.T) {
	r := newRules(t)
	for _, c := range []struct{ rule, want, hint string }{
		{"chat.tg ≥ 5", `Invalid rule at "≥"`, "decimal point"},
		{"chat.ttft <= 500ms", `Invalid rule at "m"`, "no unit but %"},
		{"chat.tg.gain >= 0,05", `Invalid rule at ","`, "decimal point"},
		{"chat.tg = 5", `Invalid rule at "="`, ""},
		{"chat.tg >=", `Invalid rule at "="`, ""},
		{"chat.tg > 5)", `Invalid rule at ")"`, ""},
		{"(chat.tg > 5", `Invalid rule at "5"`, ""},
		{"chat.tg > 'x", `Invalid rule at "x"`, ""},
		{"chat.tg > ${var.x}", `Invalid rule at "{"`, ""},
		{"", "Empty rule at \"nowhere\"", ""},
		{" \t\n", "Empty rule at \"nowhere\"", ""},
		{strings.Repeat("x", 5000), "Rule too long at \"nowhere\"", "4096"},
		{strings.Repeat("(", 101) + "chat.tg > 1" + strings.Repeat(")", 101), `Rule nested too deeply at "("`, "100"},
	} {
		_, errs := r.compile(c.rule, "criterion")
		if len(errs) != 1 || mistakes(c.rule, errs) != c.want || !strings.Contains(errs[0].Detail, c.hint) {
			t.Errorf("%.40s: want %s (%s), got %s %v", c.rule, c.want, c.hint, mistakes(c.rule, errs), errs)
		}
	}
}

// The parser gives two comparisons of a chain the same node, so a tree of a few
// hundred bytes has more paths than there are atoms.
func TestHostileRulesEndSoon(t *testing.T) {
	r := newRules(t)
	nest := func(n int, open, inner, shut string) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(shut, n)
	}
	for _, rule := range []string{
		nest(90, "0 < (", "chat.tg", ") < 1"),
		nest(60, "0 < 1 + (", "chat.tg", ") < 1"),
		nest(90, "0 < -(", "chat.tg", ") < 1"),
		nest(60, "not (0 < (", "chat.tg", ") < 1)"),
		nest(95, "(", "chat.tg > 1", ") == true"),
		nest(40, "(0 < ", "chat.tg", " < 1).x()"),
		nest(1300, "not ", "chat.tg > 1", ""),
		nest(4000, "-", "chat.tg", ""),
		nest(1500, "1?", "chat.tg", ""),
		nest(99, "[", "chat.tg", "]"),
		nest(2000, "a.", "b", ""),
		nest(700, "let a=", "1", ";"),
		nest(450, "if a{", "1", "}"),
		nest(99, "max(1,", "chat.tg", ") > 1"),
		"chat.tg > 1" + strings.Repeat(" + 1", 1000),
	} {
		start := time.Now()
		_, errs := r.compile(rule, "criterion")
		if took := time.Since(start); took > planstest.Hang {
			t.Errorf("%.40s… took %v", rule, took)
		}
		if len(errs) == 0 {
			t.Errorf("%.40s… compiles", rule)
		}
	}
}

func loadRule(attribute string) *load.Result {
	return load.Bytes("plan.hcl", planstest.RulePlanWith(attribute), planstest.Registry(), load.Options{})
}

// mistakesOnly drops the warnings: planstest.RulePlan declares things that are not used.
func mistakesOnly(res *load.Result) (list lang.Diagnostics) {
	for _, d := range res.Diagnostics {
		if d.Severity == hcl.DiagError {
			list = append(list, d)
		}
	}
	return list
}

// ruleLine is the line of planstest.RulePlan on which the attribute of loadRule begins.
var ruleLine = strings.Count(planstest.RulePlan[:strings.Index(planstest.RulePlan, "criterion")], "\n") + 2

func TestMistakesAreShownWhereTheyStand(t *testing.T) {
	if ruleLine != 58 {
		t.Fatalf("the fixture has moved to line %d", ruleLine)
	}
	for _, c := range []struct{ attribute, want string }{
		{`  rule = "chat.tgg >= 0.1"`, "58:11-19 Unknown metric"},
		{`  rule = "chat.tg.gain >= 0.1 and levels.kernel == 'pass'"`, "58:35-48 Level not in the protocol"},
		{`  rule = "'äöü€' == levels.kernels"`, "58:11-17 Unknown word"},
		{`  rule = "chat.tg.gain ≥ 0.1"`, "58:24-25 Invalid rule"},
		{`  rule = "chat.tg.gain >= 0.1 and"`, "58:33-34 Invalid rule"},
		// Escapes, ${ } and indentation may be in between.
		{`  rule = "levels.kernels == \"psas\""`, "58:29-37 Unknown word"},
		{`  rule = "levels.kernels == '\u0070sas' and chat.tgg > 1"`, "58:29-40 Unknown word; 58:45-53 Unknown metric"},
		{`  rule = "chat.tgg >= ${0.1}"`, "58:11-19 Unknown metric"},
		{`  rule = "0.1 <= ${"chat"}.tgg"`, "58:18-31 Unknown metric"},
		{`  rule = "${1 / 10} <= chat.tgg and ${2} < chat.tgf"`, "58:24-32 Unknown metric; 58:44-52 Unknown metric"},
		{"  rule = <<-EOT\n    chat.tg > 1\n      and chat.tgg > 1\n  EOT", "60:11-19 Unknown metric"},
		{"  rule = <<EOT\nchat.tg > 1\n  and chat.tgg > 1\nEOT", "60:7-15 Unknown metric"},
		{"  rule = <<EOT\nchat.tg > 1 and\n  levels.kernels == ${\"'psas'\"}\nEOT", "60:21-32 Unknown word"},
		{"  rule = <<-EOT\n    chat.tg > 1 and\n    chat.pp > 1\n  EOT", ""},
		{"  rule = <<-EOT\n    chat.tgg > 1\n  EOT", "59:5-13 Unknown metric"},
		// ${ and %{ are the plan's, and # is a comment of neither.
		{`  rule = "chat.tg.gain >= $${0.1}"`, "58:29-30 Invalid rule"},
		{`  rule = "chat.tg.gain >= ${1 / 10}"`, ""},
		{`  rule = "chat.tg.gain >= 0.1 # or so"`, "58:31-32 Invalid rule"},
	} {
		res := loadRule(c.attribute)
		var got []string
		for _, d := range mistakesOnly(res) {
			got = append(got, fmt.Sprintf("%d:%d-%d %s", d.Subject.Start.Line, d.Subject.Start.Column,
				d.Subject.End.Column, d.Summary))
		}
		if s := strings.Join(got, "; "); s != c.want {
			t.Errorf("%s\ngot  %s\nwant %s\n%s", c.attribute, s, c.want, planstest.Text(&res.Findings))
		}
	}
}

// sides shows a leaf by its texts, its unit, and whether it is under a not.
func sides(p *plans.Cond) string {
	var list []string
	for _, l := range p.Compares() {
		s := l.Text + " {" + l.Left.Unit + "|" + l.Right.Unit + "}"
		if l.Negated {
			s = "not " + s
		}
		list = append(list, s)
	}
	return strings.Join(list, "; ")
}

func TestLeaves(t *testing.T) {
	r := newRules(t)
	for _, c := range []struct{ rule, want string }{
		{"chat.tg.gain>=0.10", "chat.tg.gain >= 0.10 {ratio|}"},
		{"  levels.kernels   ==  'pass' ", "levels.kernels == 'pass' {|}"},
		{`levels.kernels in ["pass",'inconclusive']`, `levels.kernels in ["pass", 'inconclusive'] {|}`},
		{"levels.kernels not in ['fail']", "not levels.kernels in ['fail'] {|}"},
		{"not (chat.tg < 1 or not (chat.tg > 0x10))", "not chat.tg < 1 {tok/s|}; chat.tg > 0x10 {tok/s|}"},
		{"0.1 < chat.tg.gain <= 5_0", "0.1 < chat.tg.gain {|ratio}; chat.tg.gain <= 5_0 {ratio|}"},
		{"0 < 2*(chat.tg) < 9", "0 < 2 * chat.tg {|tok/s}; 2 * chat.tg < 9 {tok/s|}"},
		{"chat.tg.gain*-2 < +1 /* a comment */", "chat.tg.gain * -2 < +1 {ratio|}"},
		{"chat.tg >= 1.05 * target.llamacpp.chat.tg", "chat.tg >= 1.05 * target.llamacpp.chat.tg {tok/s|tok/s}"},
		{"chat.tg.cv <= 0.05 && engine.crashes == 0", "chat.tg.cv <= 0.05 {ratio|}; engine.crashes == 0 {count|}"},
	} {
		must.Equal(t, c.rule, sides(r.sound(t, c.rule, "criterion")), c.want)
	}
}

func TestProductsAreFinite(t *testing.T) {
	p := newRules(t).sound(t, "1e300 * chat.pp < 1", "criterion")
	for _, x := range []float64{1e10, math.NaN(), math.Inf(1)} {
		if _, err := p.Compares()[0].Left.Value(func(*plans.Input) any { return x }); err == nil ||
			!strings.Contains(err.Error(), "not a finite number") {
			t.Errorf("of %v: %v", x, err)
		}
	}
}

// FuzzCompile checks that no text makes the compiler panic, hang or compile something
// that does not declare what it reads.
func FuzzCompile(f *testing.F) {
	for _, rule := range []string{
		"chat.tg.gain >= 0.10 and levels.kernels == 'pass'",
		`feature["second"].accepted or not (feature.third.verdict in ["pass", 'fail'])`,
		"0 < 2 * chat.tg < 1e3 or lens.p128.tg32.root.change != 1",
		"1 / (chat.tg | abs()) <= 0x1F * -target.llamacpp.chat.tg",
		"let a = $env; all([chat.tg], # > a?.b ?? nil) ? {a: 1} : [2][0]",
		"0.97 * chat.tg.base <= chat.tg and not (-3 * chat.ttft < 5) or chat.tg.delta > 1e308 * " +
			"target.llamacpp.chat.tg",
		"abs(chat.tg.change) <= 0.02 or chat.tg == 5 or min(chat.pp, chat.tg / 0) in [1, 2] or gpu.memory_gb.gain >= 1",
		"if chat.tg > 1 { true } else { false }; ::max(1..2)",
	} {
		f.Add(rule)
	}
	r := newRules(f)
	f.Fuzz(func(t *testing.T, rule string) {
		for place := range r.places {
			start := time.Now()
			p, errs := r.compile(rule, place)
			if took := time.Since(start); took > planstest.Hang {
				t.Fatalf("took %v", took)
			}
			if (p == nil) != (len(errs) > 0) {
				t.Fatalf("program %v, errors %v", p, errs)
			}
			for _, e := range errs {
				if e.Summary == "" || e.Detail == "" {
					t.Errorf("an error without words: %+v", e)
				}
			}
			if p != nil {
				checkProgram(t, p, r, place)
			}
		}
	})
}

// checkProgram compares what a program reads with what it declares.
func checkProgram(t *testing.T, p *plans.Cond, r ruleSet, place string) {
	if !slices.ContainsFunc(p.Inputs(), (*plans.Input).Measured) {
		t.Error("nothing that it reads is measured")
	}
	checkLogic(t, p, "")
	for _, l := range p.Compares() {
		if l.Metric != nil &&
			(math.IsNaN(l.Threshold) || math.IsInf(l.Threshold, 0) || l.Form == verdict.LogLevel && l.Threshold <= 0) {
			t.Errorf("%s is decided as %s", l.Text, planstest.CompareText(l))
		}
		// A leaf stands for itself: what reasons show can be written as a rule.
		again, errs := r.compile(l.Text, place)
		if len(errs) == 1 && errs[0].Summary == "Rule reads nothing" {
			continue // a knob, beside something measured
		}
		if len(errs) > 0 || len(again.Compares()) != 1 || again.Compares()[0].Text != l.Text {
			t.Errorf("%s cannot be read again: %v", l.Text, errs)
		}
	}
}
