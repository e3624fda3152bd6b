package levels

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/engine/openai"
	"github.com/mxflow/mxflow/engine/trace"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/launch"
	"github.com/mxflow/mxflow/steps/levels/profiling"
	"github.com/mxflow/mxflow/steps/levels/quality"
	"github.com/mxflow/mxflow/steps/variant"
)

// brokenLog is an engine whose log is not followed to its end.
type brokenLog struct {
	engine.Instance
	path   string
	broken bool
}

func (b brokenLog) LogPath() string { return b.path }

func (b brokenLog) LogBroken() bool { return b.broken }

// What is missing in a log that broke off must not decide, either way.
func TestKernelsOfALogThatBrokeOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	must.Write(t, path, "it is there\n")
	for _, c := range []struct {
		name      string
		must, not []string
		broken    bool
		want      verdict.Verdict // empty: an error
	}{
		{"whole, seen", []string{"*there*"}, nil, false, verdict.Pass},
		{"whole, not seen", []string{"*absent*"}, nil, false, verdict.Fail},
		{"broken, seen", []string{"*there*"}, nil, true, verdict.Pass},
		{"broken, not seen", []string{"*absent*"}, nil, true, ""},
		{"broken, nothing against it", nil, []string{"*absent*"}, true, ""},
		{"broken, seen against it", []string{"*absent*"}, []string{"*there*"}, true, verdict.Fail},
	} {
		q := &qualification{Started: &launch.Started{
			How: "process", Inst: brokenLog{path: path, broken: c.broken},
			Record: &ledger.Launch{},
		}}
		wanted := []variant.Evidence{{Knob: "knob", Value: "on", MustSee: c.must, MustNotSee: c.not}}
		synctest.Test(t, func(t *testing.T) { // what may still come is waited for
			a := &artifact{}
			must.Do(t, a.search(t.Context(), q, wanted))
			v, reasons := judgeProof(wanted, a.scan, a.Partial, nil, nil)
			if broke := verdict.Holds(reasons, code.LogBrokeOff.Kind); broke != (c.want == "") ||
				!broke && v != c.want {
				t.Errorf("%s: %s %q; want %q", c.name, v, verdict.Lines(reasons), c.want)
			}
		})
	}
}

// A log that begins in the middle, or whose middle is gone, proves what is in it, and nothing by what is
// not.
func TestPartialLogs(t *testing.T) {
	seen := map[string]logscan.Match{"*there*": {Count: 1, FirstLine: "it is there", LineNo: 3, UsedNo: 3}}
	for _, c := range []struct {
		name      string
		must, not []string
		want      verdict.Verdict
		partial   bool
	}{
		{"seen", []string{"*there*"}, nil, verdict.Pass, false},
		{"not seen", []string{"*absent*"}, nil, verdict.Inconclusive, true},
		{"nothing against it", []string{"*there*"}, []string{"*absent*"}, verdict.Inconclusive, true},
		{"seen against it", []string{"*absent*"}, []string{"*there*"}, verdict.Fail, false},
		{"not seen, and nothing against it", []string{"*absent*"}, []string{"*gone*"}, verdict.Inconclusive, true},
		{"seen, for it and against it", []string{"*there*"}, []string{"*there*"}, verdict.Fail, false},
		{"no evidence", nil, nil, verdict.Inconclusive, false},
	} {
		wanted := []variant.Evidence{{Knob: "knob", Value: "on", MustSee: c.must, MustNotSee: c.not}}
		v, reasons := judgeKernels(wanted, seen)
		v, reasons = judgePartial(code.Of("kernels.log_began_before", ""), wanted, seen, v, reasons)
		if v != c.want || (reasons[0].Kind == "kernels.log_began_before") != c.partial {
			t.Errorf("%s: %s %q, want %s", c.name, v, verdict.Lines(reasons), c.want)
		}
	}
}

func TestJudgeKernels(t *testing.T) {
	see := func(globs ...string) map[string]logscan.Match {
		m := map[string]logscan.Match{}
		for _, g := range globs {
			m[g] = logscan.Match{Count: 1, FirstLine: "a line", LineNo: 7, UsedLine: "a line", UsedNo: 7, Used: 1}
		}
		return m
	}
	gemm := variant.Evidence{
		Knob: "moe", Value: "gemm", MustSee: []string{"*cutlass*"},
		MustNotSee: []string{"*marlin*"},
	}
	bare := variant.Evidence{Knob: "moe", Value: "bare"}
	more := variant.Evidence{Knob: "head", Value: "f32", MustSee: []string{"*head f32*"}}
	for _, c := range []struct {
		name   string
		wanted []variant.Evidence
		seen   map[string]logscan.Match
		want   verdict.Verdict
		says   string
	}{
		{"proved", []variant.Evidence{gemm}, see("*cutlass*"), verdict.Pass, "line 7"},
		{"absent", []variant.Evidence{gemm}, see(), verdict.Fail, "must be in the log"},
		{
			"one of two absent",
			[]variant.Evidence{more, gemm},
			see("*head f32*"), verdict.Fail,
			"\"*cutlass*\" must be in the log",
		},
		{"wrong path", []variant.Evidence{gemm}, see("*cutlass*", "*marlin*"), verdict.Fail, "must not be in the log"},
		{"unproven", []variant.Evidence{bare}, see("*cutlass*"), verdict.Inconclusive, "unproven"},
		{"unproven beside a proof", []variant.Evidence{gemm, bare}, see("*cutlass*"), verdict.Inconclusive, "unproven"},
		{"failed beside unproven", []variant.Evidence{bare, gemm}, see(), verdict.Fail, "must be in the log"},
		{"no knob", nil, see(), verdict.Inconclusive, "nothing to prove"},
	} {
		got, reasons := judgeKernels(c.wanted, c.seen)
		if got != c.want || !strings.Contains(verdict.Semicolons(reasons), c.says) {
			t.Errorf("%s: %s %q, want %s saying %q", c.name, got, verdict.Lines(reasons), c.want, c.says)
		}
		if verdict.Holds(reasons, "kernels.seen") != (got == verdict.Pass) {
			t.Errorf("%s: what was seen is said where it proves something, and else only what is missing: %q", c.name,
				verdict.Lines(reasons))
		}
	}
}

func TestKnobsProvedByObservation(t *testing.T) {
	must := func(want map[string]any) []variant.Evidence {
		return []variant.Evidence{{Knob: "moe", Value: "b", MustObserve: want}}
	}
	mustNot := func(want map[string]any) []variant.Evidence {
		return []variant.Evidence{{Knob: "moe", Value: "b", MustNotObserve: want}}
	}
	seen := map[string]ledger.Observed{
		"kernel": {Value: "marlin", From: "log line 7"}, "graphs": {Value: false},
		"n": {Value: 2.0},
	}
	not := map[string]verdict.Reason{
		"tactic": verdict.New(code.Unobserved, verdict.Text("why", "no line of the log matches")),
	}
	for name, c := range map[string]struct {
		wanted []variant.Evidence
		log    verdict.Verdict
		want   verdict.Verdict
		says   string
	}{
		"seen": {
			must(map[string]any{"kernel": "marlin", "n": 2.0}), "pass", "pass",
			`observed kernel "marlin" (log line 7)`,
		},
		"another": {
			must(map[string]any{"kernel": "gemm"}), "pass", "fail",
			`kernel must be "gemm" but the engine reports "marlin"`,
		},
		"false is a value": {
			must(map[string]any{"graphs": true}), "pass", "fail",
			"graphs must be true but the engine reports false",
		},
		"not observed": {
			must(map[string]any{"tactic": "x"}), "pass", "inconclusive",
			"tactic was not observed: no line of the log matches",
		},
		"not looked for": {
			must(map[string]any{"what": "x"}), "pass", "inconclusive",
			"this engine has no observation of that name",
		},
		"must not": {
			mustNot(map[string]any{"kernel": "gemm"}), "pass", "pass",
			`observed kernel "marlin"`,
		},
		"must not, but is": {
			mustNot(map[string]any{"kernel": "marlin"}), "pass", "fail",
			"but the engine reports it",
		},
		"must not, not known": {
			mustNot(map[string]any{"tactic": "x"}), "pass", "inconclusive",
			"tactic was not observed",
		},
		"the log speaks too":     {must(map[string]any{"kernel": "marlin"}), "fail", "fail", "reason of the log"},
		"both against":           {must(map[string]any{"tactic": "x"}), "fail", "fail", "reason of the log"},
		"nothing to be observed": {[]variant.Evidence{{Knob: "moe", Value: "b"}}, "pass", "pass", "reason of the log"},
	} {
		v, reasons := judgeObserved(c.wanted, seen, not, c.log, verdict.Because(code.Of("broken", "{error}"),
			verdict.Text("error", "reason of the log")))
		if v != c.want || !strings.Contains(verdict.Semicolons(reasons), c.says) {
			t.Errorf("%s: %s, %q; want %s, %q", name, v, verdict.Lines(reasons), c.want, c.says)
		}
	}
	if v, reasons := judgeKernels(must(map[string]any{"kernel": "marlin"}), nil); v != verdict.Pass {
		t.Errorf("a knob with an observation as its evidence is not unproven: %s %q", v, verdict.Lines(reasons))
	}
}

// Ollama leaves log-probabilities out of completions without a word, and all that is
// compared has to be asked alike.
func TestChatsAreAskedWhereNothingElseHasLogProbabilities(t *testing.T) {
	workloads := []*plans.Workload{
		{Name: "text", API: "completions", PromptTokens: []int{64}, OutputTokens: []int{8}, Concurrency: []int{1}},
		{Name: "talk", API: "chat", PromptTokens: []int{64}, OutputTokens: []int{8}, Concurrency: []int{1}},
	}
	protocol := &plans.Protocol{
		Levels: []*plans.Block{{Kind: plans.BenchmarkLevel, Attrs: map[string]any{"workloads": []any{"text", "talk"}}}},
	}
	for kind, want := range map[string][]openai.API{
		"ollama": {openai.Chat},
		"vllm":   {openai.Completions, openai.Chat},
	} {
		p := &plans.Plan{Engines: []*plans.Engine{{Kind: "llamacpp"}, {Kind: kind}}, Workloads: workloads}
		c := correctness{quality.Settings{Prompts: 8}}
		cells := c.ask(p, protocol).Cells
		if len(cells) != len(want) {
			t.Errorf("%s: %v are asked", kind, cells)
			continue
		}
		for i, cell := range cells {
			if cell.API != want[i] {
				t.Errorf("%s: %v are asked", kind, cells)
			}
		}
	}
}

// What a profile hides could be any kernel: then nothing that must be seen is missing, and
// nothing that must not be seen is known to be absent.
func TestJudgeTrace(t *testing.T) {
	const marlin = "void marlin_moe_wna16::Marlin<1, 2>(int4 const*)"
	taken := func(file trace.File, kernels ...trace.Kernel) []profiling.WindowProfile {
		return []profiling.WindowProfile{{Analysis: &trace.Analysis{
			Files: []trace.File{file}, Parts: []trace.Part{{Phase: trace.Decode, Kernels: kernels}},
		}}}
	}
	ran := taken(trace.File{}, trace.Kernel{Name: marlin, Short: "Marlin", Count: 24, Total: 900},
		trace.Kernel{Name: "nvjet_tst", Count: 8, Total: 100})
	partly := taken(trace.File{Hidden: 3}, trace.Kernel{Name: "nvjet_tst", Count: 8, Total: 100})
	for _, tt := range []struct {
		name   string
		wanted variant.Evidence
		in     []profiling.WindowProfile
		want   verdict.Verdict
		code   code.Kind
	}{
		{"a family", variant.Evidence{MustTrace: []string{"marlin"}}, ran, verdict.Pass, "trace.seen"},
		{"a glob", variant.Evidence{MustTrace: []string{"*MARLIN_moe*"}}, ran, verdict.Pass, "trace.seen"},
		{
			"not there",
			variant.Evidence{MustTrace: []string{"cutlass_grouped_gemm"}},
			ran, verdict.Fail,
			"trace.not_seen",
		},
		{
			"not there, as far as one can see",
			variant.Evidence{MustTrace: []string{"marlin"}},
			partly,
			verdict.Inconclusive, "trace.not_seen",
		},
		{
			"not to be there",
			variant.Evidence{MustNotTrace: []string{"marlin"}},
			ran, verdict.Fail,
			"trace.wrongly_seen",
		},
		{"not there as wanted", variant.Evidence{MustNotTrace: []string{"cutlass"}}, ran, verdict.Pass, ""},
		{
			"perhaps there",
			variant.Evidence{MustNotTrace: []string{"marlin"}},
			partly,
			verdict.Inconclusive, "trace.bare",
		},
		{
			"there, whatever is hidden",
			variant.Evidence{MustNotTrace: []string{"nvjet"}},
			partly, verdict.Fail,
			"trace.wrongly_seen",
		},
		{"nothing asked for", variant.Evidence{}, partly, verdict.Pass, ""},
	} {
		v, why := judgeTrace([]variant.Evidence{tt.wanted}, tt.in)
		if v != tt.want || tt.code != "" && !verdict.Holds(why, tt.code) {
			t.Errorf("%s: %s %v, want %s with %s", tt.name, v, why, tt.want, tt.code)
		}
	}
}

// What one level could not tell shows nothing wrong in the next: a baseline whose memory was
// read too seldom is inconclusive, not invalid.
func TestSkippedLevels(t *testing.T) {
	blocks := []*plans.Block{{Kind: "stress"}, {Kind: "kernels"}, {Kind: "profile"}}
	for was, want := range map[verdict.Verdict]verdict.Verdict{
		verdict.Inconclusive: verdict.Inconclusive, verdict.Fail: verdict.Invalid,
		verdict.Invalid: verdict.Invalid, verdict.Error: verdict.Invalid,
	} {
		all := skippedLevels(blocks, ledger.Level{Name: "stress", Verdict: was})
		if len(all) != 3 || all[0].Verdict != was || all[1].Verdict != want || all[2].Verdict != want {
			t.Errorf("after %s: %+v", was, all)
		}
	}
}
