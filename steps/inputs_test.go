package steps

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/steps/variant"
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
		"MXFLOW_VAR_key": "correct horse", "MXFLOW_VAR_hf_token": "abcdef", "MXFLOW_VAR_hub": "ghijkl",
		"MXFLOW_VAR_part":  "correct",
		"MXFLOW_VAR_whole": "x correct horse x", "MXFLOW_VAR_threads": "8", "HOST": "node7", "MY_SECRET": "mnopqr",
	}
	loaded := load.Bytes("plan.hcl", []byte(src), Registry(), load.Options{Env: func(name string) (string, bool) {
		v, ok := env[name]
		return v, ok
	}})
	in, err := InputsOf(loaded, func(text string) (string, error) { return "mark of " + runtime.Digest(text), nil })
	must.Do(t, err)
	if got := strings.Join(slices.Sorted(maps.Keys(in.Sealed)),
		" "); got != "env.MY_SECRET var.hf_token var.hub var.key var.part var.whole" {
		t.Errorf("sealed are %s", got)
	}
	if !maps.Equal(in.Variables, map[string]string{"threads": `"8"`}) ||
		!maps.Equal(in.Env, map[string]string{"HOST": "node7"}) {
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
		"a.txt": "hf_of_the_hub\n", "b.json": `{"user": "kim", "pass": "pass-of-the-store"}`, "c.txt": "colon-of-kim",
		"d.env": "HOST=here\nWORD=word-of-many\n",
		"e.txt": "of_th", "f.txt": "abc\n", "g.txt": "given \"sensitive\" one", "hf-token.txt": "by its name",
		"server.key": "by its ending",
		"unit.txt":   "tok/s\n", "keys.txt": "no secret at all", "empty.txt": "",
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
		must.Write(t, filepath.Join(dir, name), text)
	}
	plan := filepath.Join(dir, "plan.hcl")
	must.Write(t, plan, src)
	loaded := load.Path(plan, Registry(), load.Options{})
	if read := loaded.ReadFiles(); len(read) != len(files)-1 {
		t.Fatalf("read are %v: %v", slices.Sorted(maps.Keys(read)), loaded.Diagnostics)
	}
	var kept []string
	for name := range FilesOf(loaded) {
		kept = append(kept, filepath.Base(name))
	}
	slices.Sort(kept)
	must.Equal(t, "kept", strings.Join(kept, " "), "empty.txt keys.txt unit.txt")
}

// TestDatasetsAndSuitesOfRealLevels: what the real registry adds to the language.
func TestDatasetsAndSuitesOfRealLevels(t *testing.T) {
	dir := t.TempDir()
	must.Write(t, filepath.Join(dir, "bad.jsonl"), "{\"prompt\": \"a\"}\n{\"promt\": \"b\"}\n")
	const head = "plan \"p\" {}\nworkload \"chat\" {\n  prompt_tokens = 8\n  output_tokens = 8\n}\nsuite \"all\" {\n " +
		" workloads = [workload.chat]\n}\n"
	level := func(body string) string {
		return head + "protocol \"standard\" {\n  level \"benchmark\" {\n" + body + "\n  }\n}\n"
	}
	for src, want := range map[string]string{
		level("suite = suite.all"):                              "",
		level("workloads = [workload.chat]"):                    "",
		level("suite = suite.all\nworkloads = [workload.chat]"): "Conflicting arguments",
		level("suite = suite.al"):                               "Unknown suite",
		level("suite = workload.chat"):                          "Wrong kind of reference",
		level("launches = 3"):                                   "Missing workloads",
		head + "workload \"d\" {\n  output_tokens = 4\n  dataset {\n    file = \"bad.jsonl\"\n  }\n}\n": "bad.jsonl:2",
		level("suite = suite.all") +
			"engine \"command\" \"c\" {\n  process {\n    command = [\"true\"]\n  }\n  metric \"s\" {\n    jq = " +
			"\".s\"\n    unit = \"s\"\n    better = \"lower\"\n  }\n}\nbaseline {\n  engine = engine.command.c\n " +
			" protocol = protocol.standard\n}\n": "Workloads for a command",
	} {
		res := load.Bytes(filepath.Join(dir, "plan.hcl"), []byte(src), Registry(), load.Options{})
		errs := res.Diagnostics.Errs()
		switch {
		case want == "" && len(errs) == 0:
		case want == "" || len(errs) != 1 || !strings.Contains(errs[0].Error(), want):
			t.Errorf("%s\ngot %v, want %q", src, errs, want)
		}
	}
}

const commandPlan = `
plan "c" {}
engine "openai" "own" {
  args = ["--all"]
  process {
    command = ["./old", "--port", "{port}"]
    port    = 8123
  }
}
engine "openai" "boxed" {
  docker { image = "x" }
}
knob "build" {
  default = "old"
  value "old" {}
  value "new" {
    command = ["new/serve", "{port}"]
    args    = ["--more"]
  }
}
protocol "p" {
  level "smoke" { pattern = "." }
}
baseline {
  engine   = engine.openai.own
  protocol = protocol.p
}
phase "one" {
  feature "new" {
    set = { build = "new" }
    criterion "c" { rule = "levels.smoke == 'pass'" }
  }
}
`

// A knob's value may be another program: it takes the place of the command, and
// what is appended to the command is appended to it.
func TestKnobCommand(t *testing.T) {
	res := load.Bytes("plan.hcl", []byte(commandPlan), Registry(), load.Options{})
	if !res.OK() {
		t.Fatal(res.Diagnostics.Error())
	}
	l := &variant.Resolver{Plan: res.Plan}
	for value, want := range map[string][]string{
		"old": {"./old", "--port", "{port}", "--all"},
		"new": {"new/serve", "{port}", "--all", "--more"},
	} {
		v, err := l.Resolve(nil, "x", "openai.own", map[string]string{"build": value})
		if err != nil || !slices.Equal(v.Spec.Command, want) || v.Spec.Port != 8123 {
			t.Errorf("%s: %q, port %d (%v); want %q", value, v.Spec.Command, v.Spec.Port, err, want)
		}
	}
	_, err := l.Resolve(nil, "x", "openai.boxed", map[string]string{"build": "new"})
	if err == nil || !strings.Contains(err.Error(), "is not started as a process") {
		t.Errorf("a command for a container: %v", err)
	}
}

// A server that somebody else runs has no command to replace.
func TestKnobCommandCannotReachAnEndpoint(t *testing.T) {
	text := strings.Replace(commandPlan,
		"  args = [\"--all\"]\n  process {\n    command = [\"./old\", \"--port\", \"{port}\"]\n    port    = 8123\n  }",
		"  endpoint {\n    url = \"http://localhost:8000\"\n  }", 1)
	res := load.Bytes("plan.hcl", []byte(text), Registry(), load.Options{})
	if res.OK() || !strings.Contains(res.Diagnostics.Error(), "args and command of value") {
		t.Errorf("a command for an endpoint: %v", res.Diagnostics.Error())
	}
}
