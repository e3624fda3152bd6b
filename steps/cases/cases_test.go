package cases

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/plans/planstest"
	"github.com/mxflow/mxflow/steps"
)

// casePlan has rules on every kind of value that a case may set.
const casePlan = `plan "cases" {}
engine "embedded" "tiny" {}
knob "moe" {
  default = "all"
  value "all" {
    env = { MXFLOW_EMBEDDED_MOE = "all" }
    must_see { log = ["*moe_all_experts*"] }
  }
  value "routed" {
    env = { MXFLOW_EMBEDDED_MOE = "routed" }
    must_see { log = ["*moe_routed*"] }
  }
}
variable "gain" {
  type    = number
  default = 0.1
}
workload "chat" {
  prompt_tokens = 64
  output_tokens = 16
  requests      = 40
}
workload "long" {
  prompt_tokens = [64, 128]
  output_tokens = 16
}
target "other" {
  metrics = { chat = { tg = 57.85 } }
}
protocol "standard" {
  level "smoke" { expect = "Paris" }
  level "kernels" {}
  level "correctness" { max_kl = 0.02 }
  level "benchmark" {
    workloads = [workload.chat, workload.long]
  }
}
baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.standard
}
phase "one" {
  feature "f" {
    set = { moe = "routed" }
    criterion "faster" { rule = "chat.tg.gain >= ${var.gain}" }
    criterion "sooner" { rule = "chat.ttft <= 1.05 * chat.ttft.base" }
    accept = ["faster", "sooner"]
    criterion "lean" { rule = "engine.memory_gb.delta <= 2 or engine.crashes == 0 and not (chat.tg.n < 3)" }
  }
  feature "g" {
    set = { moe = "routed" }
    criterion "right" { rule = "levels.correctness == 'pass' and chat.tg >= target.other.chat.tg" }
  }
  gate {
    rule "kernels" { expr = "feature[\"f\"].levels.kernels == 'pass'" }
    rule "one of them" { expr = "feature[\"f\"].accepted or feature[\"g\"].verdict != 'fail'" }
    rule "said" { expr = "feature[\"f\"].engine.observed.attention == 'decode_attention_kvcache' and feature[\"f\"].knob.moe in ['routed']" }
  }
}
phase "two" {
  step "exec" "s" { command = ["true"] }
}
`

// loadCasePlan loads the plan of these tests.
func loadCasePlan(t testing.TB) *load.Result {
	t.Helper()
	res := load.Bytes(filepath.Join("testdata", "plan.hcl"), []byte(casePlan), steps.Registry(), load.Options{})
	if !res.OK() {
		t.Fatal(planstest.Text(&res.Findings))
	}
	return res
}

// written are the cases of a text.
func written(r *load.Result, name string, text []byte) ([]*Case, *lang.Findings) {
	l := newLoader(r)
	found := r.CompileAlone([]string{name}, func() { l.file(name, text) })
	return l.cases, found
}

// aCase is a case of feature f with some lines of its own.
func aCase(lines string) string {
	return "case \"c\" {\n  feature = feature.f\n  expect = \"pass\"\n" + lines + "\n}\n"
}

// TestCaseMistakes: each text has one mistake, which is found at its place and explained
// with what to do.
func TestCaseMistakes(t *testing.T) {
	for _, c := range []struct{ text, line, summary, detail string }{
		{"", "1:1", "Case file is empty", "A case starts with"},
		{"\ufeff \n", "1:1", "Case file is empty", "A case starts with"},
		{"plan \"p\" {}\n", "1:1", "Unsupported block type", "case { }"},
		{"case {}\n", "1:6", "Missing name for case", "label"},
		{"case \" x\" {\n feature = feature.f\n expect = \"pass\"\n}\n", "1:6", "Invalid case name", "one-line phrase"},
		{aCase("") + aCase(""), "6:6", "Duplicate case", "already declared on line 1"},
		{"case \"c\" {\n  expect = \"pass\"\n}\n", "1:1", "Case about nothing", "feature = feature.<name>"},
		{aCase("  gate = phase.one"), "4:10", "Case about two things", "two cases"},
		{"case \"c\" {\n  gate = phase.two\n  expect = \"pass\"\n}\n", "2:10", "Phase has no gate", "Add a gate"},
		{"case \"c\" {\n  gate = phase.on\n  expect = \"pass\"\n}\n", "2:10", "Unknown phase", `"one"`},
		{"case \"c\" {\n  feature = \"f\"\n  expect = \"pass\"\n}\n", "2:13", "Not a reference", "feature.f, without quotes"},
		{"case \"c\" {\n  feature = feature.f\n}\n", "1:1", "Case expects nothing", "expect_rules"},
		{"case \"c\" {\n  feature = feature.f\n  expect_rules = {}\n}\n", "1:1", "Case expects nothing", "expect_rules"},
		{"case \"c\" {\n  feature = feature.f\n  expect = \"passed\"\n}\n", "3:12", "Invalid expect", `Did you mean "pass"?`},
		{"case \"c\" {\n  feature = feature.f\n  expect = \"waived\"\n}\n", "3:12", "Invalid expect", "pass, fail, inconclusive, invalid or error"},
		{"case \"c\" {\n  feature = feature.f\n  expect = true\n}\n", "3:12", "Wrong type for expect", "quotes"},
		{aCase("  expect_rules = { fast = \"fail\" }"), "4:20", "Unknown rule", `"faster"`},
		{aCase("  expect_rules = { faster = \"slow\" }"), "4:29", "Invalid faster", "must be one of pass"},
		{aCase("  launches = {}"), "4:3", "Unsupported argument", ""},
		{aCase("  set = { \"chat.tgg\" = 1 }"), "4:11", "Unknown metric", `Did you mean "tg"?`},
		{aCase("  set = { \"chatt.tg\" = 1 }"), "4:11", "Unknown name in a rule", `"chat"`},
		{aCase("  set = { \"chat..tg\" = 1 }"), "4:11", "Not an address", "names with dots"},
		{aCase("  set = { \"\" = 1 }"), "4:11", "Empty rule", ""},
		{aCase("  set = { \"long.tg\" = 1 }"), "4:11", "Which cell?", "long.p64"},
		{aCase("  set = { \"chat.tg.gain > 0\" = 1 }"), "4:11", "Not an address", "names with dots"},
		{aCase("  set = { \"chat.tg.change\" = 1 }"), "4:11", "Value is not read here", "They read chat.tg.gain, chat.ttft, chat.ttft.base"},
		{aCase("  set = { \"levels.smoke\" = \"pass\" }"), "4:11", "Value is not read here", "No rule of feature f reads levels.smoke"},
		{aCase("  set = { \"levels.kernel\" = \"pass\" }"), "4:11", "Level not in the protocol", `"kernels"`},
		{aCase("  set = { \"feature['g'].verdict\" = \"pass\" }"), "4:11", "Criterion reads another feature", "gate"},
		{"case \"c\" {\n  feature = feature.g\n  expect = \"pass\"\n  set = { \"target.other.chat.tg\" = 5 }\n}\n", "4:11", "Value is not read here", "from a run"},
		{"case \"c\" {\n  gate = phase.one\n  expect = \"pass\"\n  set = { \"levels.kernels\" = \"pass\" }\n}\n", "4:11", "Whose value?", `feature["f"].levels.kernels`},
		{"case \"c\" {\n  gate = phase.one\n  expect = \"pass\"\n  set = { \"feature['f'].levels.kernels\" = \"passed\" }\n}\n", "4:43", `Invalid feature['f'].levels.kernels`, `Did you mean "pass"?`},
		{"case \"c\" {\n  gate = phase.one\n  expect = \"pass\"\n  set = { \"feature['f'].accepted\" = \"yes\" }\n}\n", "4:37", `Wrong type for feature['f'].accepted`, "true or false"},
		{"case \"c\" {\n  gate = phase.one\n  expect = \"pass\"\n  set = { \"feature['f'].knob.moe\" = \"rooted\" }\n}\n", "4:37", `Invalid feature['f'].knob.moe`, `"routed"`},
		{aCase("  set = { \"chat.tg.gain\" = 0.2, \"chat['tg'].gain\" = 0.3 }"), "4:33", "Value set twice", "Remove one"},
		{aCase("  set = { \"chat.tg.gain\" = \"5%\" }"), "4:28", "Wrong type for chat.tg.gain", "a number"},
		{aCase("  set = { \"chat.tg.gain\" = null }"), "4:28", "Wrong type for chat.tg.gain", "a number"},
		{aCase("  set = { \"chat.tg.gain\" = var.gan }"), "4:28", "Unknown variable", `"gain"`},
		{aCase("  set = [1]"), "4:9", "Wrong type for set", "a map"},
	} {
		cases, found := written(loadCasePlan(t), "plan.mxtest.hcl", []byte(c.text))
		if found.OK() {
			t.Errorf("%s\nis accepted: %+v", c.text, cases)
			continue
		}
		all := found.DiagnosticsJSON()
		d := all[0]
		if at := strings.TrimPrefix(found.Diagnostics[0].Subject.String(), "plan.mxtest.hcl:"); d.Summary != c.summary || !strings.Contains(d.Detail, c.detail) || !strings.HasPrefix(strings.ReplaceAll(at, ",", ":"), c.line) {
			t.Errorf("%s\nat %s: %s: %s\nwant %s at %s with %q", c.text, at, d.Summary, d.Detail, c.summary, c.line, c.detail)
		}
		if len(all) != 1 {
			t.Errorf("%s\none mistake is found %d times:\n%s", c.text, len(all), planstest.Text(found))
		}
		if d.Code == "" {
			t.Errorf("%q has no code", d.Summary)
		}
	}
}

func TestEmptyCasesInYAML(t *testing.T) {
	for _, text := range []string{"", "{}\n"} {
		_, found := written(loadCasePlan(t), "plan.mxtest.yaml", []byte(text))
		if got := planstest.Text(found); !strings.Contains(got, "case: {what it shows:") || strings.Contains(got, "case \"what") {
			t.Errorf("%q: %s", text, got)
		}
	}
}

// decided is the outcome of a case of a feature or a gate that sets values.
func decided(t *testing.T, of, set string) *Outcome {
	t.Helper()
	res := loadCasePlan(t)
	cases, found := written(res, "c.mxtest.hcl", []byte("case \"c\" {\n  "+of+"\n  expect = \"pass\"\n  set = {\n"+set+"\n  }\n}\n"))
	if !found.OK() {
		t.Fatal(planstest.Text(found))
	}
	return Decide(res.Plan, cases[0])
}

// TestDecide: values decide as they are, and one that is not set never passes.
func TestDecide(t *testing.T) {
	const f, g, gate = "feature = feature.f", "feature = feature.g", "gate = phase.one"
	const known = "\"chat.tg.gain\" = 0.1\n\"chat.ttft\" = 105\n\"chat.ttft.base\" = 100\n"
	const open = "\"feature['f'].levels.kernels\" = \"pass\"\n\"feature['f'].engine.observed.attention\" = \"decode_attention_kvcache\"\n\"feature['f'].knob.moe\" = \"routed\"\n"
	for _, c := range []struct{ of, set, want, says string }{
		{f, "", "inconclusive", "chat.tg.gain: the case does not set it"},
		// A threshold itself holds, and nothing close to it does.
		{f, known, "pass", "+10.0%"},
		{f, strings.Replace(known, "0.1", "0.0999999", 1), "fail", "required"},
		{f, strings.Replace(known, "105", "105.0001", 1), "fail", "chat.ttft"},
		{f, strings.Replace(known, "\"chat.ttft.base\" = 100\n", "", 1), "inconclusive", "chat.ttft.base: the case does not set it"},
		// Only criteria in accept decide. An or cannot do without its other side.
		{f, known + "\"engine.memory_gb.delta\" = 9\n\"engine.crashes\" = 0\n\"chat.tg.n\" = 2", "pass", "fail engine.memory_gb.delta"},
		{f, known + "\"engine.memory_gb.delta\" = 1", "pass", "inconclusive engine.crashes: the case does not set it"},
		{f, known + "\"engine.memory_gb.delta\" = 9\n\"engine.crashes\" = 0\n\"chat.tg.n\" = 3", "pass", "pass engine.memory_gb.delta"},
		// A level that did not pass leaves no measurement, whatever the case sets.
		{g, "\"levels.correctness\" = \"pass\"\n\"chat.tg\" = 58", "pass", "target.other.chat.tg"},
		{g, "\"levels.correctness\" = \"pass\"\n\"chat.tg\" = 57", "fail", ""},
		{g, "\"levels.correctness\" = \"fail\"\n\"chat.tg\" = 58", "invalid", "level correctness failed"},
		{g, "\"levels.correctness\" = \"inconclusive\"\n\"chat.tg\" = 58", "inconclusive", "level correctness is inconclusive"},
		{g, "\"levels.correctness\" = \"error\"\n\"chat.tg\" = 58", "error", "level correctness ended in error"},
		{g, "\"chat.tg\" = 58", "inconclusive", "levels.correctness: the case does not set it"},
		{gate, open, "inconclusive", "feature[\"g\"].verdict: the case does not set it"},
		{gate, open + "\"feature['f'].accepted\" = true", "inconclusive", "feature[\"g\"].verdict: the case does not set it"},
		{gate, open + "\"feature['f'].accepted\" = true\n\"feature['g'].verdict\" = \"fail\"", "pass", ""},
		{gate, open + "\"feature['f'].accepted\" = false\n\"feature['g'].verdict\" = \"inconclusive\"", "pass", ""},
		{gate, open + "\"feature['f'].accepted\" = false\n\"feature['g'].verdict\" = \"fail\"", "fail", ""},
		{gate, open + "\"feature['f'].accepted\" = false\n\"feature['g'].verdict\" = \"invalid\"", "invalid", "feature g is invalid"},
		{gate, strings.Replace(open, "routed", "all", 1) + "\"feature['f'].accepted\" = true\n\"feature['g'].verdict\" = \"pass\"", "fail", "knob.moe"},
		{gate, strings.Replace(open, "pass", "fail", 1) + "\"feature['f'].accepted\" = true\n\"feature['g'].verdict\" = \"pass\"", "invalid", "level kernels failed"},
	} {
		o := decided(t, c.of, c.set)
		text := ""
		for _, r := range o.Rules {
			text += "\n" + string(r.Verdict) + " " + verdict.Semicolons(r.Reasons)
		}
		if o.Verdict != verdict.Verdict(c.want) || !strings.Contains(text, c.says) {
			t.Errorf("%s\n%s: %s, want %s with %q%s", c.of, c.set, o.Verdict, c.want, c.says, text)
		}
		if o.OK() != (c.want == "pass") {
			t.Errorf("%s: expected pass, came out %s, and that is said to be %v", c.set, o.Verdict, o.OK())
		}
	}
}

// TestDecideNonsense: what no case file can set never passes either.
func TestDecideNonsense(t *testing.T) {
	p := loadCasePlan(t).Plan
	for _, value := range []any{math.NaN(), math.Inf(1), "pass", true, 5} {
		c := &Case{Feature: "f", Set: map[*plans.Input]any{}}
		for _, r := range p.Feature("f").Criteria {
			for _, in := range r.Inputs() {
				c.Set[in] = value
			}
		}
		for _, r := range Decide(p, c).Rules {
			if v := r.Verdict; v != verdict.Invalid && v != verdict.Error {
				t.Errorf("%v: %s is %s", value, r.Name, v)
			}
		}
	}
}

// TestCaseFiles: files of cases are not part of a plan, and those of another plan in the
// folder are left to it.
func TestCaseFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"plan.hcl": casePlan, "other.hcl": casePlan, "plan.mxtest.hcl": "", "more.mxtest.yaml": "", "other.mxtest.hcl": "",
		".hidden.mxtest.hcl": "", "mxtest.hcl": "", "notes.txt": "",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	res := load.Path(filepath.Join(dir, "plan.hcl"), steps.Registry(), load.Options{})
	files, err := Files(res)
	if err != nil || len(files) != 2 || filepath.Base(files[0]) != "more.mxtest.yaml" || filepath.Base(files[1]) != "plan.mxtest.hcl" {
		t.Errorf("%v %v", files, err)
	}
	for _, name := range []string{"other.hcl", "mxtest.hcl", "more.mxtest.yaml"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if res := load.Path(dir, steps.Registry(), load.Options{}); !res.OK() || len(res.Sources) != 1 {
		t.Errorf("the folder as a plan reads %d files: %v", len(res.Sources), res.Diagnostics)
	}
}

// FuzzCases checks that no text makes the reading or deciding of cases panic or hang, that
// each mistake can be shown, and that no rule passes without everything that it reads.
func FuzzCases(f *testing.F) {
	f.Add([]byte(aCase(`  set = { "chat.tg.gain" = 0.3, "chat.ttft" = 3, "chat.ttft.base" = 1e400 }`)))
	f.Add([]byte("case \"c\" {\n  gate = phase.one\n  set = { \"feature['g'].verdict\" = \"pass\" }\n  expect_rules = { said = \"fail\" }\n}\n"))
	f.Add([]byte(aCase(`  set = { for m in ["chat.tg.gain", "chat.ttft"] : m => 0.1 }`)))
	res := loadCasePlan(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		start := time.Now()
		for _, name := range []string{"c.mxtest.hcl", "c.mxtest.yaml"} {
			cases, found := written(res, name, text)
			if shown := planstest.Text(found); strings.Contains(shown, "Internal error") {
				t.Fatal(shown)
			}
			if _, err := json.Marshal(found.DiagnosticsJSON()); err != nil {
				t.Fatal(err)
			}
			if !found.OK() {
				continue
			}
			for _, c := range cases {
				o := Decide(res.Plan, c)
				for i, r := range c.rules(res.Plan) {
					for _, in := range r.Inputs() {
						n, number := c.Set[in].(float64)
						if lacking := in.Measured() && c.Set[in] == nil || number && (math.IsInf(n, 0) || math.IsNaN(n)); lacking && o.Rules[i].Verdict == verdict.Pass {
							t.Errorf("%s passes without %s", r.Name, in.Path)
						}
					}
				}
			}
		}
		if took := time.Since(start); took > planstest.Hang {
			t.Fatalf("took %v", took)
		}
	})
}
