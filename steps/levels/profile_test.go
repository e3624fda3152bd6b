package levels

import (
	"testing"

	"github.com/mxflow/mxflow/engine/trace"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/steps/profiling"
	"github.com/mxflow/mxflow/steps/variant"
)

// What a profile hides could be any kernel: then nothing that must be seen is missing, and
// nothing that must not be seen is known to be absent.
func TestJudgeTrace(t *testing.T) {
	const marlin = "void marlin_moe_wna16::Marlin<1, 2>(int4 const*)"
	taken := func(file trace.File, kernels ...trace.Kernel) []profiling.WindowProfile {
		return []profiling.WindowProfile{{Analysis: &trace.Analysis{
			Files: []trace.File{file}, Parts: []trace.Part{{Phase: trace.Decode, Kernels: kernels}},
		}}}
	}
	ran := taken(trace.File{}, trace.Kernel{Name: marlin, Short: "Marlin", Count: 24, Total: 900}, trace.Kernel{Name: "nvjet_tst", Count: 8, Total: 100})
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
		{"not there", variant.Evidence{MustTrace: []string{"cutlass_grouped_gemm"}}, ran, verdict.Fail, "trace.not_seen"},
		{"not there, as far as one can see", variant.Evidence{MustTrace: []string{"marlin"}}, partly, verdict.Inconclusive, "trace.not_seen"},
		{"not to be there", variant.Evidence{MustNotTrace: []string{"marlin"}}, ran, verdict.Fail, "trace.wrongly_seen"},
		{"not there as wanted", variant.Evidence{MustNotTrace: []string{"cutlass"}}, ran, verdict.Pass, ""},
		{"perhaps there", variant.Evidence{MustNotTrace: []string{"marlin"}}, partly, verdict.Inconclusive, "trace.bare"},
		{"there, whatever is hidden", variant.Evidence{MustNotTrace: []string{"nvjet"}}, partly, verdict.Fail, "trace.wrongly_seen"},
		{"nothing asked for", variant.Evidence{}, partly, verdict.Pass, ""},
	} {
		v, why := judgeTrace([]variant.Evidence{tt.wanted}, tt.in)
		if v != tt.want || tt.code != "" && !verdict.Holds(why, tt.code) {
			t.Errorf("%s: %s %v, want %s with %s", tt.name, v, why, tt.want, tt.code)
		}
	}
}
