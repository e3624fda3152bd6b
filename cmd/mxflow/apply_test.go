package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/cmd/mxflow/internal/scenario"
)

// leakyPlan hands a secret to whatever may: a step that prints it and fails,
// and an engine that prints it and dies.
const leakyPlan = `
plan "leaky" {
  summary = "secrets stay where they belong"
}
variable "token" {
  type      = string
  sensitive = true
}
variable "user" {
  default = "bob"
}
locals {
  header = "Bearer ${var.token}"
  pair   = base64encode("${var.user}:${var.token}")
}
engine "openai" "sh" {
  process {
    command = ["sh", "-c", "printenv; printf '%s\n' \"$1\"; printf '%s' \"u:$1\" | base64; exit 7", "sh", var.token]
  }
  env   = { AUTH = local.header, PAIR = local.pair }
  args  = ["--token=${var.token}", urlencode(var.token), jsonencode({ t = var.token })]
  ready { timeout = "5s" }
}
protocol "quick" {
  level "smoke" {
    prompt = "my token is ${var.token}"
    expect = "Paris"
  }
}
knob "k" {
  default = "off"
  value "off" {}
  value "on" {
    env = { OTHER = upper(var.token) }
  }
}
baseline {
  engine   = engine.openai.sh
  protocol = protocol.quick
}
phase "steps" {
  step "exec" "leak" {
    command = ["sh", "-c", "printenv; echo \"$T\" >&2; echo \"${"$"}T\" | sed 's/^/x/'; exit 3"]
    env     = { T = var.token }
  }
}
`

// TestSecretsAreNowhere applies a plan that leaks a secret wherever it can, and
// looks for it in everything that mxflow keeps and prints.
func TestSecretsAreNowhere(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{
		"hf_0123456789abcdef", `pa"ss\wörd <&>%41/+=`, "1234", "two lines of it\nand another one",
	} {
		dir := t.TempDir()
		plan := filepath.Join(dir, "plan.hcl")
		if err := os.WriteFile(plan, []byte(leakyPlan), 0o644); err != nil {
			t.Fatal(err)
		}
		var printed bytes.Buffer
		mxflow := func(wantExit int, args ...string) {
			cmd := exec.Command(scenario.Program, args...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "MXFLOW_VAR_token="+secret)
			out, _ := cmd.CombinedOutput()
			if got := cmd.ProcessState.ExitCode(); got != wantExit {
				t.Errorf("%v: exit status %d\n%s", args, got, out)
			}
			printed.Write(out)
		}
		mxflow(0, "validate", "plan.hcl")
		mxflow(4, "apply", "plan.hcl")
		mxflow(4, "apply", "--json", "plan.hcl")
		mxflow(4, "apply", "--rerun", "all", "--var", "token="+secret, "plan.hcl")
		for _, args := range [][]string{
			{"show", "latest"},
			{"show", "--json", "latest"},
			{"audit"},
			{"audit", "--json"},
			{"status"},
			{"status", "--json"},
			{"report"},
			{"report", "--json"},
			{"audit", "verify"},
			{"plan", "plan.hcl"},
			{"plan", "--json", "plan.hcl"},
		} {
			mxflow(0, args...)
		}
		mxflow(1, "validate", "--var", "user=${", "--var", "token=", "--var", "tokn="+secret, "plan.hcl")
		mustNotHold(t, "output", printed.Bytes(), secret)
		files := 0
		err := filepath.WalkDir(filepath.Join(dir, ".mxflow"), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			files++
			data, err := os.ReadFile(path)
			mustNotHold(t, path, data, secret)
			return err
		})
		if err != nil || files < 5 {
			t.Errorf("%d files, %v", files, err)
		}
		if !bytes.Contains(printed.Bytes(), []byte("[redacted]")) {
			t.Errorf("nothing leaked, so nothing was tested:\n%s", printed.Bytes())
		}
	}
}

// mustNotHold looks for a secret as it is and as programs write it.
func mustNotHold(t *testing.T, where string, data []byte, secret string) {
	t.Helper()
	quoted, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{
		secret, string(quoted[1 : len(quoted)-1]), strings.Trim(strconv.Quote(secret), `"`), url.QueryEscape(secret),
		base64.StdEncoding.EncodeToString([]byte(secret)), base64.StdEncoding.EncodeToString([]byte("bob:" + secret)),
	} {
		if at := bytes.Index(data, []byte(form)); at >= 0 && len(form) >= 4 {
			// A short number may be part of a time.
			if secret == "1234" && form == secret && !bytes.Contains(data, []byte("token="+form)) && !bytes.Contains(data, []byte("Bearer "+form)) {
				continue
			}
			t.Errorf("%s holds %q: …%q…", where, form, data[max(0, at-60):min(len(data), at+len(form)+60)])
		}
	}
}
