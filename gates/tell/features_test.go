package tell

import (
	"testing"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

func TestFeatures(t *testing.T) {
	came := func(value string, v verdict.Verdict, gain ...float64) verdict.Reason {
		r := verdict.New(code.Alternative)
		if len(gain) > 0 {
			r = verdict.New(code.Alternative, verdict.Num("gain", gain[0], "ratio"))
		}
		return r.On(value).Is(v)
	}
	metric := verdict.Text("metric", "w.tg")
	check(t, []said{
		{verdict.New(code.NoCriterion), "no criterion decides this feature"},
		{verdict.New(code.Trial), "a trial, which never enters the stack (accept = [])"},
		{verdict.New(code.NoBenchmark).On("quick"), "nothing was measured: protocol quick has no benchmark level"},
		{verdict.New(code.ParentNotAccepted).On("kv"), "not accepted: its parent kv is not in the stack"},
		{verdict.New(code.ChooserNotRun).On("sized").From(verdict.New(code.NotTargeted)), "feature sized, which makes the choice, was not run: left out by --target"},
		{verdict.New(code.ChosenUnknown, verdict.Text("knob", "size"), verdict.Text("value", "huge")).On("sized"), `feature sized was decided with size = "huge", which is not one of its alternatives`},
		{verdict.New(code.FirstUndecided).On("sized").From(words("baseline is fail")), "feature sized is undecided on the first engine: baseline is fail"},

		{verdict.New(code.Wins, verdict.Num("gain", 0.31, "ratio"), metric).On("v0").From(came("v1", verdict.Fail, 0.02), came("v2", verdict.Invalid)), "v0 wins +31.0% in w.tg over all launches; v1 fail +2.0%, v2 invalid"},
		{verdict.New(code.Wins, metric, verdict.Text("first", "yes")).On("v0").From(came("v1", verdict.Pass)), "v0 wins in w.tg; v1 pass; w.tg was not measured: the first in plan order is taken"},
		{verdict.New(code.NoneWins, verdict.Text("knob", "size"), metric).On("sized[v1]").From(came("v1", verdict.Fail, 0.01), came("v0", verdict.Fail, -0.03)), "no alternative of size passes: v1 fail +1.0%, v0 fail -3.0% (w.tg over all launches); reported below: sized[v1]"},
		{verdict.New(code.NoneWins, verdict.Text("knob", "size"), metric).On("sized[v1]").From(came("v1", verdict.Error), came("v0", verdict.Invalid)), "no alternative of size passes: v1 error, v0 invalid; reported below: sized[v1]"},

		{verdict.New(code.Confirmed).On("a.b").Is(verdict.Pass), "confirmed on engine.a.b"},
		{verdict.New(code.NotConfirmed).On("a.b").Is(verdict.Fail).From(words("too slow")), "not confirmed on engine.a.b, where it failed: too slow"},
		{verdict.New(code.NotTried, verdict.Text("without", "fail")).On("a.b"), "not tried on engine.a.b: fail regardless"},
		{verdict.New(code.ConfirmationNotRun).On("a.b").Is(verdict.Invalid).From(words("feature.x was retracted by kim")), "not confirmed on engine.a.b: feature.x was retracted by kim"},

		{verdict.New(code.TargetUncompared), "no rule compares it with a measurement"},
		{verdict.New(code.TargetNamesAlone), "no rule compares it with a measurement, and its name alone does not say which number it matches"},
		{verdict.New(code.TargetOfCells, verdict.Int("cells", 3)).On("chat"), "chat has 3 cells, and neither the target nor a rule says which one this number is for"},
		{verdict.New(code.TargetNotPrinted), "the baseline's engine is not a command that prints it"},
	})
}
