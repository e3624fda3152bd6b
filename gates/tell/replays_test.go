package tell

import (
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

func TestReplays(t *testing.T) {
	arch, tolerance := verdict.Text("arch", "arm64"), verdict.Num("tolerance", 1e-9, "")
	sealed := verdict.List("sealed", []string{"env.KEY", "var.token"})
	unrecorded := verdict.Text("unrecorded", "variables")
	mistake := verdict.Text("error", "plan.hcl:3: no such thing.")
	check(t, []said{
		{verdict.New(code.NoRule).From(words("the engine died")), "it was decided without a rule: the engine died"},
		{verdict.New(code.KeptNotWhat), "its record does not hold by what it was decided"},
		{verdict.New(code.LaunchUnrecorded).On("s-1.x.1"), "launch s-1.x.1, which the decision rests on, is not in the ledger"},
		{verdict.New(code.LaunchUnrecorded, verdict.Text("feature", "kv")).On("s-1.x.1"), "launch s-1.x.1, which feature kv rests on, is not in the ledger"},
		{verdict.New(code.NoRawData).On("s-1.x.1").From(verdict.New(code.RawUnread, verdict.Text("of", "samples"), verdict.Text("error", "file does not exist"))), "launch s-1.x.1 has no raw data to decide by: samples: file does not exist"},
		{verdict.New(code.RawUnnamed), "its record names no raw data"},

		{verdict.New(code.PlanUnrecorded), "its run has no record of its plan"},
		{verdict.New(code.PlanTextless), "its run kept no text of the plan"},
		{verdict.New(code.PlanFileGone).On("a.hcl"), "file a.hcl of the plan was not kept"},
		{verdict.New(code.PlanFileUnread, verdict.Text("error", "damaged")).On("a.hcl"), "file a.hcl of the plan: damaged"},
		{verdict.New(code.PlanFileElsewhere).On("a.hcl"), "file a.hcl of the plan lies elsewhere than the plan"},
		{verdict.New(code.PlanFileElsewhere, verdict.Text("error", "no way there")).On("a.hcl"), "file a.hcl of the plan lies elsewhere than the plan: no way there"},
		{verdict.New(code.PlanUncompiled, verdict.Err(nil)), "the recorded plan cannot be compiled: it has mistakes"},
		{verdict.New(code.RuleUncompiled, mistake).On("fast"), `rule "fast" cannot be compiled any more: plan.hcl:3: no such thing.`},
		{verdict.New(code.PlanInexact), "The recorded plan has another digest although all that was given to it is on record: this version of mxflow reads it otherwise. Each rule was compiled from the text that the decision recorded."},
		{verdict.New(code.PlanInexact, unrecorded), "The recorded plan has another digest without the variables that were given to it, which its run does not record; each rule was compiled from the text that the decision recorded. With --var and --var-file as they were given then, all of the plan is checked."},
		{verdict.New(code.PlanInexact, sealed), "The recorded plan has another digest without env.KEY, var.token, which no run records, since it may be secret; each rule was compiled from the text that the decision recorded. Given again as they were then (--var, --var-file, MXFLOW_VAR_name or the environment), all of the plan is checked."},
		{verdict.New(code.ComparedInexact), "Whether the changed plan starts, sends and demands what was measured was compared with the recorded plan as it comes out by this version of mxflow, which reads it otherwise than the one that recorded it."},
		{verdict.New(code.ComparedInexact, unrecorded), "Whether the changed plan starts, sends and demands what was measured was compared with the recorded plan as it comes out without the variables that no run records: give --var and --var-file as they were given then."},
		{verdict.New(code.ComparedInexact, sealed), "Whether the changed plan starts, sends and demands what was measured was compared with the recorded plan as it comes out without env.KEY, var.token, which no run records, since it may be secret: give it as it was given then."},

		{verdict.New(code.TestsOnly).From(verdict.New(code.PlanUnrecorded)), "Only the recorded tests were computed again: its run has no record of its plan."},
		{verdict.New(code.DecidedElsewhere, arch, tolerance), "It was decided on arm64, so numbers had to agree within 1e-09 only."},
		{verdict.New(code.RecordedElsewhere, arch, tolerance).On("s-1.x.1"), "Launch s-1.x.1 was recorded on arm64, so its statistics had to agree within 1e-09 only; rules were decided by the recorded ones."},
		{verdict.New(code.LaunchNote).On("s-1.x.1").From(verdict.New(code.RawUnnamed)), "Launch s-1.x.1: its record names no raw data."},
		{verdict.New(code.BestUnknown).On("head"), "Which alternative of head is best was not worked out again."},
	})
}

func TestReplaysOfAnotherPlan(t *testing.T) {
	now, was := verdict.Text("now", "on"), verdict.Text("was", "off")
	sealed := verdict.List("sealed", []string{"var.token"})
	unrecorded := verdict.Text("unrecorded", "variables")
	mistake := verdict.New(code.PlanUncompiled, verdict.Text("error", "no such thing."))
	starts := []verdict.Reason{
		verdict.New(code.StartsBaseline), verdict.New(code.KnobChanges).On("kv"), verdict.New(code.StartsEngine).On("a.b"),
		verdict.New(code.KnobValue, verdict.Text("value", "on")).On("kv"), verdict.New(code.StartsLevel).On("smoke"),
		verdict.New(code.StartsLevel, verdict.Text("candidate", "head")).On("smoke"), verdict.New(code.StartsParent).On("head"),
		verdict.New(code.StartsWorkload).On("chat"), verdict.New(code.StartsOrder),
	}
	check(t, []said{
		{verdict.New(code.WouldBe).On("phase.zero").Is(verdict.Fail), "phase.zero would be fail"},
		{verdict.New(code.NotReached).From(verdict.New(code.WouldBe).On("phase.zero").Is(verdict.Fail)), "an apply would not come to it, because phase.zero would be fail"},
		{verdict.New(code.NeverMeasured), "it was never measured: an apply would measure it, and what would come out is not known"},
		{verdict.New(code.NeverMeasured).On("head"), "head was never measured: an apply would measure it, and what would come out is not known"},
		{verdict.New(code.NothingKept).Is(verdict.Error), "nothing was kept that it could be decided by"},
		{verdict.New(code.NothingKept).Is(verdict.Error).From(words("it broke")), "nothing was kept that it could be decided by; it was recorded as error: it broke"},
		{verdict.New(code.RawDiffer, verdict.Int("differences", 2)), "it is decided by raw data that say otherwise than the record does (2 differences, which mxflow audit replay lists)"},
		{verdict.New(code.RetractedStays).From(verdict.New(code.RetractedBy, verdict.Text("by", "kim"), verdict.Text("reason", "cached"))), "retracted by kim: cached: an apply does not let these launches pass again"},
		{verdict.New(code.Rule).On("fast").Is(verdict.Inconclusive).From(words("+9%"), verdict.New(code.MoreNeeded, verdict.Int("n", 4), verdict.Int("most", 8))), "fast: inconclusive: +9%; 4 launches an arm were made, and more would be needed (up to 8)"},
		{verdict.New(code.LevelRecorded).On("smoke").Is(verdict.Fail), "level smoke is fail, as recorded"},
		{verdict.New(code.StepRecorded).On("exec x").Is(verdict.Pass), "step exec x is pass, as recorded"},
		{verdict.New(code.StepNeverRun).On("exec x"), "step exec x was never run: an apply would run it, and what would come out is not known"},
		{verdict.New(code.StepOther).On("exec x"), "step exec x is not what was run: an apply would run it, and what would come out is not known"},
		{verdict.New(code.StepUnknown, unrecorded).On("exec x").From(mistake), "whether step exec x is what was run is not known: the recorded plan cannot be compiled: no such thing. If the recorded plan needs variables, give --var and --var-file as they were given then"},
		{verdict.New(code.NoneWouldPass), "no alternative would have passed"},
		{verdict.New(code.WouldWin).On("v0"), "v0 would have won"},
		{verdict.New(code.WouldWin, verdict.Text("over", "v1")).On("v0"), "v0 would have won and not v1: what was measured on top of that was measured on another stack"},
		{verdict.New(code.NeverOnEngine).On("a.b"), "it was never measured on engine.a.b, which would have to confirm it"},
		{verdict.New(code.NothingOnEngine).On("a.b"), "nothing is kept of it on engine.a.b"},
		{verdict.New(code.OnEngine).On("a.b").Is(verdict.Fail).From(words("too slow")), "on engine.a.b: fail: too slow"},
		{verdict.New(code.WouldNotEnter).On("kv"), "it would not enter the stack: kv, which it builds on, would not be in it"},
		{verdict.New(code.ReadsUnmeasured, verdict.Text("feature", "kv")).On("fast").From(verdict.New(code.NeverMeasured)), `rule "fast" reads feature kv: it was never measured: an apply would measure it, and what would come out is not known`},
		{verdict.New(code.ReadsDoubted).On("kv"), "it reads feature kv, of whose evidence nothing passes here"},
		{verdict.New(code.OutcomeUnknown).On("kv"), "what would have become of feature kv is not known"},

		{verdict.New(code.OtherKnob, now, was).On("kv"), `the changed plan sets knob kv to "on", and "off" is what was measured: only an apply can tell`},
		{verdict.New(code.OtherStack, now, was).On("kv"), `it would build on another stack, with knob kv at "on", and "off" is what it was measured on: only an apply can tell`},
		{verdict.New(code.PerhapsUnder).On("kv").Is(verdict.Inconclusive), "it builds on what is accepted, and whether feature kv would be in that is not known, which would be inconclusive: an apply would measure it, and this one on top of it where it is accepted"},
		{verdict.New(code.PerhapsUnder, verdict.Text("how", "locked")).On("kv"), "it builds on what is accepted, and whether feature kv would be in that is not known, which would be locked by what is not known: an apply would measure it, and this one on top of it where it is accepted"},
		{verdict.New(code.PerhapsUnder, verdict.Text("how", "over")).On("kv"), "it builds on what is accepted, and whether feature kv would be in that is not known, which would be on a feature of which the same is true: an apply would measure it, and this one on top of it where it is accepted"},
		{verdict.New(code.StartsOther).From(starts...), "the changed plan starts, sends or demands something else than was measured (baseline, changes of knob kv, engine a.b, knob kv = on, level smoke of the baseline, level smoke of head, parent of head, workload chat, the order of levels or workloads): only an apply can tell"},
		{verdict.New(code.StartsMore).From(starts[3]), "the changed plan asks for something that was never measured (knob kv = on): an apply would measure it, and what would come out is not known"},
		{verdict.New(code.StartsUnknown, sealed).From(mistake), "whether the changed plan starts, sends and demands what was measured is not known: the recorded plan cannot be compiled: no such thing. What is sensitive is in no record: give var.token as it was then"},
		{verdict.New(code.StartsUnknown).From(verdict.New(code.PlanWithout).On("head")), "whether the changed plan starts, sends and demands what was measured is not known: the recorded plan comes out without head"},
		{verdict.New(code.SecretsUnknown, verdict.List("inputs", []string{"var.token"})), "whether what was sensitive is what was measured with is not known (var.token): give it as it was then, or an apply may measure again"},
	})
}
