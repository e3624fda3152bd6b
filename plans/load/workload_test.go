package load

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/planstest"
	"github.com/mxflow/mxflow/plans/redact"
)

// planOf loads a plan of one workload, which must be valid.
func planOf(t *testing.T, body string) *plans.Plan {
	t.Helper()
	res := Bytes("testdata/valid/plan.hcl", []byte("plan \"p\" {}\nworkload \"w\" {\n"+body+"\n}\n"), planstest.Registry(), Options{})
	if !res.OK() {
		t.Fatalf("%s\n%s", body, planstest.Text(&res.Findings))
	}
	return res.Plan
}

// checkCells compares what cells of workloads are.
func checkCells(t *testing.T, wants map[string]string, of func(plans.Cell) string) {
	t.Helper()
	for body, want := range wants {
		var got []string
		for _, c := range planOf(t, body).Workloads[0].Cells() {
			got = append(got, of(c))
		}
		if s := strings.Join(got, " | "); s != want {
			t.Errorf("%s\ngot  %s\nwant %s", body, s, want)
		}
	}
}

const lengths8 = "prompt_tokens = 8\noutput_tokens = 8\n"

func TestCellsOfAllDimensions(t *testing.T) {
	checkCells(t, map[string]string{
		lengths8: "w=pp8 tg8",
		"prompt_tokens = [8, 16]\noutput_tokens = [4]\ndepth = [0, 64]\nconcurrency = [1, 2]": "w.p8.o4.d0.c1=pp8 tg4, c1 | w.p8.o4.d0.c2=pp8 tg4, c2 | " +
			"w.p8.o4.d64.c1=pp8 tg4 @ d64, c1 | w.p8.o4.d64.c2=pp8 tg4 @ d64, c2 | w.p16.o4.d0.c1=pp16 tg4, c1 | w.p16.o4.d0.c2=pp16 tg4, c2 | " +
			"w.p16.o4.d64.c1=pp16 tg4 @ d64, c1 | w.p16.o4.d64.c2=pp16 tg4 @ d64, c2",
		lengths8 + "depth = 64\nconcurrency = 4":                                                 "w=pp8 tg8 @ d64, c4",
		lengths8 + "concurrency = [1]":                                                           "w.c1=pp8 tg8",
		lengths8 + "rate = [1, 2.5, 0.125]":                                                      "w.r1=pp8 tg8, 1 req/s | w.r2_5=pp8 tg8, 2.5 req/s | w.r0_125=pp8 tg8, 0.125 req/s",
		lengths8 + "rate = 2\nmax_concurrency = 4":                                               "w=pp8 tg8, 2 req/s",
		"output_tokens = 8\nprompt_lengths {\ndistribution = \"uniform\"\nmin = 10\nmax = 21\n}": "w=pp~15.5 tg8",
		"dataset {\nfile = \"prompts.jsonl\"\n}\nwarmup = 0":                                     "w=pp* tg*",
		"prompt_tokens = 8\noutput_tokens = [4]":                                                 "w.o4=pp8 tg4",
	}, func(c plans.Cell) string { return c.Address + "=" + c.Label })
}

// TestRequestsOfCells: the measured and the warmup requests of each cell.
func TestRequestsOfCells(t *testing.T) {
	checkCells(t, map[string]string{
		lengths8:                                                           "10+3",
		lengths8 + "concurrency = [1, 2, 3, 16]":                           "10+3 | 10+3 | 12+3 | 64+16",
		lengths8 + "concurrency = 16\nrequests = 20":                       "20+16",
		lengths8 + "concurrency = 16\nwarmup = 0":                          "64+0",
		lengths8 + "concurrency = 4\nduration = \"1m\"":                    "800+4",
		lengths8 + "rate = [0.1, 2.5]":                                     "10+3 | 150+3",
		lengths8 + "rate = 10\nduration = \"10s\"":                         "166+3",
		lengths8 + "rate = 10\nduration = \"10s\"\nrequests = 50":          "50+3",
		lengths8 + "rate = 100000\nmax_concurrency = 64":                   "1000000+3",
		"dataset {\nfile = \"prompts.jsonl\"\n}":                           "1+3",
		"dataset {\nfile = \"prompts.jsonl\"\n}\nrequests = 2\nwarmup = 2": "2+2",
	}, func(c plans.Cell) string { return fmt.Sprintf("%d+%d", c.Requests, c.Warmup) })
}

// TestNewWorkloadIsThatOfAPlan: the defaults are the same without a plan.
func TestNewWorkloadIsThatOfAPlan(t *testing.T) {
	want := planOf(t, lengths8).Workloads[0]
	got := plans.NewWorkload("w")
	got.PromptTokens, got.OutputTokens, got.Range = []int{8}, []int{8}, want.Range
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestDatasetIsPartOfTheDigest: by its content, not by its path.
func TestDatasetIsPartOfTheDigest(t *testing.T) {
	digest := func(file string) string {
		return planOf(t, "output_tokens = 4\nwarmup = 0\nrequests = 1\ndataset {\nfile = \""+file+"\"\n}").Digest()
	}
	if digest("prompts.jsonl") != digest("../valid/prompts.jsonl") {
		t.Error("the way to the file counts")
	}
	if digest("prompts.jsonl") == digest("../other.jsonl") {
		t.Error("the content does not count")
	}
}

// TestHugeNumbersOfCells: a few characters must not keep the machine busy.
func TestHugeNumbersOfCells(t *testing.T) {
	list := strings.Trim(numbered(64, func(i int) string { return fmt.Sprintf("%d, ", i) }), ", ")
	body := ""
	for _, name := range []string{"prompt_tokens", "output_tokens", "depth", "concurrency", "rate"} {
		body += name + " = [" + list + "]\n"
	}
	res := loadText("plan \"p\" {}\nworkload \"w\" {\n" + body + "}\n")
	if got := summaries(res); !strings.Contains(got, "Too many cells") || len(res.Plan.Workloads[0].Cells()) > 1 {
		t.Errorf("%s, %d cells", got, len(res.Plan.Workloads[0].Cells()))
	}
}

// TestShortDurations: a window with only a request or two decides nothing.
func TestShortDurations(t *testing.T) {
	redact.Forget()
	for duration, refused := range map[string]bool{"1ns": true, "999ms": true, "1s": false, "1500ms": false} {
		for _, pace := range []string{"", "rate = 5\n"} {
			res := Bytes("testdata/valid/plan.hcl", []byte("plan \"p\" {}\nworkload \"w\" {\n"+lengths8+pace+"duration = \""+duration+"\"\n}\n"), planstest.Registry(), Options{})
			if res.OK() == refused || refused && !strings.Contains(planstest.Text(&res.Findings), "must be at least 1s, not "+duration) {
				t.Errorf("%s %s: %s", duration, pace, planstest.Text(&res.Findings))
			}
		}
	}
}

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
