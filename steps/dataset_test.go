package steps

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/try"
	"github.com/mxflow/mxflow/plans/load"
)

// TestDatasetsAndSuitesOfRealLevels: what the real registry adds to the language.
func TestDatasetsAndSuitesOfRealLevels(t *testing.T) {
	dir := t.TempDir()
	try.Write(t, filepath.Join(dir, "bad.jsonl"), "{\"prompt\": \"a\"}\n{\"promt\": \"b\"}\n")
	const head = "plan \"p\" {}\nworkload \"chat\" {\n  prompt_tokens = 8\n  output_tokens = 8\n}\nsuite \"all\" {\n  workloads = [workload.chat]\n}\n"
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
		level("suite = suite.all") + "engine \"command\" \"c\" {\n  process {\n    command = [\"true\"]\n  }\n  metric \"s\" {\n    jq = \".s\"\n    unit = \"s\"\n    better = \"lower\"\n  }\n}\nbaseline {\n  engine = engine.command.c\n  protocol = protocol.standard\n}\n": "Workloads for a command",
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
