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
  on plan.hcl:3:11
    3 │ 	after = [phase.biuld]
      │ 	         ^^^^^^^^^^^
  There is no phase.biuld. Did you mean
  "build"?

Error: Gate without rules
  on plan.hcl:4:2
    4 │ 	gate {}
      │ 	^^^^
  A gate without rules would always
  open. Add: rule "what must hold" {
  expr = "…" }.
`
	var b strings.Builder
	if err := res.WriteDiagnostics(&b, 40, false); err != nil {
		t.Fatal(err)
	}
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	var colored strings.Builder
	if err := res.WriteDiagnostics(&colored, 40, true); err != nil || !strings.Contains(colored.String(), "\x1b[31;1mError:\x1b[0m") {
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
	const head = "plan \"p\" {}\nlocals {\n  n = -1\n  word = \"a long text that goes on and on and on, far longer than a line should be\"\n  list = [1, 2, 3]\n  map = { a = 1, b = 2 }\n}\n"
	for _, c := range []struct{ name, text, want string }{
		{"a list", "locals {\n x = local.list.a\n}\n", "local.list is a list of 3 elements"},
		{"a map", "locals {\n x = local.map.c\n}\n", "local.map is a map with a, b"},
		{"a text between", "locals {\n x = \"is ${local.map}\"\n}\n", "local.map is a map with a, b"},
		{"a loop's own name", "locals {\n x = [for e in local.list : e.a]\n}\n", "e is 1"},
	} {
		res := loadText(head + c.text)
		var all []string
		for _, d := range res.DiagnosticsJSON() {
			for _, v := range d.Values {
				all = append(all, v.Name+" is "+v.Value)
			}
		}
		if !strings.Contains(strings.Join(all, "\n"), c.want) {
			t.Errorf("%s: %q is not among %q:\n%s", c.name, c.want, all, planstest.Text(&res.Findings))
		} else if !strings.Contains(planstest.Text(&res.Findings), "│ "+c.want) {
			t.Errorf("%s: %q is not in\n%s", c.name, c.want, planstest.Text(&res.Findings))
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
	if s := planstest.Text(&res.Findings) + fmt.Sprint(res.DiagnosticsJSON()); strings.Contains(s, "hunter2") || !strings.Contains(s, "var.token is (sensitive)") {
		t.Error(s)
	}
}
