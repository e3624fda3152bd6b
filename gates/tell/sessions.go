package tell

import (
	"fmt"
	"math"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

var sessionPhrases = phrases{
	code.LaunchesPerArm:   "{n|launch|launches} an arm{most? of at most {most}: more would change nothing}",
	code.LaunchLost:       "launch {number} ({variant})",
	code.LaunchReplaced:   "launch {subject} was replaced",
	code.LaunchAgain:      "{causes}",
	code.CountsCrashes:    "counts starts before it that crashed: {launches}",
	code.SessionClosed:    "no launch is added to those with which {subject} was retracted by {by}: {reason}; --rerun measures again",
	code.NotMeasured:      "not measured",
	code.NotMeasuredApart: "not measured, since it was seen when they were qualified that {causes}",
	code.NothingUnderTest: "the candidate is the same variant as {parent}, so there is nothing under test",
	code.ConfirmsNothing:  "with the knobs of {subject}, engine.{engine} is started just as engine.{first} is, so this would confirm nothing",
	code.OnlyBenchmark:    "the protocol has no level but the benchmark",

	code.Resolves: func(r verdict.Reason) string {
		return fmt.Sprintf("%s: %s launches an arm resolve %s, %s resolve %s (launches differ by %s, up to %s)", r.Subject,
			Value(r.Args["few"]), roughly(r.Args["with_few"]), Value(r.Args["many"]), roughly(r.Args["with_many"]),
			roughly(r.Args["differ"]), roughly(r.Args["differ_bound"]))
	},
	code.ResolvesRounding: "{subject}: all launches on record gave one value, so that what they resolve is limited by rounding alone",
	code.Unresolved: func(r verdict.Reason) string {
		return fmt.Sprintf("warning: %s stands %s from no change, and %s launches an arm resolve %s: expect inconclusive unless the effect is larger",
			r.Subject, roughly(r.Args["margin"]), Value(r.Args["launches"]), roughly(r.Args["resolves"]))
	},
}

// roughly is a part of a whole in two digits, which may be many times the whole.
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
