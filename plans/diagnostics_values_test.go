package plans

import (
	"fmt"
	"strings"
	"testing"
)

func TestDiagnosticsShowTheValuesInvolved(t *testing.T) {
	const head = "plan \"p\" {}\nlocals {\n  n = -1\n  word = \"a long text that goes on and on and on, far longer than a line should be\"\n  list = [1, 2, 3]\n  map = { a = 1, b = 2 }\n}\n"
	for _, c := range []struct{ name, text, want string }{
		{"a number out of bounds", "workload \"w\" {\n prompt_tokens = 1\n output_tokens = 1\n requests = local.n\n}\n", "local.n is -1"},
		{"inside an expression", "workload \"w\" {\n prompt_tokens = 1\n output_tokens = 1\n requests = 3 * local.n + 1\n}\n", "local.n is -1"},
		{"an element of a list", "workload \"w\" {\n prompt_tokens = [1, local.n]\n output_tokens = 1\n}\n", "local.n is -1"},
		{"a long text", "workload \"w\" {\n prompt_tokens = local.word\n output_tokens = 1\n}\n", `local.word is "a long text that goes on and on and on, far longer than a l…"`},
		{"a list", "locals {\n x = local.list.a\n}\n", "local.list is [1, 2, 3]"},
		{"a map", "locals {\n x = local.map.c\n}\n", "local.map is a map with a, b"},
		{"a text between", "locals {\n x = \"is ${local.map}\"\n}\n", "local.map is a map with a, b"},
		{"a loop's own name", "locals {\n x = [for e in local.list : e.a]\n}\n", "e is 1"},
		{"a rule", "workload \"chat\" {\n prompt_tokens = 1\n output_tokens = 1\n}\nphase \"x\" {\n gate {\n  rule \"r\" {\n   expr = \"chat.tg.gain >= ${local.word}\"\n  }\n }\n}\n", `local.word is "a long`},
	} {
		res := loadText(head + c.text)
		var all []string
		for _, d := range res.DiagnosticsJSON() {
			for _, v := range d.Values {
				all = append(all, v.Name+" is "+v.Value)
			}
		}
		if !strings.Contains(strings.Join(all, "\n"), c.want) {
			t.Errorf("%s: %q is not among %q:\n%s", c.name, c.want, all, res.text())
		} else if !strings.Contains(res.text(), "│ "+c.want) {
			t.Errorf("%s: %q is not in\n%s", c.name, c.want, res.text())
		}
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	res := LoadBytes("plan.hcl", []byte(`plan "p" {}
variable "token" {
  type      = string
  sensitive = true
}
workload "w" {
  prompt_tokens = length(var.token) > 3 ? var.token : -1
  output_tokens = 1
}
`), testRegistry(), Options{Vars: map[string]string{"token": "hunter2-hunter2"}})
	if res.OK() {
		t.Fatal("the plan is accepted")
	}
	if s := res.text() + fmt.Sprint(res.DiagnosticsJSON()); strings.Contains(s, "hunter2") || !strings.Contains(s, "var.token is (sensitive)") {
		t.Error(s)
	}
}
