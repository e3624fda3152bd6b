package steps

import (
	"strings"
	"testing"

	"github.com/mxflow/mxflow/engine/logscan"
	"github.com/mxflow/mxflow/gates/tell"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/steps/variant"
)

func TestJudgeKernels(t *testing.T) {
	see := func(globs ...string) map[string]logscan.Match {
		m := map[string]logscan.Match{}
		for _, g := range globs {
			m[g] = logscan.Match{Count: 1, FirstLine: "a line", LineNo: 7}
		}
		return m
	}
	gemm := variant.Evidence{Knob: "moe", Value: "gemm", MustSee: []string{"*cutlass*"}, MustNotSee: []string{"*marlin*"}}
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
		{"one of two absent", []variant.Evidence{more, gemm}, see("*head f32*"), verdict.Fail, "\"*cutlass*\" must be in the log"},
		{"wrong path", []variant.Evidence{gemm}, see("*cutlass*", "*marlin*"), verdict.Fail, "must not be in the log"},
		{"unproven", []variant.Evidence{bare}, see("*cutlass*"), verdict.Inconclusive, "unproven"},
		{"unproven beside a proof", []variant.Evidence{gemm, bare}, see("*cutlass*"), verdict.Inconclusive, "unproven"},
		{"failed beside unproven", []variant.Evidence{bare, gemm}, see(), verdict.Fail, "must be in the log"},
		{"no knob", nil, see(), verdict.Inconclusive, "nothing to prove"},
	} {
		got, reasons, err := judgeKernels(c.wanted, c.seen)
		if err != nil || got != c.want || !strings.Contains(tell.Joined(reasons), c.says) {
			t.Errorf("%s: %s %q (%v), want %s saying %q", c.name, got, tell.Lines(reasons), err, c.want, c.says)
		}
		if verdict.Holds(reasons, code.Seen) != (got == verdict.Pass) {
			t.Errorf("%s: what was seen is said where it proves something, and else only what is missing: %q", c.name, tell.Lines(reasons))
		}
	}
}
