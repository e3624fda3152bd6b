package plans

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// withRule is the fixture of workloads with another rule in one criterion.
func withRule(t *testing.T, rule, suite string) *Result {
	t.Helper()
	src, err := os.ReadFile("testdata/valid/workloads.hcl")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(src), "gpu.power_w.change <= 0.05 and host.cpu_share < 0.9", rule, 1)
	return LoadBytes("testdata/valid/plan.hcl", []byte(text), testRegistry(), Options{Suite: suite})
}

func TestAddressesOfCells(t *testing.T) {
	for rule, want := range map[string]string{
		"grid.p512.o32.d4096.c16.tg > 1":         "grid.p512.o32.d4096.c16 tg median tok/s",
		"grid.p512.o32.d4096.c16.tg_total > 1":   "grid.p512.o32.d4096.c16 tg_total median tok/s",
		"grid.p512.d0.c1.tg32 > 1":               "error Unknown cell: has no cell d0 here",
		"grid.p512.o32.d0.c1.tg32 > 1":           "grid.p512.o32.d0.c1 tg median tok/s",
		"grid.p2048.o32.d0.c1.pp2048 > 1":        "grid.p2048.o32.d0.c1 pp median tok/s",
		"grid.o32.d0.c1.tg > 1":                  "error Unknown cell: Elements stand in the order prompt, output, depth, concurrency, rate",
		"grid.c16.tg > 1":                        "error Unknown cell: Elements stand in the order",
		"grid.p512.o32.d4096.c8.tg > 1":          "error Unknown cell: grid.p512.o32.d4096.c1, grid.p512.o32.d4096.c4",
		"grid.p512.tg > 1":                       "error Which cell?: grid.p512.o32.d0.c1",
		"grid.p512.o32.d0.tg_total > 1":          "error Which cell?: one of grid.p512.o32.d0.c1, grid.p512.o32.d0.c4",
		"serving.r1.ttft > 1":                    "serving.r1 ttft median ms",
		"serving.r2_5.goodput.gain > 0.1":        "serving.r2_5 goodput median ",
		"serving.r2.5.goodput.gain > 0.1":        "error Invalid rule: a rate of 2.5 is written r2_5",
		"serving.r5.ttft > 1":                    "error Unknown cell: serving.r1, serving.r2_5",
		"serving.r1.tg0 > 1":                     "error Unknown metric: Did you mean",
		"grid.p512.o32.d0.c1.goodput > 1":        `error Nothing to be good by: workload "grid" has none`,
		"grid.p512.o32.d0.c1.slo_attainment > 1": "error Nothing to be good by: slo {",
		"grid.p512.o32.d0.c1.tg_total.p99 > 1":   "error One value a launch: Write grid.p512.o32.d0.c1.tg_total.",
		"serving.r1.tg_total.n_requests > 1":     "error One value a launch: ",
		"serving.r1.tg_total.n >= 3":             "serving.r1 tg_total n launches",
		"gpu.power_w < 400":                      "gpu power_w median W",
		"gpu.power_w.base.max < 400":             "gpu power_w max W",
		"gpu.power_w.p99 < 400":                  "error One value a launch: Write gpu.power_w.",
		"gpu.power_w.std < 4":                    "error One value a launch: ",
		"gpu.pwer_w < 400":                       `error Unknown metric: gpu.* has no metric "pwer_w". Did you mean "power_w"?`,
		"gpu.tg < 400":                           "error Unknown metric: gpu.* has no metric",
		"gpu > 1":                                "error Incomplete address: Write gpu.<metric>",
		"host.cpu_share < 0.5":                   "host cpu_share median share",
		"host.power_w < 0.5":                     "error Unknown metric: host.* has no metric",
		"engine.power_w < 0.5":                   "error Unknown metric: engine.* has no metric",
		"engine.memory_gb < 5":                   " memory_gb median GB",
		"gpu.memory_gb.delta < 5":                "gpu memory_gb median GB",
		"gpu.power_w < host.cpu_share":           "error Units do not match: ",
		"serving.r1.ttft_corrected > 1":          "serving.r1 ttft_corrected median ms",
		"random.ttft_corrected > 1":              "error Nothing is corrected: Read ttft,",
		"random.tg > 5":                          "random tg median tok/s",
	} {
		res := withRule(t, rule, "")
		var got, detail string
		for _, d := range res.Diagnostics.Errs() {
			got += "error " + strings.TrimPrefix(d.Error(), "testdata/valid/plan.hcl:")
		}
		for _, d := range res.Diagnostics {
			if d.Severity == 1 {
				detail += d.Summary + ": " + d.Detail
			}
		}
		if got == "" {
			in := res.Plan.Phases[0].Features[0].Criteria[2].Program.Inputs[0]
			got = fmt.Sprint(in.Cell, " ", in.Metric, " ", in.Stat, " ", in.Unit)
			if got != want {
				t.Errorf("%s: got %q, want %q", rule, got, want)
			}
			continue
		}
		summary, words, _ := strings.Cut(strings.TrimPrefix(want, "error "), ": ")
		if !strings.HasPrefix(want, "error ") || !strings.HasPrefix(detail, summary+": ") || !strings.Contains(detail, words) {
			t.Errorf("%s: got %q, want %q", rule, detail, want)
		}
	}
}

// TestSensibleNumbersOfNewScopes: what is found out about a rule before anything
// is measured.
func TestSensibleNumbersOfNewScopes(t *testing.T) {
	for rule, want := range map[string]string{
		"host.cpu_share <= 80":                                    "Comparison always holds",
		"serving.r1.error_rate < 0":                               "Comparison can never hold",
		"serving.r1.goodput > 0":                                  "",
		"serving.r1.schedule_lag <= 0.2":                          "",
		"serving.r1.ttft <= 0.2":                                  "Implausible for the unit",
		"gpu.power_w > 0":                                         "Comparison always holds",
		"grid.p512.o32.d0.c1.ttft.p99 <= 500":                     "Too few requests",
		"grid.p512.o32.d0.c1.itl.p99 <= 50":                       "",
		"serving.r1.ttft.p99 <= 500":                              "", // with a duration, at most enough
		"random.ttft.p99 <= 500":                                  "Too few requests",
		"random.ttft.p90 <= 500":                                  "",
		"gpu.temperature_c >= 0":                                  "",
		"gpu.utilization >= 0":                                    "Comparison always holds",
		"serving.r1.ttft.p99 <= 500 and levels.kernels == 'pass'": "",
	} {
		res := withRule(t, rule, "full")
		var got []string
		for _, d := range res.Diagnostics {
			if d.Subject.Start.Line == lineOf(res.Source, rule) {
				got = append(got, d.Summary)
			}
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%s: got %q, want %q\n%s", rule, got, want, res.text())
		}
	}
}

// lineOf is the line of the plan that a rule stands on.
func lineOf(src []byte, rule string) int {
	before, _, _ := strings.Cut(string(src), rule)
	return 1 + strings.Count(before, "\n")
}
