package gates

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
)

// TestPercentilesOfLaunches: a percentile is one value a launch, tested over
// launches as medians are, against a number and against its base; a p99 takes 300
// requests of every launch.
func TestPercentilesOfLaunches(t *testing.T) {
	of := func(n int) *Evidence {
		return with(func(f *Feature) {
			for _, a := range []*Arm{&f.Candidate, &f.Parent} {
				for i := range a.Launches {
					scale := map[string]float64{"f": 90, "baseline": 100}[a.Name] + float64(i)/10
					a.Launches[i].Metrics["chat.ttft"] = measure.Summary{
						Unit: "ms", N: n, Requests: n, Stats: map[string]float64{"median": scale / 2, "p95": scale * 0.9, "p99": scale},
					}
				}
			}
		})
	}
	for _, c := range []struct {
		rule string
		n    int
		want verdict.Verdict
		says string
	}{
		{"chat.ttft.p99 <= 95", 300, "pass", "at most 90.6"},
		{"chat.ttft.p99 <= 80", 300, "fail", "at least 89."},
		{"chat.ttft.p99 <= 0.95 * chat.ttft.base.p99", 300, "pass", "chat.ttft.p99.change at most"},
		{"chat.ttft.p99 <= 95", 299, "inconclusive", "chat.ttft.p99: not enough samples in launch f.1: 299 of at least 300"},
		{"chat.ttft.p99 <= 0.95 * chat.ttft.base.p99", 299, "inconclusive", "299 of at least 300"},
		{"chat.ttft.p95 <= 95", 59, "pass", ""},
		{"chat.ttft.p95 <= 95", 58, "inconclusive", "58 of at least 59"},
	} {
		got := decided(compiled(t, c.rule), of(c.n))
		if got.Verdict != c.want || !strings.Contains(tell.Joined(got.Reasons), c.says) || len(got.Open) > 0 {
			t.Errorf("%s of %d: %s %q", c.rule, c.n, got.Verdict, tell.Lines(got.Reasons))
		}
		if c.want == verdict.Pass && got.Comparisons[0].Test.Stat != strings.Split(c.rule, ".")[2][:3] {
			t.Errorf("%+v", got.Comparisons[0].Test)
		}
	}
}
