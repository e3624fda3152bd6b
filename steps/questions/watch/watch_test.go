package watch_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/nights"
	"github.com/mxflow/mxflow/steps"
	"github.com/mxflow/mxflow/steps/questions/watch"
)

const plan = `plan "serve" {}
engine "embedded" "tiny" {
  process {
    command = ["{source}/serve.sh", "--port", "{port}"]
  }
  source "engine" {
    repo = "engine"
    ref  = "v0"
  }
}
workload "chat" {
  prompt_tokens = 16
  output_tokens = 8
  PACE
}
protocol "short" {
  level "benchmark" { workloads = [workload.chat] }
}
baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.short
}
`

var rule = regexp.MustCompile(`rule = "(.*)"`)

// TestRules: without a criterion, what the workload measures may not get worse.
func TestRules(t *testing.T) {
	t.Parallel()
	const served = "slo {\nttft = \"1s\"\n}\ncapacity {}"
	for pace, want := range map[string]string{
		"":                  "chat.tg.gain >= -3%, chat.pp.gain >= -3%, chat.ttft.change <= 3%",
		"concurrency = [4]": "chat.c4.tg.gain >= -3%, chat.c4.pp.gain >= -3%, chat.c4.ttft.change <= 3%",
		served:              "chat.capacity.gain >= -3%",
	} {
		path := filepath.Join(t.TempDir(), "plan.hcl")
		must.Do(t, os.WriteFile(path, []byte(strings.Replace(plan, "PACE", pace, 1)), 0o600))
		loaded := load.Path(path, steps.Registry(), load.Options{})
		if !loaded.OK() {
			t.Fatal(loaded.Findings)
		}
		job, err := watch.New(loaded.Plan, "main", "", "", "")
		must.Do(t, err)
		ask := nights.Ask{Against: ledger.AgainstGood}
		text, err := job.Question(ask, ledger.Version{ID: "a"}, ledger.Version{ID: "b"}, 1)
		must.Do(t, err)
		var rules []string
		for _, m := range rule.FindAllStringSubmatch(text, -1) {
			rules = append(rules, m[1])
		}
		must.Equal(t, pace, strings.Join(rules, ", "), want)
	}
}
