package gates

import "testing"

func BenchmarkEval(b *testing.B) {
	rule, ev := compiled(b, "chat.tg.gain >= 0.10 and chat.ttft.change <= 0.05 and levels.kernels == 'pass'"), full()
	b.ReportAllocs()
	for b.Loop() {
		Eval(rule, ev)
	}
}
