package plans

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// givenPlan is a plan with variables, and what it makes of them.
const givenPlan = `plan "p" {}
variable "key" {
  type      = string
  sensitive = true
}
variable "user" { default = "nobody" }
variable "text" { default = "" }
variable "sizes" {
  type    = list(number)
  default = []
}
variable "maybe" {
  type    = map(object({ a = number, b = optional(string, "x") }))
  default = null
}
variable "unused" { default = 1 }
locals { name = "${var.user}!" }
engine "embedded" "tiny" {
  EXPR
}
`

func TestInputsArePrivateWhereTheyMeetASecret(t *testing.T) {
	all := map[string]string{"MXFLOW_VAR_key": "correct horse", "MXFLOW_VAR_user": "kim", "MXFLOW_VAR_text": "some text", "HOST": "node7", "PASS": "battery"}
	for expr, want := range map[string]string{
		`env = { A = var.key, B = var.user }`:                                "var.key",
		`env = { A = "${var.user}:${var.key}", B = var.text }`:               "var.key var.user",
		`env = { A = "${local.name}:${var.key}" }`:                           "var.key var.user",
		`env = { A = sensitive(sha256(var.text)) }`:                          "var.key var.text",
		`env = { A = nonsensitive(sha256(var.key)), B = var.text }`:          "var.key",
		`env = { A = sensitive(env("PASS")), B = env("HOST") }`:              "env.PASS var.key",
		`env = { A = sensitive(upper(env(upper("pass")))), B = env("HOST")}`: "env.HOST env.PASS var.key",
		`args = [var.key, var.text]`:                                         "var.key",
		`args = concat([var.key], [var.text])`:                               "var.key var.text",
		`args = [for k in ["a"] : "${k}${var.key}${var.text}"]`:              "var.key var.text",
		`env = { A = var.user == "kim" ? var.key : var.text }`:               "var.key var.text var.user",
	} {
		res := LoadBytes("plan.hcl", []byte(strings.Replace(givenPlan, "EXPR", expr, 1)), testRegistry(), Options{Env: fakeEnv(all)})
		if !res.OK() {
			t.Errorf("%s: %s", expr, res.text())
			continue
		}
		in := res.Inputs()
		var private []string
		for name, is := range in.Private {
			if is {
				private = append(private, name)
			}
		}
		slices.Sort(private)
		if got := strings.Join(private, " "); got != want {
			t.Errorf("%s: private are %s, want %s", expr, got, want)
		}
		if in.Variables["user"] != `"kim"` || in.Variables["unused"] != "" {
			t.Errorf("%s: %v", expr, in.Variables)
		}
	}
}

// The recorded inputs make the same plan, whatever is given and set now; only what
// is private comes from now.
func TestALoadComesOutAsAnother(t *testing.T) {
	src := strings.Replace(givenPlan, "EXPR", `env = { A = jsonencode([var.sizes, var.maybe, var.unused, var.text]), B = env("HOST", "none"), C = env("LATER", "none"), K = var.key }`, 1)
	then := map[string]string{"MXFLOW_VAR_key": "correct horse", "MXFLOW_VAR_text": "${a}\n\"b\" %{c} ä", "HOST": "node7"}
	load := func(opts Options) *Result {
		t.Helper()
		res := LoadBytes("plan.hcl", []byte(src), testRegistry(), opts)
		if !res.OK() {
			t.Fatal(res.text())
		}
		return res
	}
	first := load(Options{Env: fakeEnv(then), Inputs: []Given{
		{Var: `sizes=[1, 0.1, 12345678901234567890.123456789]`}, {Var: `maybe={ x = { a = 1 }, "y z" = { a = 2, b = "q" } }`},
	}})
	in := first.Inputs()
	as := &Inputs{Variables: maps.Clone(in.Variables), Env: in.Env, Private: in.Private}
	delete(as.Variables, "key")
	now := map[string]string{"MXFLOW_VAR_key": "correct horse", "MXFLOW_VAR_text": "other", "MXFLOW_VAR_unused": "7", "HOST": "node8", "LATER": "set"}
	again := load(Options{As: as, Env: fakeEnv(now), Inputs: []Given{{Var: "sizes=[9]"}, {Var: "later=1"}}})
	if first.Plan.Digest() != again.Plan.Digest() {
		t.Errorf("%v\n%v", first.Plan.Engines[0].Env, again.Plan.Engines[0].Env)
	}
	if got := again.Plan.Engines[0].Env["K"]; got != "correct horse" {
		t.Errorf("the key is %q", got)
	}
	other := load(Options{As: &Inputs{Private: map[string]bool{"var.key": true}}, Env: fakeEnv(now)})
	if got := other.Plan.Engines[0].Env; got["A"] != `[[],null,1,""]` || got["B"] != "none" {
		t.Errorf("defaults that were defaults: %v", got)
	}
	suites := "workload \"w\" {\n  prompt_tokens = 8\n  output_tokens = 8\n}\nsuite \"quick\" { workloads = [workload.w] }\n"
	if res := LoadBytes("plan.hcl", []byte(src+suites), testRegistry(), Options{As: &Inputs{Suite: "quick", Private: in.Private}, Suite: "none", Env: fakeEnv(now)}); res.Plan.Suite != "quick" || res.Inputs().Suite != "quick" {
		t.Errorf("the suite is %q: %s", res.Plan.Suite, res.text())
	}
	broken := LoadBytes("plan.hcl", []byte(src), testRegistry(), Options{As: &Inputs{Variables: map[string]string{"sizes": "[for x in [1] : x]"}, Private: as.Private}, Env: fakeEnv(now)})
	if broken.OK() || !strings.Contains(broken.text(), "the record of the run") {
		t.Errorf("a record that holds more than values: %s", broken.text())
	}
}

// Files that file() reads belong to the plan, except for those that hold secrets.
func TestFilesThatWereRead(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"plan.hcl": "plan \"p\" {}\nengine \"embedded\" \"tiny\" {\n  env = { A = file(\"a.txt\"), B = sensitive(trimspace(file(\"key.pem\"))), C = templatefile(\"t.tpl\", { a = 1 }) }\n}\n",
		"a.txt":    "open", "key.pem": "secret\n", "t.tpl": "a is ${a}",
	})
	res := Load(dir, testRegistry(), Options{})
	if !res.OK() {
		t.Fatal(res.text())
	}
	var names []string
	for name := range res.ReadFiles() {
		names = append(names, name[len(dir)+1:])
	}
	if slices.Sort(names); strings.Join(names, " ") != "a.txt t.tpl" {
		t.Error(names)
	}
}
