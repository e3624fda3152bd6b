package steps

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
)

// What a run records of its plan's inputs has no secret in it, be it declared one, by
// its name, or by where it ends up.
func TestInputsOfHaveNoSecrets(t *testing.T) {
	const src = `plan "s" {}
variable "key" {
  type      = string
  sensitive = true
}
variable "hf_token" { default = "" }
variable "hub" { default = "" }
variable "part" { default = "" }
variable "whole" { default = "" }
variable "threads" { default = "1" }
engine "embedded" "tiny" {
  env = { A = var.key, HF_TOKEN = "hf_${var.hub}", THREADS = var.threads, HOST = env("HOST"), B = env("MY_SECRET") }
}
`
	env := map[string]string{
		"MXFLOW_VAR_key": "correct horse", "MXFLOW_VAR_hf_token": "abcdef", "MXFLOW_VAR_hub": "ghijkl", "MXFLOW_VAR_part": "correct",
		"MXFLOW_VAR_whole": "x correct horse x", "MXFLOW_VAR_threads": "8", "HOST": "node7", "MY_SECRET": "mnopqr",
	}
	loaded := load.Bytes("plan.hcl", []byte(src), Registry(), load.Options{Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }})
	in, err := InputsOf(loaded, func(text string) (string, error) { return "mark of " + runtime.Digest(text), nil })
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(slices.Sorted(maps.Keys(in.Sealed)), " "); got != "env.MY_SECRET var.hf_token var.hub var.key var.part var.whole" {
		t.Errorf("sealed are %s", got)
	}
	if !maps.Equal(in.Variables, map[string]string{"threads": `"8"`}) || !maps.Equal(in.Env, map[string]string{"HOST": "node7"}) {
		t.Errorf("%v, %v", in.Variables, in.Env)
	}
	if in.Sealed["var.key"] == in.Sealed["var.part"] {
		t.Error("two values have one mark")
	}
}
