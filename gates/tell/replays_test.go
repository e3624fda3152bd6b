package tell

import (
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

func TestReplays(t *testing.T) {
	arch, tolerance := verdict.Text("arch", "arm64"), verdict.Num("tolerance", 1e-9, "")
	sealed := verdict.List("sealed", []string{"env.KEY", "var.token"})
	mistake := verdict.Text("error", "plan.hcl:3: no such thing.")
	check(t, []said{
		{verdict.New(code.NoRule).From(words("the engine died")), "decided without a rule: the engine died"},
		{verdict.New(code.KeptNotWhat), "its record does not hold what decided it"},
		{verdict.New(code.LaunchUnrecorded).On("s-1.x.1"), "launch s-1.x.1, which the decision depends on, is not in the ledger"},
		{verdict.New(code.LaunchUnrecorded, verdict.Text("feature", "kv")).On("s-1.x.1"), "launch s-1.x.1, which feature kv depends on, is not in the ledger"},
		{verdict.New(code.NoRawData).On("s-1.x.1").From(verdict.New(code.RawUnread, verdict.Text("of", "samples"), verdict.Text("error", "file does not exist"))), "launch s-1.x.1 has no raw data to decide from: samples: file does not exist"},
		{verdict.New(code.RawUnnamed), "its record names no raw data"},
		{verdict.New(code.ArmUnrecorded).On("cached"), "no launch of the session is of cached"},
		{verdict.New(code.LevelUnreplayed).On("stress"), "level stress keeps too little to be decided again"},
		{verdict.New(code.LevelUnkept, verdict.Text("error", "no such file")).On("smoke"), "what decided level smoke was not kept: no such file"},
		{verdict.New(code.RawOfAnother, verdict.Text("of", "raw samples"), verdict.Text("key", "launch"), verdict.Text("wanted", "s-1.x.1"), verdict.Text("found", "s-1.y.1")).On("s-1.x.1"), "the raw samples named by launch s-1.x.1 are of another launch: launch is s-1.y.1, not s-1.x.1"},

		{verdict.New(code.PlanUnrecorded), "its run did not record its plan"},
		{verdict.New(code.PlanTextless), "its run did not keep the plan's text"},
		{verdict.New(code.PlanFileGone).On("a.hcl"), "plan file a.hcl was not kept"},
		{verdict.New(code.PlanFileUnread, verdict.Text("error", "damaged")).On("a.hcl"), "plan file a.hcl: damaged"},
		{verdict.New(code.PlanFileElsewhere).On("a.hcl"), "plan file a.hcl has no path relative to the plan"},
		{verdict.New(code.PlanUncompiled, verdict.Err(nil)), "the recorded plan does not compile: it has errors"},
		{verdict.New(code.PlanSealed, verdict.List("set", []string{"KEY", "MXFLOW_VAR_token"})).On("r1"), "run r1 does not record what may be secret: set KEY, MXFLOW_VAR_token in the environment as it was then"},
		{verdict.New(code.PlanMoved, verdict.Text("run", "r1")).On("plan.hcl"), "plan.hcl is not what run r1 applied: the plan is shown as that run kept it"},
		{verdict.New(code.RuleUncompiled, mistake).On("fast"), `rule "fast" no longer compiles: plan.hcl:3: no such thing.`},
		{verdict.New(code.PlanInexact), "The recorded plan has another digest although all its inputs are recorded: this version of mxflow reads it differently. Each rule was compiled from the text recorded with its decision."},
		{verdict.New(code.PlanInexact, sealed), "The recorded plan has another digest without env.KEY, var.token, which no run records as it may be secret; each rule was compiled from the text recorded with its decision. To check the whole plan, give the same values (--var, --var-file, MXFLOW_VAR_name or the environment)."},

		{verdict.New(code.DecidedElsewhere, arch, tolerance), "Decided on arm64: numbers had to agree within 1e-09 only."},
		{verdict.New(code.RecordedElsewhere, arch, tolerance).On("s-1.x.1"), "Launch s-1.x.1 was recorded on arm64: its statistics had to agree within 1e-09 only, and rules were decided from the recorded ones."},
		{verdict.New(code.BestUnknown).On("head"), "The best alternative of head was not recomputed."},
	})
}

func TestReplaysOfAnotherPlan(t *testing.T) {
	sealed := verdict.List("sealed", []string{"var.token"})
	mistake := verdict.New(code.PlanUncompiled, verdict.Text("error", "no such thing."))
	starts := []verdict.Reason{
		verdict.New(code.StartsEngine).On("a.b"), verdict.New(code.KnobValue, verdict.Text("value", "on")).On("kv"), verdict.New(code.StartsLevel).On("smoke"),
		verdict.New(code.StartsLevel, verdict.Text("candidate", "head")).On("smoke"), verdict.New(code.StartsVariant).On("head"), verdict.New(code.StartsWorkload).On("chat"),
	}
	check(t, []said{
		{verdict.New(code.WouldBe).On("phase.zero").Is(verdict.Fail), "phase.zero would fail"},
		{verdict.New(code.NotReached).From(verdict.New(code.WouldBe).On("phase.zero").Is(verdict.Fail)), "apply would not reach it: phase.zero would fail"},
		{verdict.New(code.NeverMeasured), "it was never measured: apply would measure it; the outcome is unknown"},
		{verdict.New(code.RawDiffer, verdict.Int("differences", 2)), "its raw data contradict the record (2 differences, see mxflow audit replay)"},
		{verdict.New(code.RetractedStays).From(verdict.New(code.RetractedBy, verdict.Text("by", "kim"), verdict.Text("reason", "cached"))), "retracted by kim: cached: apply does not let these launches pass again"},
		{verdict.New(code.StepNeverRun).On("exec x"), "step exec x was never run: apply would run it; the outcome is unknown"},
		{verdict.New(code.StepOther).On("exec x"), "step exec x is not what was run: apply would run it; the outcome is unknown"},
		{verdict.New(code.OutcomeUnknown).On("kv"), "the outcome of feature kv is unknown"},

		{verdict.New(code.StackUnknown).On("kv").Is(verdict.Inconclusive), "it builds on the stack, and whether feature kv would be in it is unknown: apply would measure that one, and this one on top of it if accepted"},
		{verdict.New(code.StartsOther).From(starts...), "the changed plan starts, sends or requires something other than what was measured (engine a.b, knob kv = on, level smoke of the baseline, level smoke of head, variant head, workload chat): only apply can tell"},
		{verdict.New(code.StartsMore).From(starts[1]), "the changed plan needs something never measured (knob kv = on): apply would measure it; the outcome is unknown"},
		{verdict.New(code.StartsUnknown, sealed).From(mistake), "unknown whether the changed plan starts, sends and requires what was measured: the recorded plan does not compile: no such thing. Sensitive values are never recorded: give the same var.token"},
		{verdict.New(code.StartsUnknown).From(verdict.New(code.PlanWithout).On("head")), "unknown whether the changed plan starts, sends and requires what was measured: the recorded plan has no head"},
		{verdict.New(code.SecretsUnknown, verdict.List("inputs", []string{"var.token"})), "unknown whether sensitive inputs are those measured with (var.token): give the same values, or apply may measure again"},
	})
}
