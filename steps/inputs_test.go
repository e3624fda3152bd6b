package steps

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/try"
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
	try.OK(t, err)
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

// A file of which something ends up in a secret variable is in no record, however the
// plan takes it out of the file.
func TestFilesOfHaveNoSecrets(t *testing.T) {
	files := map[string]string{
		"a.txt": "hf_of_the_hub\n", "b.json": `{"user": "kim", "pass": "pass-of-the-store"}`, "c.txt": "colon-of-kim", "d.env": "HOST=here\nWORD=word-of-many\n",
		"e.txt": "of_th", "f.txt": "abc\n", "g.txt": "given \"sensitive\" one", "hf-token.txt": "by its name", "server.key": "by its ending",
		"unit.txt": "tok/s\n", "keys.txt": "no secret at all", "empty.txt": "",
	}
	const src = `plan "s" {}
locals { plain = [file("e.txt"), file("hf-token.txt"), file("server.key"), file("unit.txt"), file("keys.txt"), file("empty.txt")] }
engine "embedded" "tiny" {
  env = {
    HF_TOKEN   = trimspace(file("a.txt"))
    STORE_AUTH = "Basic ${jsondecode(file("b.json")).pass}"
    PROXY_AUTH = base64encode("kim:${file("c.txt")}")
    C_AUTH     = base64encode(file("c.txt"))
    D_SECRET   = "Bearer ${split("=", split("\n", file("d.env"))[1])[1]}"
    PIN_KEY    = trimspace(file("f.txt"))
    G          = sensitive(file("g.txt"))
    PLAIN      = join(" ", local.plain)
  }
}
`
	dir := t.TempDir()
	for name, text := range files {
		try.Write(t, filepath.Join(dir, name), text)
	}
	plan := filepath.Join(dir, "plan.hcl")
	try.Write(t, plan, src)
	loaded := load.Path(plan, Registry(), load.Options{})
	if read := loaded.ReadFiles(); len(read) != len(files)-1 {
		t.Fatalf("read are %v: %v", slices.Sorted(maps.Keys(read)), loaded.Diagnostics)
	}
	var kept []string
	for name := range FilesOf(loaded) {
		kept = append(kept, filepath.Base(name))
	}
	slices.Sort(kept)
	if got := strings.Join(kept, " "); got != "empty.txt keys.txt unit.txt" {
		t.Errorf("kept are %s", got)
	}
}
