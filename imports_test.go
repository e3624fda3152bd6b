// Package mxflow has no code: this folder holds the rooms and the rules for who
// may import whom.
package mxflow

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/mxflow/mxflow/"

// allowed lists, for each of our packages, those of ours that it may import
// directly, as docs/internals/decisions.md explains. The command may import everything.
var allowed = map[string][]string{
	"internal/flock":           {},
	"internal/shell":           {},
	"engine/measure":           {},
	"engine/openai":            {"engine/logprob", "engine/measure", "plans/redact"},
	"engine/gpu":               {"engine/logscan", "internal/flock"},
	"engine/metadata":          {"engine/gpu", "engine/logscan", "plans/redact"},
	"engine/limit":             {"engine/measure", "engine/profile/symbol"},
	"engine/logprob":           {},
	"engine/load/prompt":       {"engine/measure", "engine/openai"},
	"engine/load/coherence":    {"engine/load/prompt", "engine/load/work", "engine/measure"},
	"engine/load/work":         {"engine/measure"},
	"engine/load":              {"engine/load/prompt", "engine/measure", "engine/openai"},
	"engine/telemetry":         {"engine/gpu", "engine/logscan", "engine/machine", "engine/measure"},
	"engine/measure/imported":  {"engine/measure"},
	"engine/embedded":          {},
	"engine/logscan":           {"plans/redact"},
	"engine/kinds":             {"engine/logscan"},
	"engine/machine":           {"engine/gpu"},
	"engine":                   {"engine/kinds", "engine/logscan", "engine/source"},
	"engine/source":            {"engine/machine"},
	"engine/profile":           {"engine/profile/symbol"},
	"engine/profile/symbol":    {},
	"engine/profile/read":      {"engine/profile"},
	"engine/profile/host":      {"engine/profile"},
	"engine/roofline":          {"engine/limit", "engine/profile", "engine/profile/symbol"},
	"engine/ready":             {"engine", "engine/kinds", "engine/logscan"},
	"engine/observe":           {"engine", "engine/kinds", "engine/logscan"},
	"engine/process":           {"engine", "engine/kinds", "engine/logscan", "engine/machine", "engine/ready"},
	"engine/endpoint":          {"engine", "engine/kinds", "engine/logscan", "engine/process", "engine/ready"},
	"engine/git":               {},
	"engine/enginetest":        {"engine"},
	"engine/enginetest/cheat":  {"engine/load/prompt"},
	"engine/docker":            {"engine", "engine/kinds", "engine/logscan", "engine/machine", "engine/process", "engine/ready", "plans/redact"},
	"engine/docker/dockertest": {"engine/docker", "engine/enginetest"},
	"gates/verdict/code":       {},
	"gates/verdict":            {"gates/stats", "gates/verdict/code"},
	"gates/stats":              {},
	"gates":                    {"engine/measure", "gates/stats", "gates/verdict", "gates/verdict/code", "plans"},
	"plans/yamlbody":           {},
	"plans/redact":             {},
	"plans":                    {"engine/measure", "engine/measure/imported", "gates/verdict", "plans/redact"},
	"plans/lang":               {"plans", "plans/redact", "plans/yamlbody"},
	"plans/seal":               {"plans"},
	"plans/rules":              {"engine/measure", "gates/verdict", "plans", "plans/lang"},
	"plans/eval":               {"plans", "plans/lang", "plans/redact", "plans/yamlbody"},
	"plans/lint":               {"engine/measure", "plans", "plans/eval", "plans/lang", "plans/rules"},
	"plans/load":               {"engine/measure", "engine/measure/imported", "gates/verdict", "plans", "plans/eval", "plans/lang", "plans/lint", "plans/redact", "plans/rules"},
	"plans/planstest":          {"gates/stats", "plans", "plans/lang"},
	"runtime/signing":          {},
	"runtime/ledger":           {"engine/measure", "gates/verdict", "gates/verdict/code", "plans"},
	"runtime/store":            {"engine/measure", "gates/verdict", "gates/verdict/code", "internal/flock", "runtime/ledger"},
	"runtime/report/page":      {"engine/measure", "engine/profile", "gates/stats", "gates/verdict", "runtime", "runtime/ledger", "runtime/report", "runtime/store"},
	"runtime/report":           {"engine/measure", "engine/profile", "gates", "gates/stats", "gates/verdict", "gates/verdict/code", "internal/shell", "runtime/ledger", "runtime/store"},
	"runtime/report/ci":        {"gates", "gates/verdict", "gates/verdict/code", "internal/shell", "runtime/ledger", "runtime/report", "runtime/store"},
	"runtime/report/tree":      {"engine/measure", "engine/profile", "gates/stats", "gates/verdict", "plans", "runtime/ledger", "runtime/report", "runtime/store"},
	"runtime/export":           {"engine/measure", "runtime/ledger", "runtime/report", "runtime/store"},
	"runtime":                  {"gates/verdict", "gates/verdict/code", "plans", "runtime/ledger"},
	"steps/variant":            {"engine", "engine/docker", "engine/endpoint", "engine/git", "engine/kinds", "engine/logscan", "engine/measure", "engine/observe", "engine/source", "gates/verdict", "gates/verdict/code", "plans", "plans/lang", "plans/redact", "runtime", "runtime/ledger"},
	"steps/ab": {
		"engine/endpoint", "engine/kinds", "engine/logscan", "engine/measure", "gates/stats", "gates/verdict", "gates/verdict/code", "internal/shell",
		"plans", "plans/redact", "runtime", "runtime/ledger", "runtime/report", "runtime/store",
	},
	"steps/apply": {
		"engine", "engine/docker", "engine/embedded", "engine/endpoint", "engine/gpu", "engine/machine", "engine/process", "gates/stats", "gates/verdict", "gates/verdict/code",
		"plans", "plans/lang", "plans/load", "plans/redact", "runtime", "runtime/ledger", "runtime/store", "steps", "steps/decide", "steps/remote", "steps/launch", "steps/variant",
	},
	"steps/work":      {"engine", "engine/docker", "engine/git", "engine/kinds", "engine/logscan", "engine/measure", "engine/process", "gates/verdict", "gates/verdict/code", "plans", "plans/redact", "runtime", "runtime/ledger", "runtime/store", "steps/program", "steps/variant"},
	"steps/program":   {"engine", "engine/logscan", "engine/measure", "gates/verdict", "gates/verdict/code", "plans", "plans/redact", "steps/variant"},
	"steps/decide":    {"engine/measure", "gates", "gates/stats", "gates/verdict", "gates/verdict/code", "plans", "runtime", "runtime/ledger"},
	"steps/replay":    {"engine/measure", "gates", "gates/stats", "gates/verdict", "gates/verdict/code", "plans", "plans/lang", "plans/load", "plans/redact", "runtime", "runtime/ledger", "runtime/store", "steps/decide"},
	"steps/cases":     {"gates", "gates/verdict", "plans", "plans/eval", "plans/lang", "plans/load", "plans/rules", "runtime", "runtime/ledger", "steps/decide"},
	"steps/launch":    {"engine", "engine/git", "engine/gpu", "engine/kinds", "engine/limit", "engine/load", "engine/logscan", "engine/machine", "engine/measure", "engine/metadata", "engine/observe", "engine/openai", "engine/process", "engine/source", "engine/telemetry", "gates/verdict", "gates/verdict/code", "internal/flock", "plans", "plans/redact", "runtime", "runtime/ledger", "runtime/store", "steps/decide", "steps/variant"},
	"steps/quality":   {"engine/load/prompt", "engine/logprob", "engine/openai", "gates/stats", "gates/verdict", "gates/verdict/code", "plans", "runtime", "runtime/ledger", "runtime/store", "steps/launch"},
	"steps/record":    {"engine", "engine/kinds", "engine/limit", "engine/load", "engine/load/coherence", "engine/load/prompt", "engine/load/work", "engine/measure", "engine/openai", "engine/telemetry", "gates/verdict", "gates/verdict/code", "plans", "plans/redact", "runtime", "runtime/ledger", "runtime/store", "steps/launch", "steps/variant"},
	"steps/levels":    {"engine", "engine/kinds", "engine/load/coherence", "engine/load/prompt", "engine/logscan", "engine/measure", "engine/observe", "engine/openai", "engine/process", "engine/limit", "engine/profile", "engine/profile/symbol", "engine/roofline", "gates/stats", "gates/verdict", "gates/verdict/code", "plans", "plans/redact", "runtime", "runtime/ledger", "runtime/store", "steps/decide", "steps/launch", "steps/profiling", "steps/program", "steps/quality", "steps/record", "steps/stress", "steps/variant"},
	"steps/remote":    {"gates/verdict", "gates/verdict/code", "internal/shell", "plans", "runtime", "runtime/ledger", "runtime/store", "steps/launch"},
	"steps/profiling": {"engine", "engine/kinds", "engine/load/prompt", "engine/openai", "engine/profile", "engine/profile/host", "engine/profile/read", "engine/profile/symbol", "engine/roofline", "gates/verdict", "gates/verdict/code", "plans", "steps/launch", "steps/variant"},
	"steps/stress":    {"engine/kinds", "engine/load", "engine/load/coherence", "engine/load/prompt", "engine/measure", "engine/observe", "engine/openai", "engine/telemetry", "gates/stats", "gates/verdict", "gates/verdict/code", "plans", "plans/redact", "steps/launch", "steps/record"},
	"steps/agreement": {"engine/load", "engine/load/prompt", "engine/measure", "engine/openai", "gates/stats", "plans", "runtime/ledger", "runtime/store", "steps/launch", "steps/record"},
	"steps/validity":  {"engine/kinds", "engine/load/coherence", "engine/load/work", "engine/logscan", "engine/measure", "gates/verdict", "gates/verdict/code", "plans", "runtime", "runtime/ledger", "steps/agreement", "steps/decide", "steps/launch", "steps/levels", "steps/record", "steps/variant"},
	"steps/session":   {"engine/measure", "engine/profile", "engine/roofline", "gates", "gates/verdict", "gates/verdict/code", "plans", "plans/redact", "runtime", "runtime/ledger", "runtime/store", "steps/agreement", "steps/decide", "steps/launch", "steps/levels", "steps/record", "steps/validity", "steps/variant"},
	"steps":           {"engine", "engine/measure", "gates/stats", "plans", "plans/load", "plans/redact", "runtime", "runtime/ledger", "runtime/store", "steps/launch", "steps/levels", "steps/record", "steps/session", "steps/variant", "steps/work"},
}

// forbidden outside packages: no HCL types in engine, statistics or ledger, and
// the leaves stay leaves.
var forbidden = map[string][]string{
	"engine": {"github.com/hashicorp/hcl", "github.com/expr-lang"}, "engine/kinds": {"github.com/hashicorp/hcl"}, "engine/openai": {"github.com/hashicorp/hcl"},
	"engine/load": {"github.com/hashicorp/hcl"}, "engine/embedded": {"github.com/hashicorp/hcl"},
	"gates/stats": {"github.com/hashicorp/hcl"}, "runtime/ledger": {"github.com/hashicorp/hcl"},
	"plans": {"github.com/hashicorp/hcl", "github.com/zclconf/go-cty", "gopkg.in/yaml.v3"},
	"gates": {"github.com/hashicorp/hcl", "github.com/zclconf/go-cty"}, "runtime": {"github.com/hashicorp/hcl", "github.com/zclconf/go-cty"},
	"engine/measure": {"github.com/", "golang.org/", "gonum.org/"},
	// Deciding is the same wherever it happens: nothing of a machine, a file or a plan's
	// syntax reaches it.
	"steps/decide": {"github.com/hashicorp/hcl", "github.com/zclconf/go-cty", module + "engine", module + "runtime/store"},
	"steps/cases":  {module + "engine", module + "runtime/store"},
	"steps/replay": {module + "engine/"},
	// Who checks the record depends on nothing that measured or decided it.
	"cmd/mxflow/internal/audit": {module + "steps/launch", module + "steps/levels", module + "steps/session", module + "steps/replay", module + "engine/kinds", module + "engine/process", module + "engine/docker", module + "plans/load", "github.com/hashicorp/hcl"},
	// An agent's tools reach neither a command nor a key.
	"cmd/mxflow/internal/agents": {"github.com/spf13/cobra", module + "runtime/signing"},
}

// measured is what everybody may know of engines.
const measured = module + "engine/measure"

// rooms are those of the command. What is done with the record has commands of its own.
const rooms = "cmd/mxflow/internal/"

type listed struct {
	ImportPath    string
	Imports, Deps []string
}

func TestImportDirections(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps=false", "-json=ImportPath,Imports,Deps", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p listed
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		name, ours := strings.CutPrefix(p.ImportPath, module)
		if !ours {
			continue
		}
		seen[name] = true
		for _, prefix := range forbidden[name] {
			for _, dep := range p.Deps {
				if strings.HasPrefix(dep, prefix) && (name == "engine/measure" || !strings.HasPrefix(dep, measured)) {
					t.Errorf("%s depends on %s", name, dep)
				}
			}
		}
		if strings.HasPrefix(name, "cmd/") {
			if room, is := strings.CutPrefix(name, rooms); is && room != "audit" && slices.Contains(p.Imports, "github.com/spf13/cobra") {
				t.Errorf("%s imports cobra: flags and exit statuses are the command's, and a room of it takes a table.Screen", name)
			}
			continue
		}
		may, known := allowed[name]
		if !known {
			t.Errorf("%s is a new room: say in this test whom it may import, and in docs/internals/decisions.md why it exists", name)
			continue
		}
		for _, imported := range p.Imports {
			if other, ok := strings.CutPrefix(imported, module); ok && !slices.Contains(may, other) {
				t.Errorf("%s imports %s: the directions in this test do not allow it", name, other)
			}
		}
	}
	for _, list := range []map[string][]string{allowed, forbidden} {
		for name := range list {
			if !seen[name] {
				t.Errorf("there is no package %s any more: take it out of this test", name)
			}
		}
	}
}
