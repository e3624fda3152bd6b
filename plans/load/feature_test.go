package load

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/planstest"
)

// TestChosenFeatures: what a plan says in a few words is written out for those who
// measure and decide.
func TestChosenFeatures(t *testing.T) {
	p := mustLoad(t, "testdata/valid/choose.hcl")
	f := p.Feature("speculation")
	var got []string
	for _, c := range append(append([]*plans.Feature(nil), f.Alternatives...), f.Confirm...) {
		got = append(got, fmt.Sprint(c.Name, " ", c.Set, " ", c.Engine, " ", c.Accept))
		if c.Of != "speculation" || c.Phase != f.Phase || c.Protocol != f.Protocol || c.BuildsOn != f.BuildsOn || len(c.Alternatives)+len(c.Confirm) > 0 || c.Choose != nil {
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
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
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
		"order of values":         {[]string{`["short", "long"]`, `["long", "short"]`}, true},
		"prefer written out":      {[]string{"    accept = [\"decode\"]\n\n    criterion \"level\"", "    accept = [\"decode\"]\n    prefer = \"chat.tg\"\n\n    criterion \"level\""}, true},
		"another value":           {[]string{`{ spec = ["short", "long"] }`, `{ spec = ["short", "long", "longer"] }`, `value "long" {`, "value \"longer\" {}\n  value \"long\" {"}, false},
		"another prefer":          {[]string{`prefer = "chat.ttft"`, `prefer = "chat.tg"`}, false},
		"another confirmation":    {[]string{"engine = engine.vllm.other", "engine = engine.vllm.other\n      criteria = [\"memory\"]"}, false},
		"one confirmation less":   {[]string{"    confirm {\n      engine = engine.vllm.other\n    }\n", ""}, false},
		"confirmed as by default": {[]string{"engine = engine.vllm.other", "engine = engine.vllm.other\n      criteria = [\"decode\"]"}, true},
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
		notes.confirms = []confirmNote{{confirm: &plans.Feature{Name: "f@other", Of: "f", Engine: c.other.Kind + ".other"}}}
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
	return loadFirst(fmt.Sprintf("hypothesis {\nmetric = %q\nexpect = %q\nbecause = \"of the kernel\"\n%s}\n", metric, expect, more))
}

func TestHypothesesAreRules(t *testing.T) {
	for _, c := range []struct{ metric, expect, rule, claim string }{
		{"chat.tg", "+10%", "chat.tg.change >= 0.1", "ratio: chat.tg.change >= 0.1"},
		{"chat.tg", "-5%", "chat.tg.change <= -0.05", "ratio: chat.tg.change <= -0.05"},
		{"chat.ttft", "-7%", "chat.ttft.change <= -0.07", "ratio: chat.ttft.change <= -0.07"},
		{"chat.tg", "+0%", "chat.tg.change >= 0", "ratio: chat.tg.change >= 0"},
		{"chat.tg", "-0%", "chat.tg.change <= 0", "ratio: chat.tg.change <= 0"},
		{"chat.tg", ">= -3%", "chat.tg.change >= -0.03", "ratio: chat.tg.change >= -0.03"},
		{"chat.ttft", "<= +3%", "chat.ttft.change <= 0.03", "ratio: chat.ttft.change <= 0.03"},
		{"chat.tg", ">= +32", "chat.tg >= 32", "log level: chat.tg >= 32"},
		{"chat.ttft.p90", "<=3%", "chat.ttft.p90.change <= 0.03", "ratio: chat.ttft.p90.change <= 0.03"},
		{"chat.tg", ">= 32", "chat.tg >= 32", "log level: chat.tg >= 32"},
		{"chat.tg", "<32.5", "chat.tg < 32.5", "log level: chat.tg < 32.5"},
		{"chat.ttft.p90", "-12.5%", "chat.ttft.p90.change <= -0.125", "ratio: chat.ttft.p90.change <= -0.125"},
		{"outs.o32.tg", "+10%", "outs.o32.tg.change >= 0.1", "ratio: outs.o32.tg.change >= 0.1"},
		{"outs.tg64", "+10%", "outs.o64.tg.change >= 0.1", "ratio: outs.o64.tg.change >= 0.1"},
		{"engine.startup_s", "-20%", "engine.startup_s.change <= -0.2", "ratio: engine.startup_s.change <= -0.2"},
		{"gpu.memory_gb", "+3%", "gpu.memory_gb.change >= 0.03", "range: gpu.memory_gb.change >= 0.03"},
		{"gpu.power_w", "<= 300", "gpu.power_w <= 300", "log level: gpu.power_w <= 300"},
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
			if got := res.Plan.Feature("first").Hypothesis.Kernels; !res.OK() || len(got) != 2 || got["moe"] != 1.5 || got["dense_gemm"] != 2 {
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

// TestSamplingThatIsNotSent: a 0 is not sent, so there is no warning that it has no
// effect.
func TestSamplingThatIsNotSent(t *testing.T) {
	for written, warns := range map[string]bool{"top_p = 0": false, "top_k = 0": false, "min_p = 0": false, "top_p = 0\n top_k = 5": true, "min_p = 0.1": true} {
		res := loadText("plan \"p\" {}\nworkload \"w\" {\n prompt_tokens = 1\n output_tokens = 1\n " + written + "\n}\n")
		if got := strings.Contains(planstest.Text(&res.Findings), "Sampling has no effect"); got != warns {
			t.Errorf("%s: warns %v", written, got)
		}
	}
}

// TestOneFormOfRules: a criterion and a gate's rule take the same argument, by either name.
func TestOneFormOfRules(t *testing.T) {
	text := strings.Replace(planstest.RulePlan, `{ rule = "chat.tg.gain >= 0.1" }`, `{ expr = "chat.tg.gain >= 10%" }`, 1)
	text = strings.Replace(text, "phase \"one\" {\n", "phase \"one\" {\n  gate {\n    rule \"g\" { rule = \"chat.tg.gain >= -3%\" }\n    rule \"h\" { expr = \"chat.tg.gain >= -3%\" }\n  }\n", 1)
	res := loadText(text)
	if !res.OK() {
		t.Fatal(planstest.Text(&res.Findings))
	}
	gate := res.Plan.Phases[0].Gate.Rules
	for _, r := range []*plans.Rule{res.Plan.Feature("first").Criteria[0], gate[0], gate[1]} {
		if r.Cond == nil {
			t.Errorf("%s is not compiled: %q", r.Name, r.Expr)
		}
	}
}

// TestNamesOfOtherTools: an attribute with another tool's name is answered with ours, and
// one that belongs elsewhere with where.
func TestNamesOfOtherTools(t *testing.T) {
	for body, want := range map[string]string{
		"workload \"w\" {\n pp = 1\n}\n":         `Did you mean "prompt_tokens"?`,
		"workload \"w\" {\n tg = 1\n}\n":         `Did you mean "output_tokens"?`,
		"phase \"p\" {\n depends_on = []\n}\n":   `Did you mean "after"?`,
		"baseline {\n rule = \"x\"\n}\n":         "rule belongs in criterion, gate, rule.",
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
	res := loadFirst("notes = [\"one\", \"two\"]\n improve = [\"three\"]\n blocked_by = [\"upstream #1\"]\n superseded_by = feature.second\n")
	if !res.OK() {
		t.Fatal(planstest.Text(&res.Findings))
	}
	f := res.Plan.Feature("first")
	if got := strings.Join(slices.Concat(f.Notes, f.Improve, f.BlockedBy, []string{f.SupersededBy}), ", "); got != "one, two, three, upstream #1, second" {
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
