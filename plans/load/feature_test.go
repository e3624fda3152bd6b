package load

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/internal/testing/planstest"
	"github.com/mxflow/mxflow/plans"
)

// TestChosenFeatures: what a plan says in a few words is written out for those who measure and decide.
func TestChosenFeatures(t *testing.T) {
	p := mustLoad(t, "testdata/valid/choose.hcl")
	f := p.Feature("speculation")
	var got []string
	for _, c := range append(append([]*plans.Feature(nil), f.Alternatives...), f.Confirm...) {
		got = append(got, fmt.Sprint(c.Name, " ", c.Set, " ", c.Engine, " ", c.Accept))
		if c.Of != "speculation" || c.Phase != f.Phase || c.Protocol != f.Protocol || c.BuildsOn != f.BuildsOn ||
			len(c.Alternatives)+len(c.Confirm) > 0 || c.Choose != nil {
			t.Errorf("%s: %+v", c.Name, c)
		}
		for _, r := range c.Criteria {
			if r.Cond == nil || r.Inputs()[0].Feature != "speculation" {
				t.Errorf("%s: criterion %s is not the feature's own", c.Name, r.Name)
			}
		}
	}
	want := `speculation[short] map[cache:on spec:short]  [decode]
speculation[long] map[cache:on spec:long]  [decode]
speculation@embedded.large map[cache:on] embedded.large [decode]
speculation@vllm.large map[cache:on] vllm.large [memory]
speculation@other map[cache:on] vllm.other [decode]`
	must.Equal(t, "features", strings.Join(got, "\n"), want)
	if n := len(f.Confirm[1].Criteria); n != 1 {
		t.Errorf("%d criteria are repeated, not the one named", n)
	}
	if c := f.Choose; c.Prefer != "chat.ttft" || c.Probe.Expr != "chat.ttft.gain > 0" {
		t.Errorf("prefer: %+v", c)
	}
	if c := p.Feature("preferred_by_default").Choose; c.Prefer != "chat.tg" || c.Probe == nil {
		t.Errorf("prefer without being said: %+v", c)
	}
	if f := p.Feature("speculation[short]"); f != nil {
		t.Error("an alternative is no feature that rules could name")
	}
}

// TestDigestOfChoices: the order of the values tried does not count, the values do.
func TestDigestOfChoices(t *testing.T) {
	text := must.Get(os.ReadFile("testdata/valid/choose.hcl"))(t)
	digest := func(changes ...string) string {
		t.Helper()
		changed := strings.NewReplacer(changes...).Replace(string(text))
		if len(changes) > 0 && changed == string(text) {
			t.Fatalf("%q changes nothing", changes)
		}
		return mustLoad(t, filepath.Join(writeFiles(t, map[string]string{"plan.hcl": changed}), "plan.hcl")).Digest()
	}
	plain := digest()
	for name, c := range map[string]struct {
		changes []string
		same    bool
	}{
		"order of values": {[]string{`["short", "long"]`, `["long", "short"]`}, true},
		"prefer written out": {[]string{
			"    accept = [\"decode\"]\n\n    criterion \"level\"",
			"    accept = [\"decode\"]\n    prefer = \"chat.tg\"\n\n    criterion \"level\"",
		}, true},
		"another value": {[]string{
			`{ spec = ["short", "long"] }`, `{ spec = ["short", "long", "longer"] }`,
			`value "long" {`, "value \"longer\" {}\n  value \"long\" {",
		}, false},
		"another prefer": {[]string{`prefer = "chat.ttft"`, `prefer = "chat.tg"`}, false},
		"another confirmation": {
			[]string{"engine = engine.vllm.other", "engine = engine.vllm.other\n      criteria = [\"memory\"]"}, false,
		},
		"one confirmation less": {[]string{"    confirm {\n      engine = engine.vllm.other\n    }\n", ""}, false},
		"confirmed as by default": {
			[]string{"engine = engine.vllm.other", "engine = engine.vllm.other\n      criteria = [\"decode\"]"}, true,
		},
	} {
		if got := digest(c.changes...); (got == plain) != c.same {
			t.Errorf("%s: same digest is %v", name, got == plain)
		}
	}
}

// TestConfirmationOfCommands: two commands can confirm each other if they print the same
// metrics, and a server cannot confirm a command.
func TestConfirmationOfCommands(t *testing.T) {
	metric := func(name, unit, better string) *plans.Block {
		return &plans.Block{Kind: "metric", Name: name, Attrs: map[string]any{"unit": unit, "better": better}}
	}
	command := func(name string, metrics ...*plans.Block) *plans.Engine {
		return &plans.Engine{Kind: plans.CommandKind, Name: name, Parts: map[string][]*plans.Block{"metric": metrics}}
	}
	for name, c := range map[string]struct {
		other *plans.Engine
		want  string
	}{
		"the same metrics": {command("other", metric("tg", "tok/s", "higher"), metric("more", "", "")), ""},
		"a metric less":    {command("other"), "must declare metric \"tg\""},
		"another unit":     {command("other", metric("tg", "tok/h", "higher")), "must declare metric \"tg\""},
		"turned around":    {command("other", metric("tg", "tok/s", "lower")), "must declare metric \"tg\""},
		"a server":         {&plans.Engine{Kind: "vllm", Name: "other"}, "is a command and the other a server"},
	} {
		first := command("first", metric("tg", "tok/s", "higher"))
		l := newLoader("plan.hcl", planstest.Registry(), Options{})
		l.plan.Engines = []*plans.Engine{first, c.other}
		l.plan.Baseline = &plans.Baseline{Engine: "command.first"}
		f := &plans.Feature{Name: "f"}
		notes := &featureNotes{feature: f}
		notes.confirms = []confirmNote{
			{confirm: &plans.Feature{Name: "f@other", Of: "f", Engine: c.other.Kind + ".other"}},
		}
		l.order = []*featureNotes{notes}
		l.features["f"] = notes
		l.checkConfirmations()
		var got []string
		for _, d := range l.Diags {
			got = append(got, d.Detail)
		}
		if text := strings.Join(got, "\n"); text != c.want && (c.want == "" || !strings.Contains(text, c.want)) {
			t.Errorf("%s: %q, want %q", name, text, c.want)
		}
	}
}

// loadClaim loads planstest.RulePlan with a claim in the first feature.
func loadClaim(metric, expect, more string) *Result {
	return loadFirst(fmt.Sprintf("hypothesis {\nmetric = %q\nexpect = %q\nbecause = \"of the kernel\"\n%s}\n",
		metric, expect, more))
}

func TestHypothesesAreRules(t *testing.T) {
	for _, c := range []struct{ metric, expect, rule, claim string }{
		{"chat.tg", "+10%", "chat.tg.change >= 0.1", "ratio: chat.tg.change >= 0.1"},
		{"chat.ttft", "-7%", "chat.ttft.change <= -0.07", "ratio: chat.ttft.change <= -0.07"},
		{"chat.tg", "+0%", "chat.tg.change >= 0", "ratio: chat.tg.change >= 0"},
		{"chat.tg", ">= -3%", "chat.tg.change >= -0.03", "ratio: chat.tg.change >= -0.03"},
		{"chat.tg", ">= +32", "chat.tg >= 32", "log level: chat.tg >= 32"},
		{"chat.ttft.p90", "<=3%", "chat.ttft.p90.change <= 0.03", "ratio: chat.ttft.p90.change <= 0.03"},
		{"chat.tg", "<32.5", "chat.tg < 32.5", "log level: chat.tg < 32.5"},
		{"chat.ttft.p90", "-12.5%", "chat.ttft.p90.change <= -0.125", "ratio: chat.ttft.p90.change <= -0.125"},
		{"outs.tg64", "+10%", "outs.o64.tg.change >= 0.1", "ratio: outs.o64.tg.change >= 0.1"},
		{"engine.startup_s", "-20%", "engine.startup_s.change <= -0.2", "ratio: engine.startup_s.change <= -0.2"},
		{"gpu.memory_gb", "+3%", "gpu.memory_gb.change >= 0.03", "range: gpu.memory_gb.change >= 0.03"},
		{"engine.crashes", "<= 0", "engine.crashes <= 0", "exact"},
	} {
		res := loadClaim(c.metric, c.expect, "")
		if !res.OK() {
			t.Errorf("%s %s: %s", c.metric, c.expect, planstest.Text(&res.Findings))
			continue
		}
		probe := res.Plan.Feature("first").Hypothesis.Probe
		if probe == nil || probe.Expr != c.rule || planstest.ComparesOf(probe.Cond) != c.claim {
			t.Errorf("%s %s is %+v", c.metric, c.expect, probe)
		}
	}
	for _, c := range []struct{ metric, expect, want string }{
		{"chat.tg", "-100%", "Comparison can never hold"},
		{"chat.tg", "-250%", "Comparison can never hold"},
		{"chat.tgg", "+1%", "Unknown metric"},
		{"chat.tg.gain", "+1%", "Hypothesis without a metric"},
		{"levels.kernels", "+1%", "Hypothesis without a metric"},
		{"knob.moe", "+1%", "Hypothesis without a metric"},
		{"outs.tg", "+1%", "Which cell?"},
		{"target.a.chat.b", "+1%", "Unknown target"},
	} {
		res := loadClaim(c.metric, c.expect, "")
		if res.OK() || res.Diagnostics[0].Summary != c.want || res.Plan.Feature("first").Hypothesis.Probe != nil {
			t.Errorf("%s %s: %s", c.metric, c.expect, planstest.Text(&res.Findings))
		}
	}
}

func TestHypothesisDigest(t *testing.T) {
	h := plans.Hypothesis{Metric: "chat.tg", Expect: "+10%", Because: "of it"}
	digest := h.Digest()
	// Ledgers hold it: one that names no kernels keeps it.
	if want := "098e821c27c44da16cb7004e4fc6d55ab91ba21ef57250433f1b1170151955a2"; digest != want {
		t.Fatalf("%s, want %s", digest, want)
	}
	same := h
	same.Because, same.Range = " of it\n", plans.Range{File: "elsewhere.hcl"}
	if same.Digest() != digest {
		t.Error("white space or the place counts")
	}
	for _, other := range []plans.Hypothesis{
		{Metric: "chat.pp", Expect: "+10%", Because: "of it"},
		{Metric: "chat.tg", Expect: "+11%", Because: "of it"},
		{Metric: "chat.tg", Expect: "+10%", Because: "of that"},
		{Metric: "chat.tg+10%", Because: "of it"},
		{Metric: "chat.tg", Expect: "+10%", Because: "of it", Kernels: map[string]float64{"moe": 1.5}},
	} {
		if other.Digest() == digest {
			t.Errorf("%+v has the same digest", other)
		}
	}
}

// TestHypothesisKernels: how many times as fast must be a number greater than 1.
func TestHypothesisKernels(t *testing.T) {
	for written, want := range map[string]string{
		"{ moe = 1.5, dense_gemm = 2 }": "",
		"{ moe = 1 }":                   "Kernels do not become faster",
		"{ moe = 0.5 }":                 "Kernels do not become faster",
		"{ moe = -2 }":                  "Kernels do not become faster",
		"{ moe = 1e300 }":               "Invalid moe",
		`{ moe = "1.5" }`:               "Wrong type for moe",
		"1.5":                           "Wrong type for kernels",
		`["moe"]`:                       "Wrong type for kernels",
	} {
		res := loadClaim("chat.tg", "+1%", "kernels = "+written+"\n")
		if want == "" {
			if got := res.Plan.Feature("first").Hypothesis.Kernels; !res.OK() || len(got) != 2 || got["moe"] != 1.5 ||
				got["dense_gemm"] != 2 {
				t.Errorf("%s: %v\n%s", written, got, planstest.Text(&res.Findings))
			}
			continue
		}
		if res.OK() || res.Diagnostics[0].Summary != want {
			t.Errorf("%s: %s, want %s", written, planstest.Text(&res.Findings), want)
		}
	}
}

// TestTrials: accept = [] leaves all criteria to decide, and makes a different plan from
// one without accept; no other list is a trial.
func TestTrials(t *testing.T) {
	usual, trial := loadFirst("").Plan, loadFirst("accept = []\n").Plan
	a, b := usual.Feature("first"), trial.Feature("first")
	if a.Trial || !b.Trial || len(b.Accept) == 0 || len(b.Accept) != len(b.Criteria) {
		t.Errorf("without accept %v, with [] %v and %q", a.Trial, b.Trial, b.Accept)
	}
	if usual.Digest() == trial.Digest() {
		t.Error("a trial has the digest of a plan that has none")
	}
}

// TestStepsOfTwoKinds: names of steps differ within a kind only, as their nodes do.
func TestStepsOfTwoKinds(t *testing.T) {
	reg := planstest.Registry()
	reg.Steps["other"] = reg.Steps["exec"]
	step := func(kind string) string { return "step \"" + kind + "\" \"build\" {\n command = [\"true\"]\n}\n" }
	for _, c := range []struct {
		steps string
		ok    bool
	}{{step("exec") + step("other"), true}, {step("exec") + step("exec"), false}} {
		text := strings.Replace(planstest.RulePlan, "  feature \"first\" {\n", c.steps+"  feature \"first\" {\n", 1)
		if res := Bytes("p.hcl", []byte(text), reg, Options{}); res.OK() != c.ok {
			t.Errorf("%s: %s", c.steps, planstest.Text(&res.Findings))
		}
	}
}

// TestSamplingThatIsNotSent: a 0 is not sent, so there is no warning that it has no effect.
func TestSamplingThatIsNotSent(t *testing.T) {
	for written, warns := range map[string]bool{
		"top_p = 0": false, "top_k = 0": false, "min_p = 0": false,
		"top_p = 0\n top_k = 5": true, "min_p = 0.1": true,
	} {
		res := loadText("plan \"p\" {}\nworkload \"w\" {\n prompt_tokens = 1\n output_tokens = 1\n " +
			written + "\n}\n")
		must.Equal(t, written, strings.Contains(planstest.Text(&res.Findings), "Sampling has no effect"), warns)
	}
}

// TestNamesOfOtherTools: an attribute with another tool's name is answered with ours, and
// one that belongs elsewhere with where.
func TestNamesOfOtherTools(t *testing.T) {
	for body, want := range map[string]string{
		"workload \"w\" {\n pp = 1\n}\n":                                           `Did you mean "prompt_tokens"?`,
		"workload \"w\" {\n tg = 1\n}\n":                                           `Did you mean "output_tokens"?`,
		"phase \"p\" {\n depends_on = []\n}\n":                                     `Did you mean "after"?`,
		"phase \"p\" {\n gate {\n rule \"r\" {\n expr = \"x.tg > 1\"\n }\n }\n}\n": `Did you mean "rule"?`,
		"baseline {\n rule = \"x\"\n}\n": "rule belongs in criterion, " +
			"gate, rule.",
		"decision {\n builds_on = baseline\n}\n": "builds_on belongs in feature.",
	} {
		res := loadText("plan \"p\" {}\n" + body)
		if text := strings.Join(strings.Fields(planstest.Text(&res.Findings)), " "); !strings.Contains(text, want) {
			t.Errorf("%s\n%s\nwant %s", body, text, want)
		}
	}
}

// TestTextsOfFeatures: what people write beside a feature is read and decides nothing,
// and a feature is replaced by another one that exists.
func TestTextsOfFeatures(t *testing.T) {
	res := loadFirst("notes = [\"one\", \"two\"]\n improve = [\"three\"]\n blocked_by = [\"upstream #1\"]\n " +
		"superseded_by = feature.second\n")
	sound(t, res)
	f := res.Plan.Feature("first")
	if got := strings.Join(slices.Concat(f.Notes, f.Improve, f.BlockedBy, []string{f.SupersededBy}),
		", "); got != "one, two, three, upstream #1, second" {
		t.Error(got)
	}
	if bare := loadFirst("").Plan; res.Plan.Digest() != bare.Digest() || len(res.Plan.Differences(bare)) > 0 {
		t.Error("what people write beside a feature makes it another plan")
	}
	for texts, want := range map[string]string{
		"superseded_by = feature.first\n":  "Feature supersedes itself",
		"superseded_by = feature.nobody\n": "Unknown feature",
		"notes = \"one\"\n":                "Wrong type for notes",
		"builds_on = \"accepted\"\n":       "Not a reference",
	} {
		if res := loadFirst(texts); res.OK() || res.Diagnostics[0].Summary != want {
			t.Errorf("%s: %s, want %s", texts, planstest.Text(&res.Findings), want)
		}
	}
}

func TestDecision(t *testing.T) {
	for _, c := range []struct {
		text string
		want plans.Decision
	}{
		{"", plans.Decision{FalsePass: 0.01, FalseFail: 0.05, Min: 2, Max: 8}},
		{"decision {}", plans.Decision{FalsePass: 0.01, FalseFail: 0.05, Min: 2, Max: 8}},
		{
			"decision {\n false_pass = 0.001\n false_fail = 0.1\n launches = { min = 4, max = 12 }\n}",
			plans.Decision{FalsePass: 0.001, FalseFail: 0.1, Min: 4, Max: 12},
		},
		{"decision {\n launches = { max = 6 }\n}", plans.Decision{FalsePass: 0.01, FalseFail: 0.05, Min: 2, Max: 6}},
		{"decision {\n launches = { max = 1 }\n}", plans.Decision{FalsePass: 0.01, FalseFail: 0.05, Min: 1, Max: 1}},
		{"decision {\n launches = { min = 10 }\n}", plans.Decision{FalsePass: 0.01, FalseFail: 0.05, Min: 10, Max: 10}},
		{
			"decision {\n launches = null\n false_pass = null\n}",
			plans.Decision{FalsePass: 0.01, FalseFail: 0.05, Min: 2, Max: 8},
		},
		{
			"variable \"most\" { default = 6 }\ndecision {\n launches = { max = var.most }\n}",
			plans.Decision{FalsePass: 0.01, FalseFail: 0.05, Min: 2, Max: 6},
		},
	} {
		res := loadText("plan \"p\" {}\n" + c.text + "\n")
		if !res.OK() || *res.Plan.Decision != c.want {
			t.Errorf("%s\nis %+v\n%s", c.text, res.Plan.Decision, planstest.Text(&res.Findings))
		}
	}
	if Bytes("p.hcl", []byte("plan {"), nil, Options{}).Plan.Decision == nil {
		t.Error("a broken plan has no decision")
	}
	res := loadYAML("plan:\n  p: {}\ndecision:\n  false_pass: 0.001\n  launches: {min: 4, max: 6}\n")
	if d := res.Plan.Decision; !res.OK() || *d != (plans.Decision{FalsePass: 0.001, FalseFail: 0.05, Min: 4, Max: 6}) {
		t.Errorf("YAML: %+v\n%s", d, planstest.Text(&res.Findings))
	}
	res = loadText("plan \"p\" {}\ndecision {\n false_pass = 0.03\n}\n")
	if res.OK() || !strings.Contains(res.Diagnostics[0].Detail, "0.01") {
		t.Errorf("what is offered is not said: %s", planstest.Text(&res.Findings))
	}
}

func TestLaunchesOf(t *testing.T) {
	for _, c := range []struct {
		decision, benchmark string
		least, most         int
	}{
		{"", "", 2, 5}, // the registry of these tests has a default of 5
		{"", "launches = 8", 2, 8},
		{"", "launches = 1", 1, 1},
		{"decision {\n launches = { min = 4, max = 6 }\n}", "launches = 12", 4, 12},
		{"decision {\n launches = { min = 4, max = 6 }\n}", "launches = 3", 3, 3},
	} {
		const sent = "workloads = [workload.chat, workload.outs, workload.lens]"
		text := strings.Replace(planstest.RulePlan, sent, sent+"\n"+c.benchmark, 1)
		p := loadText(c.decision + "\n" + text).Plan
		if least, most := p.LaunchesOf("first"); least != c.least || most != c.most {
			t.Errorf("%+v: %d to %d", c, least, most)
		}
	}
	reg := planstest.Registry()
	bench := reg.Levels["benchmark"]
	bench.Attrs[2].Default = nil
	reg.Levels["benchmark"] = bench
	p := Bytes("p.hcl", []byte("decision {\n launches = { min = 4, max = 6 }\n}\n"+planstest.RulePlan),
		reg, Options{}).Plan
	if least, most := p.LaunchesOf("first"); least != 4 || most != 6 {
		t.Errorf("without launches: %d to %d", least, most)
	}
	for _, name := range []string{"first[routed]", "first@production"} {
		if least, most := p.LaunchesOf(name); least != 4 || most != 6 {
			t.Errorf("of %s: %d to %d", name, least, most)
		}
	}
	if least, most := p.LaunchesOf("nobody"); least != 0 || most != 0 {
		t.Errorf("of nobody: %d to %d", least, most)
	}
}

func TestCompileRule(t *testing.T) {
	res := Bytes("rules.hcl", []byte(planstest.RulePlan), planstest.Registry(), Options{})
	before := planstest.Text(&res.Findings)
	for _, c := range []struct{ src, feature, wrong string }{
		{"chat.tg.gain >= 0.1", "first", ""},
		{"chat.tg.gain >= 0.1", "", "Whose value?"},
		{`feature["fourth"].chat.tg >= 1`, "", ""},
		{`feature["fourth"].accepted`, "", ""},
		{"chat.ttft.p99 <= 500", "first", ""},
		{"levels.kernels", "second", "Not a yes or no"},
		{"1 + 1", "", "Arithmetic in a rule"},
		{"", "", "Empty rule"},
		{strings.Repeat("(", 200), "", "Rule nested too deeply"},
		{strings.Repeat("x", 20000), "", "Rule too long"},
		{"\x00", "", "Invalid rule"},
		{"\xff", "", "Invalid rule"},
	} {
		rule, diags := res.CompileRule(c.src, c.feature)
		got := ""
		for _, d := range diags {
			got += d.Summary
		}
		if (c.wrong == "") != (got == "") || !strings.Contains(got, c.wrong) || (rule.Cond == nil) != (got != "") {
			t.Errorf("%.40s: %q, want %q; program %t", c.src, got, c.wrong, rule.Cond != nil)
		}
	}
	if planstest.Text(&res.Findings) != before {
		t.Errorf("the plan's own diagnostics are now\n%s", planstest.Text(&res.Findings))
	}
}

//go:embed testdata/plans/observed.hcl
var observedPlan string

func observedRegistry() *plans.Registry {
	r := planstest.Registry()
	r.Engines["embedded"] = plans.EngineKind{Observed: []plans.Observed{
		{Name: "attention", Type: "string"},
		{Name: "cuda_graphs", Type: "bool"},
		{Name: "kv_capacity_tokens", Type: "number", Unit: "tokens"},
		{Name: "weights_gb", Type: "number", Unit: "GiB"},
		{Name: "fallbacks", Type: "count"},
	}}
	r.EngineParts = map[string]plans.Part{"observe": {
		Schema: plans.Schema{Attrs: []plans.Attr{{Name: "type", Type: plans.String}}}, Label: "its name",
		Times: plans.AnyTimes,
		Observes: func(b *plans.Block) []plans.Observed {
			ty, _ := b.Attrs["type"].(string)
			return []plans.Observed{{Name: b.Name, Type: ty}}
		},
	}}
	return r
}

func loadObserved(rule, must, changes string) *Result {
	text := strings.NewReplacer("RULE", rule, "MUST", must, "CHANGES", changes).Replace(observedPlan)
	return Bytes("plan.hcl", []byte(text), observedRegistry(), Options{})
}

func TestRulesReadObservations(t *testing.T) {
	for rule, want := range map[string]plans.Input{
		"engine.observed.attention == 'FLASHINFER'": {
			Kind: plans.InputObserved, Name: "attention",
			Type: plans.WordInput,
		},
		"engine.observed.tactic in ['a', 'b']": {
			Kind: plans.InputObserved, Name: "tactic",
			Type: plans.WordInput,
		},
		"engine.observed.cuda_graphs": {
			Kind: plans.InputObserved, Name: "cuda_graphs",
			Type: plans.BoolInput,
		},
		"engine.observed.cuda_graphs == false": {
			Kind: plans.InputObserved, Name: "cuda_graphs",
			Type: plans.BoolInput,
		},
		"engine.observed.kv_capacity_tokens >= 100000": {
			Kind:   plans.InputMetric,
			Metric: "observed.kv_capacity_tokens", Stat: "median", Unit: "tokens", Type: plans.NumberInput,
		},
		"engine.observed.kv_capacity_tokens.change > -0.05": {
			Kind:   plans.InputMetric,
			Metric: "observed.kv_capacity_tokens", Stat: "median", Relation: plans.Change, Type: plans.NumberInput,
		},
		"engine.observed.fallbacks.delta <= 0": {
			Kind: plans.InputMetric, Metric: "observed.fallbacks",
			Stat: "median", Relation: plans.Delta, Type: plans.NumberInput,
		},
		"engine.observed.kv_capacity_tokens.base > 1000": {
			Kind:   plans.InputMetric,
			Metric: "observed.kv_capacity_tokens", Stat: "median", Relation: plans.Base, Unit: "tokens",
			Type: plans.NumberInput,
		},
		"engine.kv_capacity_tokens.gain >= 0": {
			Kind: plans.InputMetric, Metric: "kv_capacity_tokens",
			Stat: "median", Relation: plans.Gain, Better: "higher", Type: plans.NumberInput,
		},
	} {
		res := loadObserved(rule, `{ attention = "x" }`, "[]")
		if !res.OK() {
			t.Errorf("%s: %s", rule, planstest.Text(&res.Findings))
			continue
		}
		in := *res.Plan.Phases[0].Features[0].Criteria[0].Inputs()[0]
		in.Path, in.Feature, in.Of = "", "", ""
		must.Equal(t, rule, in, want)
	}
}

func TestObservationsThatAreRefused(t *testing.T) {
	good := "engine.observed.cuda_graphs"
	for _, c := range []struct{ rule, must, changes, want string }{
		{"engine.observed.atention == 'x'", "{}", "[]", `Did you mean "attention"?`},
		{"engine.observed == 'x'", "{}", "[]", "Write engine.observed.<name>"},
		{"engine.observed.attention.base == 'x'", "{}", "[]", "has no members"},
		{"engine.observed.attention >= 'x'", "{}", "[]", "Words have no order"},
		{"engine.observed.attention == 3", "{}", "[]", "Cannot compare"},
		{"engine.observed.attention", "{}", "[]", "Not a yes or no"},
		{"engine.observed.cuda_graphs == 'x'", "{}", "[]", "Cannot compare"},
		{"engine.observed.kv_capacity_tokens.gain > 0", "{}", "[]", "No better direction"},
		{"engine.observed.kv_capacity_tokens > engine.startup_s", "{}", "[]", "Units do not match"},
		{"engine.observed.kv_capacity_tokens.p99 > 1", "{}", "[]", "One value per launch"},
		// The catalogue's unit is GB.
		{"engine.weights_gb < 70", "{}", "[]", "Not observed"},
		{good, `{ atention = "x" }`, "[]", `Did you mean "attention"?`},
		{good, `{ attention = true }`, "[]", "attention must be a string, not"},
		{good, `{ cuda_graphs = "true" }`, "[]", "cuda_graphs must be a bool, not"},
		{good, `{ attention = ["a"] }`, "[]", "takes one value"},
		{good, `"x"`, "[]", "Wrong type for observed"},
		{good, `{ attention = "x" }`, `["atention"]`, `Did you mean "attention"?`},
		{good, `{ attention = "x" }`, `"attention"`, "Wrong type for changes"},
	} {
		res := loadObserved(c.rule, c.must, c.changes)
		if text := strings.Join(strings.Fields(planstest.Text(&res.Findings)), " "); res.OK() ||
			!strings.Contains(text, c.want) {
			t.Errorf("%s, %s, %s: want %q, got:\n%s", c.rule, c.must, c.changes, c.want, text)
		}
	}
}

// Observations count as evidence, and what knobs change is part of the plan's meaning.
func TestObservedEvidence(t *testing.T) {
	rule := "engine.observed.cuda_graphs"
	a, b := loadObserved(rule, `{ attention = "x" }`, `["tactic", "attention"]`),
		loadObserved(rule, `{ attention = "x" }`, `["attention", "tactic"]`)
	if !a.OK() || !b.OK() {
		t.Fatal(planstest.Text(&a.Findings), planstest.Text(&b.Findings))
	}
	if a.Plan.Digest() != b.Plan.Digest() {
		t.Error("the order of changes counts")
	}
	for _, other := range []*Result{
		loadObserved(rule, `{ attention = "y" }`, `["attention", "tactic"]`),
		loadObserved(rule, `{ attention = "x" }`, `["attention"]`),
	} {
		if a.Plan.Digest() == other.Plan.Digest() {
			t.Error("evidence or changes do not count")
		}
	}
	v := a.Plan.Knobs[0].Value("routed")
	if v.MustSee.Empty() || v.MustSee.Observed["attention"] != "x" || !v.MustNotSee.Empty() {
		t.Errorf("evidence %+v, %+v", v.MustSee, v.MustNotSee)
	}
}
