package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkPlanWithAKnobEach previews plans whose features, ten a phase, each set a
// knob of their own. Ten times the features should take about ten times as long.
func BenchmarkPlanWithAKnobEach(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.Chdir(b.TempDir())
			if err := os.WriteFile(filepath.Join(".", "plan.hcl"), []byte(planWithAKnobEach(n)), 0o644); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if status := run(b.Context(), []string{"plan", "plan.hcl"}, io.Discard, io.Discard); status != 0 {
					b.Fatalf("status %d", status)
				}
			}
		})
	}
}

func planWithAKnobEach(n int) string {
	var text strings.Builder
	text.WriteString(`plan "big" {}
engine "embedded" "tiny" {}
workload "chat" {
  prompt_tokens = 8
  output_tokens = 8
}
protocol "p" {
  level "smoke" {
    prompt = "The capital of France is"
    expect = "Paris"
  }
  level "benchmark" { workloads = [workload.chat] }
}
baseline {
  engine   = engine.embedded.tiny
  protocol = protocol.p
}
`)
	for i := range n {
		fmt.Fprintf(&text, "knob \"k%d\" {\n  default = \"off\"\n  value \"off\" {\n    must_see { log = [\"*off%[1]d*\"] }\n  }\n  value \"on\" {\n    env = { X%[1]d = \"1\" }\n    must_see { log = [\"*on%[1]d*\"] }\n  }\n}\n", i)
	}
	for i := range n {
		if i%10 == 0 {
			fmt.Fprintf(&text, "phase \"p%d\" {\n", i/10)
		}
		fmt.Fprintf(&text, "  feature \"f%d\" {\n    set = { k%[1]d = \"on\" }\n    criterion \"c\" { rule = \"chat.tg.gain >= 0.05\" }\n  }\n", i)
		if i%10 == 9 {
			text.WriteString("}\n")
		}
	}
	return text.String()
}
