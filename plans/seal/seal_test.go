package seal_test

import (
	_ "embed"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/plans/seal"
	"github.com/mxflow/mxflow/steps"
)

//go:embed testdata/plan.hcl
var plan string

// TestRules: the digest moves with whatever judges, and with nothing that a port sets.
func TestRules(t *testing.T) {
	digest := func(plan, script string) string {
		t.Helper()
		dir := t.TempDir()
		for name, text := range map[string]string{"plan.hcl": plan, "bench.sh": script} {
			must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
		}
		res := load.Path(filepath.Join(dir, "plan.hcl"), steps.Registry(), load.Options{})
		if !res.OK() {
			t.Fatal(res.Diagnostics)
		}
		rules, err := seal.Rules(res.Plan)
		if err != nil || len(rules) != 64 {
			t.Fatalf("%q, %v", rules, err)
		}
		return rules
	}
	own := digest(plan, "echo")
	for name, c := range map[string]struct {
		old, new, script string
		moves            bool
	}{
		"a comment": {"plan \"p\" {}", "plan \"p\" {} # mine", "echo", false},
		"a value":   {`SPEED = "120"`, `SPEED = "150"`, "echo", false},
		"another value": {
			"  value \"old\"", "  value \"x\" { env = { SPEED = \"3\" } }\n  value \"old\"", "echo",
			false,
		},
		"the default":    {`SPEED = "100"`, `SPEED = "50"`, "echo", true},
		"a criterion":    {"> 0.1", "> 0.01", "echo", true},
		"what is better": {`"higher"`, `"lower"`, "echo", true},
		"the script":     {"", "", "echo {tg: 9}", true},
		"the error rate": {"baseline {", "decision {\n  false_pass = 0.05\n}\n\nbaseline {", "echo", true},
	} {
		if got := digest(strings.Replace(plan, c.old, c.new, 1), c.script); (got != own) != c.moves {
			t.Errorf("%s: it moved %v, want %v", name, got != own, c.moves)
		}
	}
}
