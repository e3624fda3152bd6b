package plans

import (
	"fmt"
	"strings"
	"testing"
)

// manyRules is a plan of n rules over 50 workloads of 16 cells each.
func manyRules(n int) []byte {
	var b strings.Builder
	b.WriteString(rulePlan)
	for i := range 50 {
		fmt.Fprintf(&b, "workload \"w%d\" {\n prompt_tokens = [1, 2, 3, 4]\n output_tokens = [5, 6, 7, 8]\n}\n", i)
	}
	b.WriteString("protocol \"wide\" {\n level \"smoke\" {\n  prompt = \"?\"\n  expect = \"!\"\n }\n level \"benchmark\" {\n  workloads = [")
	for i := range 50 {
		fmt.Fprintf(&b, "workload.w%d, ", i)
	}
	b.WriteString("]\n }\n}\nphase \"wide\" {\n feature \"wide\" {\n  set = { moe = \"routed\" }\n  protocol = protocol.wide\n")
	for i := range n {
		rule := [...]string{
			"w%d.p1.o5.tg.gain >= 0.10",
			"w%d.p4.tg8.gain >= -0.03 and levels.smoke == 'pass'",
			"w%d.p2.o6.ttft.p50 <= w%[1]d.p2.o6.ttft.base.p50 + 5",
			"w%d.p3.o7.tg / w%[1]d.p3.o7.tg.base > 0.9 or not (engine.memory_gb.delta > 1)",
		}[i%4]
		fmt.Fprintf(&b, "  criterion \"c%d\" { rule = \"%s\" }\n", i, fmt.Sprintf(rule, i%50))
	}
	b.WriteString(" }\n}\n")
	return []byte(b.String())
}

func BenchmarkCompileRules(b *testing.B) {
	res := LoadBytes("rules.hcl", manyRules(2000), testRegistry(), Options{})
	if !res.OK() {
		b.Fatal(res.text())
	}
	b.ResetTimer()
	for b.Loop() {
		compileRules(newNamespace(res.Plan), res.Files)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/2000, "µs/rule")
}

// BenchmarkCompileRulesOfManyPhases has 990 phases in a chain, each with a
// gate that reads the feature of the one before.
func BenchmarkCompileRulesOfManyPhases(b *testing.B) {
	var s strings.Builder
	s.WriteString(rulePlan)
	for i := range 990 {
		fmt.Fprintf(&s, "phase \"p%d\" {\n", i)
		if i > 0 {
			fmt.Fprintf(&s, " after = [phase.p%d]\n", i-1)
		}
		fmt.Fprintf(&s, " feature \"f%d\" {\n  set = { moe = \"routed\" }\n  criterion \"c\" { rule = \"chat.tg.gain >= 0.1\" }\n }\n", i)
		fmt.Fprintf(&s, " gate {\n  rule \"r\" { expr = \"feature[\\\"f%d\\\"].accepted\" }\n }\n}\n", max(0, i-1))
	}
	res := LoadBytes("rules.hcl", []byte(s.String()), testRegistry(), Options{})
	if !res.OK() {
		b.Fatal(res.text())
	}
	b.ReportAllocs()
	for b.Loop() {
		compileRules(newNamespace(res.Plan), res.Files)
	}
}
