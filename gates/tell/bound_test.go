package tell

import (
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

func TestBoundWords(t *testing.T) {
	shares := []verdict.Arg{
		verdict.Span("idle", 0.1, 0.55, "share"), verdict.Span("memory", 0.4, 0.42, "share"), verdict.Num("compute", 0, "share"),
		verdict.Num("communication", 0, "share"), verdict.Num("rest", 0.0625, "share"),
	}
	check(t, []said{
		{verdict.New(code.BoundHost, verdict.Span("share", 0.571, 0.782, "share")).On("decode"), "decode is bound by the host: no GPU is busy for 57% to 78% of a step"},
		{verdict.New(code.BoundCommunication, verdict.Num("share", 0.6, "share")).On("prefill"), "prefill is bound by communication: 60% of a step"},
		{
			verdict.New(code.BoundMemory, verdict.Num("share", 0.7906, "share"), verdict.Num("of_limit", 0.44, "share")).On("decode"),
			"decode is bound by memory bandwidth: kernels limited by it take 79% of a step and reach 44% of it",
		},
		{
			verdict.New(code.BoundCompute, verdict.Num("share", 0.7906, "share"), verdict.Num("of_limit", 0.44, "share")).On("prefill"),
			"prefill is bound by compute: kernels limited by it take 79% of a step and reach 44% of the peak",
		},
		{verdict.New(code.BoundUnknown).On("decode").From(verdict.New(code.NoLimit)), "cannot tell what bounds decode: no lower limit is known for the time of its kernels"},
		{verdict.New(code.BoundUnknown).On("decode").From(verdict.New(code.SumsOnly)), "cannot tell what bounds decode: the profile has sums of kernels, not how long a step takes"},
		{
			verdict.New(code.BoundUnknown).On("decode").From(verdict.New(code.KernelsUnseen, verdict.List("categories", []string{"moe", "lm_head"}))),
			"cannot tell what bounds decode: the profile does not show all kernels that the model needs (moe, lm_head)",
		},
		{
			verdict.New(code.ProfilerSlowed, shares...),
			"it depends on how much the profiler slowed the step down: no GPU is busy for 10% to 55% of it, memory bandwidth takes 40% to 42%, compute 0%, communication 0%, kernels without a limit 6.2%",
		},
		{
			verdict.New(code.AboveLimit, verdict.List("categories", []string{"moe"})),
			"moe is above its limit: it reads smaller formats than config.json names, or fewer experts than independently routed tokens would use",
		},
		{verdict.New(code.HeadTaken).On("nvjet_TNT"), "the output projection (lm_head) is taken to be nvjet_TNT, the only dense GEMM that runs once per step and takes long enough"},
		{verdict.New(code.NothingMost, shares...), "nothing takes most of a step: no GPU is busy for 10% to 55% of it, memory bandwidth takes 40% to 42%, compute 0%, communication 0%, kernels without a limit 6.2%"},
	})
}
