package plans

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

const secretPlan = `plan "p" {}
variable "token" {
  type      = string
  sensitive = true
}
variable "db" {
  type      = object({ user = string, password = string, tls = bool })
  sensitive = true
  default   = null
}
locals {
  header = "Bearer ${var.token}"
  parts  = split("-", var.token)
  first  = local.parts[0]
}
engine "embedded" "tiny" {
  env = {
    AUTH  = local.header
    FIRST = local.first
    SET   = "${nonsensitive(var.token != "")}"
    MADE  = sensitive(env("FROM_ENV"))
    PASS  = try(var.db.password, "")
  }
  args = ["--token=${var.token}"]
}
`

func loadSecret(token string) *Result {
	return LoadBytes("plan.hcl", []byte(secretPlan), testRegistry(), Options{
		Env:    fakeEnv(map[string]string{"MXFLOW_VAR_token": token, "FROM_ENV": "from the environment"}),
		Inputs: []Given{{Var: `db={ user = "bob", password = "pass word", tls = true }`}},
	})
}

func TestSecretsReachTheEngineAndNothingElse(t *testing.T) {
	res := loadSecret("first-second")
	if !res.OK() {
		t.Fatal(res.text())
	}
	e := res.Plan.Engine("embedded.tiny")
	if e.Env["AUTH"] != "Bearer first-second" || e.Env["SET"] != "true" || e.Env["PASS"] != "pass word" || e.Args[0] != "--token=first-second" {
		t.Errorf("%+v", e)
	}
	for _, want := range []string{"first-second", "Bearer first-second", "first", "second", "--token=first-second", "from the environment", "pass word"} {
		if !slices.Contains(res.Plan.Secrets(), want) {
			t.Errorf("%q is not among the secrets %q", want, res.Plan.Secrets())
		}
	}
	if slices.Contains(res.Plan.Secrets(), "true") {
		t.Error("true is a secret")
	}
	vars, err := json.Marshal(res.Plan.Variables)
	if err != nil || strings.Contains(string(vars), "first") || !strings.Contains(string(vars), `"Sensitive":true`) {
		t.Errorf("%s %v", vars, err)
	}
	if other := loadSecret("another-token-entirely"); other.Plan.Digest() != res.Plan.Digest() {
		t.Error("the digest gives the secret away to whoever tries values")
	}
}

func TestMessagesDoNotShowSecrets(t *testing.T) {
	for _, body := range []string{
		`validation {
    condition     = length(var.token) > 100
    error_message = "${var.token} is too short."
  }`,
		`type = number`,
		`type = list(string)`,
		`validation {
    condition     = tonumber(var.token) > 1
    error_message = "not a number"
  }`,
		`validation {
    condition     = var.token.missing
    error_message = "x"
  }`,
	} {
		src := "plan \"p\" {}\nvariable \"token\" {\n  sensitive = true\n  " + body + "\n}\nlocals {\n  a = jsondecode(var.token)\n  b = file(var.token)\n  c = { x = 1 }[var.token]\n  d = regex(var.token, \"(\")\n}\n"
		res := LoadBytes("plan.hcl", []byte(src), testRegistry(), Options{Env: fakeEnv(map[string]string{"MXFLOW_VAR_token": "(hunter2hunter2"})})
		text, err := json.Marshal(res.DiagnosticsJSON())
		if err != nil || res.OK() {
			t.Errorf("%v, ok %v", err, res.OK())
		}
		if shown := res.text() + string(text); strings.Contains(shown, "hunter2") {
			t.Errorf("%s\nshows the secret:\n%s", body, shown)
		}
	}
}
