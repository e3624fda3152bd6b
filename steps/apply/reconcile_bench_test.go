package apply

import (
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans/load"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/steps"
)

// BenchmarkReconcile loads plans of features with a knob and a phase each, each built on what was
// accepted before, and derives what an apply would do where nothing is on record: the last variant
// differs from the baseline in every knob. It tells how many times as long a plan takes as one half
// its size.
func BenchmarkReconcile(b *testing.B) {
	for _, features := range []int{250, 500, 1000} {
		b.Run(strconv.Itoa(features), func(b *testing.B) {
			half, whole := stackedPlan(b, features/2), stackedPlan(b, features)
			var ofHalf, ofWhole float64
			for b.Loop() {
				before := cpuSeconds(b)
				reconcile(b, half, features/2)
				between := cpuSeconds(b)
				reconcile(b, whole, features)
				ofHalf, ofWhole = ofHalf+between-before, ofWhole+cpuSeconds(b)-between
			}
			// On a machine that others use too, the time on the wall says little.
			b.ReportMetric(ofWhole/float64(b.N), "cpu-s/plan")
			b.ReportMetric(ofWhole/ofHalf, "times-half")
		})
	}
}

// cpuSeconds is the processor time that this process has used.
func cpuSeconds(b *testing.B) float64 {
	var u syscall.Rusage
	must.Do(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}

// stackedPlan is the path of such a plan.
func stackedPlan(b *testing.B, features int) string {
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
    builds_on = accepted
    set       = { k%[1]d = "on" }
    criterion "faster" { rule = "chat.tg.gain >= 0.1" }
  }
}
`, i, after)
		after = fmt.Sprintf("after = [phase.p%d]", i)
	}
	path := filepath.Join(b.TempDir(), "plan.hcl")
	must.Do(b, os.WriteFile(path, []byte(plan.String()), 0o644))
	return path
}

func reconcile(b *testing.B, path string, features int) {
	goruntime.GC() // what an earlier plan left is not this one's
	res := load.Path(path, steps.Registry(), load.Options{})
	if res.Plan == nil || res.Diagnostics.HasErrors() {
		b.Fatal(res.Diagnostics)
	}
	g, err := runtime.NewGraph(res.Plan)
	must.Do(b, err)
	lab, err := NewLab(Wiring{Plan: res.Plan, Graph: g})
	must.Do(b, err)
	states, err := (&runtime.Runner{
		Plan: res.Plan, Graph: g, Journal: runtime.EmptyJournal{}, Step: lab.Step,
	}).Reconcile()
	if err != nil || len(states) != 4*features+1 {
		b.Fatal(len(states), err)
	}
	last := states[4*features-2].Launches[0] // of the benchmark
	if last.Variant != "accepted" {
		b.Fatal("the last feature is measured against ", last.Variant)
	}
}
