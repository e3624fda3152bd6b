package cases

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/plans/planstest"
)

// casePlan has everything for which a case may give a value.
const casePlan = `plan "cases" {}
engine "embedded" "tiny" {}
knob "moe" {
  default = "all"
  value "all" {
    env = { MOE = "all" }
    must_see {
      log = ["*all*"]
    }
  }
  value "routed" {
    env = { MOE = "routed" }
    must_see {
      log = ["*routed*"]
    }
  }
}
variable "gain" {
  type    = number
  default = 0.1
}
workload "chat" {
  prompt_tokens = 64
  output_tokens = 16
  requests      = 300
}
workload "long" {
  prompt_tokens = [64, 128]
  output_tokens = 16
}
protocol "standard" {
  level "smoke" {
    prompt = "x"
    expect = "x"
  }
  level "kernels" {
    from = ["log"]
  }
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
    criterion "lean" { rule = "engine.memory_gb.delta <= 2" }
  }
  gate {
    rule "r" { expr = "chat.tg.gain >= 0" }
  }
}
phase "two" {
  after = [phase.one]
  feature "g" {
    set = { moe = "routed" }
    builds_on = accepted
    criterion "c" { rule = "chat.tg.gain >= 0" }
  }
  feature "h" {
    set = { moe = "routed" }
    criterion "c" { rule = "chat.tg.gain >= 0" }
  }
  gate {
    rule "both" { expr = "feature[\"g\"].accepted and feature[\"h\"].chat.tg.gain >= 0" }
  }
}
phase "three" {
  step "exec" "s" { command = ["true"] }
}
`

// loadCasePlan loads the plan of these tests.
func loadCasePlan(t testing.TB) *load.Result {
	t.Helper()
	res := load.Bytes(filepath.Join("testdata", "cases", "plan.hcl"), []byte(casePlan), planstest.Registry(), load.Options{})
	if !res.OK() {
		t.Fatal(planstest.Text(&res.Findings))
	}
	return res
}

// aCase is a case of feature f with some lines of its own.
func aCase(lines string) string {
	return "case \"c\" {\n  feature = feature.f\n  expect = \"pass\"\n" + lines + "\n}\n"
}

// TestCaseMistakes: each text has one mistake, which is found at its place and explained
// with what to do.
func TestCaseMistakes(t *testing.T) {
	for _, c := range []struct{ text, line, summary, detail string }{
		{"", "1:1", "Case file is empty", "mxflow test --write"},
		{"\ufeff \n", "1:1", "Case file is empty", "A case starts with"},
		{"plan \"p\" {}\n", "1:1", "Unsupported block type", "case { }"},
		{"case {}\n", "1:6", "Missing name for case", "label"},
		{"case \" x\" {\n feature = feature.f\n expect = \"pass\"\n}\n", "1:6", "Invalid case name", "one-line phrase"},
		{aCase("") + aCase(""), "6:6", "Duplicate case", "already declared on line 1"},
		{"case \"c\" {\n  expect = \"pass\"\n}\n", "1:1", "Case about nothing", "feature = feature.f"},
		{aCase("  gate = phase.one"), "4:10", "Case about two things", "two cases"},
		{"case \"c\" {\n  gate = phase.three\n  expect = \"pass\"\n}\n", "2:10", "Phase has no gate", "Add a gate"},
		{"case \"c\" {\n  gate = phase.on\n  expect = \"pass\"\n}\n", "2:10", "Unknown phase", `"one"`},
		{"case \"c\" {\n  feature = \"f\"\n  expect = \"pass\"\n}\n", "2:13", "Not a reference", "feature.f, without quotes"},
		{"case \"c\" {\n  feature = feature.f\n}\n", "1:1", "Case expects nothing", "expect_rules"},
		{"case \"c\" {\n  feature = feature.f\n  expect = \"passed\"\n}\n", "3:12", "Unknown verdict", `Did you mean "pass"?`},
		{"case \"c\" {\n  feature = feature.f\n  expect = \"waived\"\n}\n", "3:12", "Unknown verdict", "A case cannot be waived"},
		{"case \"c\" {\n  feature = feature.f\n  expect = true\n}\n", "3:12", "Not text", "quotes"},
		{aCase("  expect_rules = { fast = \"fail\" }"), "4:20", "Unknown rule", `"faster"`},
		{aCase("  launches = {}"), "4:14", "Empty launches", "The map is empty"},
		{aCase("  launches = { \"chat.tgg\" = { gain = 1 } }"), "4:16", "Unknown metric", `Did you mean "tg"?`},
		{aCase("  launches = { \"chatt.tg\" = { gain = 1 } }"), "4:16", "Invalid metric address", `"chat"`},
		{aCase("  launches = { \"chat..tg\" = { gain = 1 } }"), "4:16", "Invalid metric address", "not an address"},
		{aCase("  launches = { \"long.tg\" = { gain = 1 } }"), "4:16", "Which cell?", "long.p64"},
		{aCase("  launches = { \"chat.tg.gain\" = { gain = 1 } }"), "4:16", "Not measured by one launch", `Write "chat.tg"`},
		{aCase("  launches = { \"chat.tg.root.p50\" = { gain = 1 } }"), "4:16", "Not measured by one launch", `Write "chat.tg.p50"`},
		{aCase("  launches = { \"chat.tg.n\" = { gain = 1 } }"), "4:16", "Not measured by one launch", "counted from the launches"},
		{aCase("  launches = { \"levels.smoke\" = { gain = 1 } }"), "4:16", "Not a metric", "levels = { smoke"},
		{aCase("  launches = { \"knob.moe\" = { gain = 1 } }"), "4:16", "Not a metric", "knobs = { moe"},
		{aCase("  launches = { \"chat.tg\" = 5 }"), "4:28", "Wrong type for launches", "candidate = [38.4"},
		{aCase("  launches = { \"chat.tg\" = {} }"), "4:28", "Empty launches", "has no values"},
		{aCase("  launches = { \"chat.tg\" = { gain = 1 }, \"chat.tg.median\" = { gain = 1 } }"), "4:42", "Metric given twice", "Remove one"},
		{aCase("  launches = { \"chat.tg\" = { gain = 1 }, \"chat.tg.p50\" = { gain = 1 } }"), "4:42", "Metric given twice", "Remove one"},
		{aCase("  launches = { \"chat.tg\" = { gain = 1, requests = 9 }, \"chat.tg.p95\" = { gain = 1, requests = 60 } }"), "4:95", "Metric given twice", "write one number"},
		{aCase("  launches = { \"chat.tg\" = { base = [] } }"), "4:37", "Empty launches", "Leave base out"},
		{aCase("  launches = { \"chat.tg\" = { base = [1, \"2 tok/s\"] } }"), "4:41", "Not a number", "in tok/s"},
		{aCase("  launches = { \"chat.tg\" = { base = [\"5%\"] } }"), "4:38", "Not a number", "Write the number itself, without quotes, or a change from the base as { gain = 0.05 }."},
		{aCase("  launches = { \"chat.tg\" = { gain = \"5%\" } }"), "4:37", "Not a number", "Ratios are fractions: write 0.05"},
		{aCase("  launches = { \"chat.tg\" = { delta = \"5%\" } }"), "4:38", "Not a number", "or a change from the base"},
		{aCase("  launches = { \"chat.error_rate\" = { base = \"5%\" } }"), "4:45", "Not a number", "Ratios are fractions: write 0.05"},
		{aCase("  launches = { \"chat.tg\" = { base = [\"NaN\"] } }"), "4:38", "Not a number", "Write null"},
		{aCase("  launches = { \"chat.tg\" = { base = \"-inf\" } }"), "4:37", "Not a number", "Write null"},
		{aCase("  launches = { \"chat.tg\" = { base = true } }"), "4:37", "Not a number", "true or false"},
		{aCase("  launches = { \"chat.tg\" = { bas = 5 } }"), "4:30", "Unknown name in launches", `"base"`},
		{aCase("  launches = { \"chat.tg\" = { base = [1, 2], candidate = [1] } }"), "4:57", "Unequal launches", "write null"},
		{aCase("  launches = { \"chat.tg\" = { base = [1, 2] }, \"chat.ttft\" = { base = [1, 2, 3] } }"), "4:70", "Unequal launches", "chat.ttft has 3"},
		{aCase("  launches = { \"chat.tg\" = { gain = 1, change = 1 } }"), "4:30", "Candidate given twice", "change already gives"},
		{aCase("  launches = { \"chat.tg\" = { gain = 1, candidate = 1 } }"), "4:37", "Candidate given twice", "Remove one"},
		{aCase("  launches = { \"chat.tg\" = { root = 1, base = 1 } }"), "4:37", "Baseline given twice", "Remove root"},
		{aCase("  launches = { \"chat.tg\" = { base = [1], spread = 1 } }"), "4:51", "Launches are listed already", "Remove it"},
		{aCase("  launches = { \"chat.tg\" = { base = 0, gain = 1 } }"), "4:47", "Base is not above zero", "Write delta"},
		{aCase("  launches = { \"chat.tg\" = { gain = -1 } }"), "4:37", "Invalid gain", "more than -1"},
		{aCase("  launches = { \"chat.ttft\" = { gain = 1 } }"), "4:39", "Invalid gain", "less than 1"},
		{aCase("  launches = { \"chat.output_tokens\" = { gain = 1 } }"), "4:48", "No better direction", "change or delta"},
		{aCase("  launches = { \"engine.memory_gb\" = { delta = 1, requests = 5 } }"), "4:61", "One value per launch", "Remove requests"},
		{aCase("  launches = { \"chat.tg\" = { gain = 1, launches = 0 } }"), "4:51", "Invalid launches", "between 1 and"},
		{aCase("  launches = { \"chat.tg\" = { gain = 1, spread = -1 } }"), "4:49", "Invalid spread", "between 0 and"},
		{aCase("  levels = { kernel = \"pass\" }"), "4:14", "Level not in the protocol", `"kernels"`},
		{aCase("  broken = \"kernel\""), "4:12", "Level not in the protocol", `"kernels"`},
		{aCase("  broken = \"\""), "4:12", "Empty broken", "kernels"},
		{aCase("  broken = \"smoke\"\n  levels = { smoke = \"pass\" }"), "5:22", "Level given twice", "level smoke fail"},
		{aCase("  knobs = { mo = \"all\" }"), "4:13", "Unknown knob", `"moe"`},
		{aCase("  knobs = { moe = \"al\" }"), "4:19", "Unknown knob value", `"all"`},
		{aCase("  observed = { nothing = 1 }"), "4:16", "Unknown observation", "nothing"},
		{aCase("  noise = { \"chat.tg\" = { sd = 0.1 } }"), "4:25", "Missing sd or df", "df = 9"},
		{aCase("  noise = { \"engine.memory_gb\" = { sd = 0.1, df = 9 } }"), "4:13", "Metric has no noise", "t-test"},
		{aCase("  verdict = \"pass\""), "4:13", "Result is given", "Remove it"},
		{aCase("  expect_chosen = \"all\""), "4:19", "Feature without alternatives", "Remove"},
		{aCase("  given \"g\" {}"), "4:9", "Feature is not read here", "f"},
		{aCase("  given \"ff\" {}"), "4:9", "Unknown feature", `"f"`},
		{aCase("  levels = {}\n  given \"f\" {}"), "5:3", "Duplicate given", "already has a given block"},
		{"case \"c\" {\n  gate = phase.two\n  expect = \"pass\"\n  broken = \"smoke\"\n}\n", "4:12", "Whose value?", `given "g"`},
		{"case \"c\" {\n  gate = phase.two\n  expect = \"pass\"\n  given \"g\" {\n    accepted = true\n  }\n}\n", "5:16", "Accepted without a pass", "verdict"},
		{aCase("  launches = { \"chat.tg\" = { gain = var.gan } }"), "4:37", "Unknown variable", `"gain"`},
	} {
		cases, found := Bytes(loadCasePlan(t), "plan.mxtest.hcl", []byte(c.text))
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
		if d.Code == "" || d.Code == lang.OtherCode {
			t.Errorf("%q has no code", d.Summary)
		}
	}
}

func TestEmptyCasesInYAML(t *testing.T) {
	for _, text := range []string{"", "{}\n"} {
		_, found := Bytes(loadCasePlan(t), "plan.mxtest.yaml", []byte(text))
		if got := planstest.Text(found); !strings.Contains(got, "case: {what it shows:") || strings.Contains(got, "case \"what") {
			t.Errorf("%q: %s", text, got)
		}
	}
}

// TestCasesMakeLaunches: short forms expand to what they stand for.
func TestCasesMakeLaunches(t *testing.T) {
	cases, found := Bytes(loadCasePlan(t), "c.mxtest.hcl", []byte(aCase(`  launches = {
    "chat.tg"          = { base = 31.6, gain = var.gain + 0.1, spread = 0.01, launches = 8 }
    "chat.ttft.p99"    = { gain = 0.2 }
    "engine.memory_gb" = { base = 60, delta = -1 }
    "engine.crashes"   = { candidate = 0 }
    "chat.itl"         = { candidate = [1, 2, 3, null, 5, 6, 7, 8], requests = 10 }
  }`)))
	if !found.OK() {
		t.Fatal(planstest.Text(found))
	}
	got := map[string]GivenMetric{}
	for _, m := range cases[0].Given["f"].Launches {
		got[m.Address] = m
	}
	tg := got["chat.tg"]
	base, sd := logs(t, tg.Base)
	candidate, sd2 := logs(t, tg.Candidate)
	if len(tg.Base) != 8 || math.Abs(base-math.Log(31.6)) > 1e-12 || math.Abs(candidate-base-math.Log(1.2)) > 1e-12 || math.Abs(sd-0.01) > 1e-12 || math.Abs(sd2-0.01) > 1e-12 {
		t.Errorf("%v %v: mean %v and %v, sd %v and %v", len(tg.Base), len(tg.Candidate), base, candidate, sd, sd2)
	}
	for n := 2; n <= 8; n += 2 {
		if mean, _ := logs(t, tg.Base[:n]); math.Abs(mean-math.Log(31.6)) > 1e-12 {
			t.Errorf("the first %d have another mean: a look would see another gain", n)
		}
	}
	ttft := got["chat.ttft"]
	a, _ := logs(t, ttft.Base)
	b, _ := logs(t, ttft.Candidate)
	if ttft.Stat != "p99" || ttft.Requests != 300 || math.Abs(b-a-math.Log(0.8)) > 1e-12 || len(ttft.Base) != 8 {
		t.Errorf("of what is better lower, a gain is saved: %+v, %v", ttft, b-a)
	}
	if m := got["engine.memory_gb"]; *m.Base[0] != 60 || *m.Candidate[7] != 59 || m.Requests != 0 || m.Unit != "GB" {
		t.Errorf("memory hardly varies: %+v", m)
	}
	if m := got["engine.crashes"]; *m.Candidate[3] != 0 || m.Base != nil {
		t.Errorf("what is not given is missing: %+v", m)
	}
	if m := got["chat.itl"]; m.Requests != 10 || m.Values != 150 || m.Candidate[3] != nil || *m.Candidate[4] != 5 {
		t.Errorf("%+v", m)
	}
}

// TestStatisticsShareRequests: the statistics of a metric come from the same requests, so
// the 58 of a p95 count for the median beside it too.
func TestStatisticsShareRequests(t *testing.T) {
	cases, found := Bytes(loadCasePlan(t), "c.mxtest.hcl", []byte(aCase(`  launches = {
    "chat.ttft"     = { gain = 0.2 }
    "chat.ttft.p95" = { gain = 0.2, requests = 58 }
    "chat.tg"       = { gain = 0.2 }
  }`)))
	if !found.OK() {
		t.Fatal(planstest.Text(found))
	}
	want := []int{300, 58, 58} // by address
	for i, m := range cases[0].Given["f"].Launches {
		if m.Requests != want[i] || m.Values != want[i] {
			t.Errorf("%s %s: %d values of %d requests, want %d", m.Address, m.Stat, m.Values, m.Requests, want[i])
		}
	}
}

func logs(t *testing.T, list []*float64) (mean, sd float64) {
	t.Helper()
	for _, v := range list {
		mean += math.Log(*v) / float64(len(list))
	}
	for _, v := range list {
		sd += (math.Log(*v) - mean) * (math.Log(*v) - mean) / float64(len(list)-1)
	}
	return mean, math.Sqrt(sd)
}

// TestSpreadOut: odd numbers and single launches have the given mean and spread too.
func TestSpreadOut(t *testing.T) {
	for n := 1; n < 10; n++ {
		list := spreadOut(5, 0.02, n, true)
		mean, sd := logs(t, list)
		if math.Abs(mean-math.Log(5)) > 1e-12 || n > 1 && math.Abs(sd-0.02) > 1e-12 {
			t.Errorf("%d launches: mean %v, sd %v", n, math.Exp(mean), sd)
		}
	}
	for _, v := range spreadOut(0, 0.02, 3, false) {
		if *v != 0 {
			t.Errorf("nothing varies by %v", *v)
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
	res := load.Path(filepath.Join(dir, "plan.hcl"), planstest.Registry(), load.Options{})
	files, err := Files(res)
	if err != nil || len(files) != 2 || filepath.Base(files[0]) != "more.mxtest.yaml" || filepath.Base(files[1]) != "plan.mxtest.hcl" {
		t.Errorf("%v %v", files, err)
	}
	for _, name := range []string{"other.hcl", "mxtest.hcl", "more.mxtest.yaml"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if res := load.Path(dir, planstest.Registry(), load.Options{}); !res.OK() || len(res.Sources) != 1 {
		t.Errorf("the folder as a plan reads %d files: %v", len(res.Sources), res.Diagnostics)
	}
}

// TestUntestedGates: a gate needs a case that it passes and one that it fails.
func TestUntestedGates(t *testing.T) {
	res := loadCasePlan(t)
	gate := func(name, rest string) string {
		return "case \"" + name + "\" {\n  gate = phase.one\n" + rest + "\n}\n"
	}
	for _, c := range []struct {
		text, want string
	}{
		{"", "no case"},
		{gate("a", `expect = "pass"`), "no case that fails"},
		{gate("a", `expect = "fail"`), "no case that passes"},
		{gate("a", `expect = "invalid"`), "no case"},
		{gate("a", `expect = "pass"`) + gate("b", `expect = "fail"`), ""},
		{gate("a", `expect_rules = { r = "pass" }`) + gate("b", `expect_rules = { r = "fail" }`), ""},
	} {
		var cases []*Case
		if c.text != "" {
			var found *lang.Findings
			if cases, found = Bytes(res, "c.mxtest.hcl", []byte(c.text)); !found.OK() {
				t.Fatal(planstest.Text(found))
			}
		}
		if got := untested(res.Plan.Phase("one"), cases); got != c.want {
			t.Errorf("%s: %q, want %q", c.text, got, c.want)
		}
	}
	if got := UntestedGates(res.Plan, nil); strings.Join(got, " ") != "one two" {
		t.Errorf("%v", got)
	}
}

// FuzzCases checks that no text makes the reading of cases panic or hang, that
// each mistake can be shown, and that the plan can still be used.
func FuzzCases(f *testing.F) {
	f.Add([]byte(aCase(`  launches = { "chat.tg" = { base = [1, null, 3], candidate = 5, spread = 0.1 } }`)))
	f.Add([]byte(aCase(`  broken = "kernels"` + "\n" + `  noise = { "chat.ttft.p99" = { sd = 0.1, df = 9 } }`)))
	f.Add([]byte("case \"c\" {\n  gate = phase.two\n  given \"g\" {\n    verdict = \"pass\"\n  }\n  expect_rules = { both = \"fail\" }\n}\n"))
	f.Add([]byte(aCase(`  launches = { for m in ["chat.tg", "chat.ttft"] : m => { gain = 0.1, launches = 3 } }`)))
	res := loadCasePlan(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		start := time.Now()
		for _, name := range []string{"c.mxtest.hcl", "c.mxtest.yaml"} {
			cases, found := Bytes(res, name, text)
			if shown := planstest.Text(found); strings.Contains(shown, "Internal error") {
				t.Fatal(shown)
			}
			if _, err := json.Marshal(found.DiagnosticsJSON()); err != nil {
				t.Fatal(err)
			}
			for _, c := range cases {
				for _, g := range c.Given {
					for _, m := range g.Launches {
						for _, v := range append(append(m.Base, m.Candidate...), m.Root...) {
							if v != nil && (math.IsNaN(*v) || math.IsInf(*v, 0)) && found.OK() {
								t.Errorf("%s has a launch with %v", m.Address, *v)
							}
						}
					}
				}
			}
		}
		if took := time.Since(start); took > planstest.Hang {
			t.Fatalf("took %v", took)
		}
		if _, diags := res.Evaluate("var.gain"); diags.HasErrors() {
			t.Fatal(diags)
		}
	})
}
