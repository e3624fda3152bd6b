package tell

import (
	"fmt"
	"math"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

var sessionPhrases = phrases{
	code.LaunchesPerArm:   "{most?decided after {n} of up to {most} launches per arm}{most!{n|launch|launches} per arm}",
	code.LaunchLost:       "launch {number} ({variant})",
	code.LaunchesKept:     "{n} of {least?{least}–}{most} launches kept",
	code.MachineDisturbed: "disturbed by this machine; the next apply repeats it",
	code.ReferenceLost:    "{subject} was not measured",
	code.LaunchReplaced:   "launch {subject} was replaced",
	code.LaunchAgain:      "{causes}",
	code.CrashedAgain:     "{subject} crashed again in a fresh launch ({launches:and}), while {other} survived the same load in {other_launches|launch|launches}: {causes}",
	code.ReplacedOf:       "{n} of {of} launches of {subject} and {other_n} of {other_of} of {other} were replaced{many?: so many that the cause matters, because an engine whose slow launches do not count picks its own sample}",
	code.CrashIs:          "{subject}",
	code.CountsCrashes:    "includes earlier starts that crashed: {launches}",
	code.SessionClosed:    "no launches are added to those of {subject}, which was retracted by {by}: {reason}; --rerun measures again",
	code.NotMeasured:      "not measured",
	code.NotMeasuredApart: "not measured: {causes}",
	code.NothingUnderTest: "nothing under test: the candidate is the same variant as {parent}",
	code.ConfirmsNothing:  "confirms nothing: with the knobs of {subject}, engine.{engine} starts exactly as engine.{first} does",
	code.OnlyBenchmark:    "the protocol has no level other than the benchmark",

	code.Resolves: func(r verdict.Reason) string {
		clear := ""
		if v := r.Args["clear"]; v.Number != nil {
			clear = fmt.Sprintf(", 2 decide what is %s beyond the threshold", roughly(v))
		}
		return fmt.Sprintf("%s: %s launches per arm resolve %s, %s resolve %s%s (launches vary by %s, up to %s)", r.Subject,
			Value(r.Args["few"]), roughly(r.Args["with_few"]), Value(r.Args["many"]), roughly(r.Args["with_many"]), clear,
			roughly(r.Args["differ"]), roughly(r.Args["differ_bound"]))
	},
	code.ResolvesRounding: "{subject}: all recorded launches gave the same value: only rounding limits what they resolve",
	code.Unresolved: func(r verdict.Reason) string {
		return fmt.Sprintf("warning: %s is %s away from no change, and %s launches per arm resolve %s: expect inconclusive unless the effect is larger",
			r.Subject, roughly(r.Args["margin"]), Value(r.Args["launches"]), roughly(r.Args["resolves"]))
	},
	code.Attainable: "{subject}: at most {most} with {kernels} as fast, which takes {saved:2} off a {phase} step of {step:3} (profile of {launch})",
	code.Unattainable: func(r verdict.Reason) string {
		claimed, most := r.Args["claimed"], r.Args["most"]
		if claimed.Number == nil || most.Number == nil {
			return fill("warning: the hypothesis of {subject} is out of reach", r)
		}
		claims, allows := Apart(*claimed.Number, *most.Number, claimed.Unit)
		return fmt.Sprintf(fill("warning: the hypothesis is out of reach: it claims %s of {subject}, and {kernels} as fast gives at most %s, "+
			"as it takes {saved:2} off a {phase} step of {step:3} (profile of {launch})", r), claims, allows)
	},
	code.Unforeseen:    "{subject}: unknown what {kernels} as fast can gain: {causes}",
	code.Unprofiled:    "no profile of {subject} is on record (level \"profile\" takes one)",
	code.NotOfSteps:    "{subject} does not follow from how long steps take; medians and means of tg, tpot, itl, pp, ttft and ttfr do",
	code.NotRelative:   "{expect} is a level, not a change",
	code.NotClosed:     "an open loop has no number of requests at once",
	code.NoPart:        "the profile has no {subject} at {requests|request|requests} at once whose steps are counted",
	code.NoKernels:     "the profile shows no {subject} kernels; it has {has}",
	code.NothingLeft:   "these kernels overlap with others for the whole step, so nothing bounds it",
	code.ProfileUnread: "the profile cannot be used: {error}",
}

// roughly is a ratio in two digits, which may be far above 1.
func roughly(v verdict.Value) string {
	if v.Number == nil {
		return Value(v)
	}
	x := *v.Number
	if a := 100 * math.Abs(x); a >= 99.5 && a < 1e7 {
		return fmt.Sprintf("%.0f%%", 100*x)
	}
	return fmt.Sprintf("%.2g%%", 100*x)
}
