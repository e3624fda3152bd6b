package load

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/plans/planstest"
)

func TestDiagnosticsForPeople(t *testing.T) {
	res := loadText("plan \"p\" {}\nphase \"build\" {\n\tafter = [phase.biuld]\n\tgate {}\n}\n")
	const want = `Error: Unknown phase

  on plan.hcl line 3, in phase "build":
   3: 	after = [phase.biuld]

There is no phase.biuld. Did you mean
"build"?
[unknown-reference at plan.hcl:3:11]

Error: Gate without rules

  on plan.hcl line 4, in phase "build":
   4: 	gate {}

A gate without rules would always open.
Add: rule "what must hold" { expr = "…"
}.
[gate-without-rules at plan.hcl:4:2]

`
	var b strings.Builder
	if err := res.WriteDiagnostics(&b, 40, false); err != nil {
		t.Fatal(err)
	}
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	var colored strings.Builder
	if err := res.WriteDiagnostics(&colored, 40, true); err != nil || !strings.Contains(colored.String(), "\x1b[1;4mphase.biuld\x1b[0m") {
		t.Errorf("%v\n%s", err, colored.String())
	}
}

func TestDiagnosticsForPrograms(t *testing.T) {
	res := loadText("plan \"p\" {\n  summary = var.x\n}\n")
	got, err := json.Marshal(res.DiagnosticsJSON())
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"severity":"error","code":"unknown-reference","summary":"Unknown variable","detail":"There is no var.x. The plan declares no variable.",` +
		`"file":"plan.hcl","line":2,"column":13,"end_line":2,"end_column":18,"snippet":"  summary = var.x"}]`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if empty, _ := json.Marshal(loadText("plan \"p\" {}\n" + anEngine).DiagnosticsJSON()); string(empty) != "[]" {
		t.Errorf("no diagnostics encode as %s", empty)
	}
}

// TestDetailsNameTheWholeStory checks details where the summary alone does not help.
func TestDetailsNameTheWholeStory(t *testing.T) {
	for path, want := range map[string]string{
		"phase_cycle":         "phase.a (after) → phase.c (after_decided) → phase.b (after) → phase.a",
		"feature_cycle":       "feature.a → feature.b → feature.a",
		"feature_phase_cycle": "phase.one (feature.a builds on feature.b) → phase.two (after) → phase.one",
		"local_cycle":         "local.a → local.b → local.c → local.a",
		"workload_names":      `A rule would read "full-pipe" as a subtraction. Write "full_pipe".`,
		"workload_twice":      `The workload "chat" is already declared on line 2.`,
		"engine_kind":         `There is no engine kind "embeded". Did you mean "embedded"?`,
		"feature_set":         `If you meant the text, write it in quotes: "on".`,
		"phase_order":         "Write phase.b, without quotes.",
		"feature_unproven":    `cache = "on" (feature.cached) has none`,
		"root_unknown_block":  `Did you mean "workload"?`,
		"feature_criteria":    `Expected in criterion "typo": rule, expr.`,
	} {
		res := Path("testdata/invalid/"+path+".hcl", planstest.Registry(), Options{})
		var details string
		for _, d := range res.Diagnostics {
			details += d.Detail + "\n"
		}
		if !strings.Contains(details, want) {
			t.Errorf("%s: no %q in\n%s", path, want, details)
		}
	}
}

func TestDiagnosticsShowTheValuesInvolved(t *testing.T) {
	res := loadText("plan \"p\" {}\nlocals {\n  list = [1, 2, 3]\n  text = \"is ${local.list}\"\n}\n")
	if s := planstest.Text(&res.Findings); !strings.Contains(s, "with local.list as tuple with 3 elements.") {
		t.Error(s)
	}
}

// TestOneLineIsShown: of a mistake that concerns many lines, or only the end of one.
func TestOneLineIsShown(t *testing.T) {
	for text, want := range map[string]string{
		"plan \"p\" {}\nworkload \"w\" {\n  prompt_tokens = [\n    1,\n    true,\n  ]\n  output_tokens = {\n    a = 1\n  }\n}\n": "   7:   output_tokens = {\n\n",
		"plan \"p\" {}\nlocals {\n  a = 1 +\n}\n":               "   3:   a = 1 +\n\n",
		"plan \"p\" {}\nlocals {\n  a = \"\x1b[2J\u009b\"\n}\n": "  on plan.hcl line 3:\n  (source code not available)\n\n",
	} {
		if got := planstest.Text(&loadText(text).Findings); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	res := Bytes("plan.hcl", []byte(`plan "p" {}
variable "token" {
  type      = string
  sensitive = true
}
workload "w" {
  prompt_tokens = length(var.token) > 3 ? var.token : -1
  output_tokens = var.token + 1
  output_tokens = 1
}
`), planstest.Registry(), Options{Vars: map[string]string{"token": "hunter2-hunter2"}})
	if res.OK() {
		t.Fatal("the plan is accepted")
	}
	if s := planstest.Text(&res.Findings) + fmt.Sprint(res.DiagnosticsJSON()); strings.Contains(s, "hunter2") {
		t.Error(s)
	}
}
