package load

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/planstest"
)

const suitePlan = `plan "p" {}
workload "a" {
  prompt_tokens = 8
  output_tokens = 8
}
workload "b" {
  prompt_tokens = 8
  output_tokens = 8
}
suite "quick" {
  workloads = [workload.b]
}
suite "full" {
  workloads = [workload.a, workload.b]
}
protocol "listed" {
  level "benchmark" {
    workloads = [workload.a]
  }
}
protocol "tier" {
  level "benchmark" {
    suite = suite.full
  }
}
protocol "command" {
  level "benchmark" {
    launches = 3
  }
}
`

func TestSuitesDecideWhatIsSent(t *testing.T) {
	for suite, want := range map[string]string{
		"":      "listed [a], tier [a b], command []",
		"quick": "listed [b], tier [b], command []",
		"full":  "listed [a b], tier [a b], command []",
	} {
		// The third protocol would be for a command; nothing else is wrong.
		res := Bytes("plan.hcl", []byte(suitePlan), planstest.Registry(), Options{Suite: suite})
		var got []string
		for _, pr := range res.Plan.Protocols {
			got = append(got, fmt.Sprint(pr.Name, " ", res.Plan.SentWorkloads(pr.Level("benchmark"))))
		}
		if s := strings.Join(got, ", "); s != want || res.Plan.Suite != suite {
			t.Errorf("%q: got %s, want %s\n%s", suite, s, want, planstest.Text(&res.Findings))
		}
	}
	if got := (&plans.Plan{}).SentWorkloads(nil); got != nil {
		t.Errorf("no benchmark sends %v", got)
	}
}

func TestUnknownSuites(t *testing.T) {
	for _, c := range []struct{ src, suite, want string }{
		{suitePlan, "quik", `The plan declares no suite "quik". Did you mean "quick"?`},
		{suitePlan, "nightly", `Available: "full", "quick".`},
		{"plan \"p\" {}\n", "quick", `It declares none; add: suite "quick" {`},
	} {
		res := Bytes("plan.hcl", []byte(c.src), planstest.Registry(), Options{Suite: c.suite})
		if res.OK() || !strings.Contains(res.Diagnostics.Error(), "Unknown suite in --suite") || !strings.Contains(res.Diagnostics.Error(), c.want) || res.Plan.Suite != "" {
			t.Errorf("%s: %v", c.suite, res.Diagnostics)
		}
	}
}

// TestSuiteIsPartOfTheDigest: with other workloads the plan is different. The order of
// suites does not count, that of their workloads does.
func TestSuiteIsPartOfTheDigest(t *testing.T) {
	digest := func(src, suite string) string {
		return Bytes("plan.hcl", []byte(src), planstest.Registry(), Options{Suite: suite}).Plan.Digest()
	}
	none := digest(suitePlan, "")
	if none == digest(suitePlan, "quick") || none == digest(strings.Replace(suitePlan, "[workload.a, workload.b]", "[workload.b, workload.a]", 1), "") {
		t.Error("what is sent does not count")
	}
	quick := "suite \"quick\" {\n  workloads = [workload.b]\n}\n"
	if none != digest(strings.Replace(suitePlan, quick, "", 1)+quick, "") {
		t.Error("the order of suites counts")
	}
}
