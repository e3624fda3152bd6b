package apply

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/steps"
)

// BenchmarkReconcile loads plans of features with a knob and a phase each, accepted one on
// top of the other, and derives what an apply would do where nothing is on record. Its time
// must not grow with the square of a plan.
func BenchmarkReconcile(b *testing.B) {
	for _, features := range []int{250, 500, 1000} {
		b.Run(strconv.Itoa(features), func(b *testing.B) { benchmarkReconcile(b, features) })
	}
}

func benchmarkReconcile(b *testing.B, features int) {
	var plan strings.Builder
	plan.WriteString(`plan "big" {}
engine "embedded" "tiny" {}
workload "chat" {
  prompt_tokens = 64
  output_tokens = 16
}
protocol "p" {
  level "smoke" { expect = "Paris" }
  level "benchmark" { workloads = [workload.chat] }
}
baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.p
}
`)
	after := ""
	for i := range features {
		fmt.Fprintf(&plan, `
knob "k%[1]d" {
  default = "off"
  value "off" {}
  value "on" { env = { K%[1]d = "1" } }
}
phase "p%[1]d" {
  %[2]s
  feature "f%[1]d" {
    set = { k%[1]d = "on" }
    criterion "faster" { rule = "chat.tg.gain >= 0.1" }
  }
}
`, i, after)
		after = fmt.Sprintf("after = [phase.p%d]", i)
	}
	path := filepath.Join(b.TempDir(), "plan.hcl")
	if err := os.WriteFile(path, []byte(plan.String()), 0o644); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		res := load.Path(path, steps.Registry(), load.Options{})
		if res.Plan == nil || res.Diagnostics.HasErrors() {
			b.Fatal(res.Diagnostics)
		}
		g, err := runtime.NewGraph(res.Plan)
		if err != nil {
			b.Fatal(err)
		}
		lab, err := NewLab(Wiring{Plan: res.Plan, Graph: g})
		if err != nil {
			b.Fatal(err)
		}
		states, err := (&runtime.Runner{
			Plan: res.Plan, Graph: g, Journal: runtime.EmptyJournal{},
			Step: lab.Step,
		}).Reconcile()
		if err != nil || len(states) != 4*features+1 {
			b.Fatal(len(states), err)
		}
	}
}
