package tell

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

var rulePhrases = phrases{
	code.AsWanted:    whole(compared),
	code.NotAsWanted: whole(compared),
	code.Truth:       "{subject} is {is}",
	code.RestsOn:     restsOn,
	code.ValueSeen:   "{value}, " + restsOn,

	code.Shown:           shown("{name}{bound}, " + perArm),
	code.ShownAgainst:    shown("{name}{bound}, " + perArm),
	code.Clear:           shown("{name}{bound}, " + clear),
	code.ClearAgainst:    shown("{name}{bound}, " + clear),
	code.Screened:        perArm + ": too far off for more to help",
	code.Futile:          shown("{name}{within}, " + perArm + ": undecided, more had a {chance:2} chance of deciding"),
	code.CouldNotTell:    shown("{name}{within}, " + perArm + ": undecided"),
	code.GoesOn:          shown("{name}{within}, {launches} of up to {most} launches{against? per arm}: undecided"),
	code.VerdictTakes:    perArm + ": a verdict needs {takes}{unrecorded? where no launch-to-launch variance is recorded}",
	code.SaysNothing:     perArm + ": launch-to-launch variance unknown",
	code.BeforeFirstLook: perArm + ": undecided, first look at {first}",
	code.NotPaired:       "not paired with a launch of the other arm, so not counted: {launches:and}",

	code.RangeShown:        shown("{name}{bound} over all " + anyLaunch + ", " + perArm),
	code.RangeShownAgainst: shown("{name}{bound} at best, " + perArm),
	code.RangeStraddles:    shown("{name}{within} over all " + anyLaunch + ", " + perArm + ": undecided"),
	code.RangeGoesOn:       "{launches} of at least {takes} launches{against? per arm}: undecided",

	code.Drifts:       "{subject} drifts by {by} from the first half of a launch's requests to the second, and one arm alone cannot cancel that",
	code.DriftUnknown: "drift within launches is not a finite number",

	code.SomePairs:    "undecided: true for some launches, false for others",
	code.MayBeMore:    "up to {most} allowed: undecided",
	code.Crashed:      "{crashes} of {starts} starts crashed",
	code.CrashesBelow: "crash rate below {share:2} with 95% confidence",

	code.WithinRounds: "rounds ran on {places:and}: the arms are compared within each round, by the spread of the rounds' differences",
	code.OnEach:       "launches ran on {places:and}: the level must hold on each of them",
	code.Floored:      "each arm's standard deviation is taken as at least {sd:2}, by which launches of this engine differed before this session ({df:3} degrees of freedom{sessions?, measured in {sessions:and}}): stored noise may widen a verdict, never narrow it",
	code.ClearBy:      "two launches per arm decide by the noise on record: launches of this engine differed by {sd:2} before this session ({df:3} degrees of freedom{sessions?, measured in {sessions:and}}), taken as 20 times larger for one arm. The effect is at least {margin:2} beyond the threshold, and the launches of each arm agree",
	code.Settles:      "about " + perArm + " would probably settle it ({chance} chance, if the estimate and the spread stay){more?, {more} more}{most?; the plan makes at most {most}. Continuing needs a larger max in its decision block, declared before the first launch}",
	code.SettlesNever: "even " + perArm + ", the most that a plan can make, would probably not settle it: the effect is too close to the threshold for this launch-to-launch variance. Reduce the variance",

	code.Missing:          "{subject}",
	code.NotFinite:        "not a finite number",
	code.NotSet:           "the case does not set it",
	code.NotSent:          "{suite?suite {suite:q} does}{suite!the benchmark of protocol {protocol:q} does} not send workload {subject}{suites?; {suites:or} does}",
	code.NoReader:         "no reader for inputs of kind {kind:q}",
	code.KnobUnknown:      "the candidate's value of knob {subject} is unknown",
	code.LevelNotRun:      "level {subject} of feature {feature} was not run",
	code.FeatureUndecided: "feature {subject} is undecided",
	code.NoOutcome:        ofFeature + " {verdict:did}",
	code.UnknownOutcome:   "feature {subject} has the unknown verdict {word:q}",
	code.AcceptedAnyway:   "feature {subject} was accepted although it {verdict:did}",

	code.Unmeasured:         "no launch of {subject} was measured",
	code.Unqualified:        "no qualification launch of {subject} found {metric}",
	code.MetricLacking:      "launch {subject} has no {metric}{others?, although others have it}{causes?: {causes}}{recorded? (mxflow show {recorded})}",
	code.StatLacking:        "not enough samples in launch {subject}: no {stat} of {samples}",
	code.SamplesLacking:     "not enough samples in launch {subject}: {samples} of at least {least}",
	code.StatNotFinite:      "{metric}.{stat} of launch {subject} is not a finite number",
	code.RequestsUnknown:    "launch {subject} does not say how many requests {metric} comes from",
	code.CorrectedApart:     "launch {subject} corrected {metric} by latency mode {is:q}, earlier ones by mode {was:q}: not comparable",
	code.UnitsApart:         "launch {subject} gives {metric} in {is:q}, earlier ones in {was:q}: measure all of them the same way",
	code.ArmsCorrectedApart: "launches of {subject} corrected {metric} by latency mode {is:q}, those of {against} by mode {was:q}: not comparable",
	code.ArmsUnitsApart:     "launches of {subject} give {metric} in {is:q}, those of {against} in {was:q}: measure both the same way",
	code.NotAboveZero:       "a {arm?ratio}{arm!test in logs} needs values above zero, but launch {subject}{arm? ({arm})} has {value}{arm?; for values that may be zero use .delta}",
	code.RatioImpossible:    "{error}; for values that may be zero use .delta",
	code.RoundApart:         "launches of round {round} of {subject} ran on two places, {places:and}: not comparable, since devices differ",
	code.RoundTwice:         "{subject} has two launches of round {round}, {launches:and}: unknown which one is paired with the other arm's",
	code.Unsaid:             "launch {subject} did not observe {name}",
	code.NotLookedFor:       "not looked for",
	code.SaidApart:          "launches of {subject} differ: {name} is {was} in launch {other}, {is} in launch {launch}",
	code.SaidUnfit:          "{subject} was observed as {is}, which is not a {kind}",
	code.FewLaunches:        "{launches|launch|launches} of at least {least}: launches of one engine differ",
	code.NoAverage:          "{subject}: {error}",
	code.NothingOf:          "nothing of {subject} was measured",
	code.NotFresh:           "{would?{would} by the numbers, but }launches of {arms:and} were not fresh starts: the server was already running, so launch-to-launch variance is unknown; give its endpoint a restart command",
	code.RowNotFresh:        "its launches were not fresh starts: the server was already running; give its endpoint a restart command",
	code.OfReference:        "the reference",

	code.AbsentCell:     "nothing of {subject} was measured in it",
	code.AbsentFailed:   "all {requests} requests failed",
	code.AbsentText:     "no answer had any text",
	code.AbsentCount:    "the server does not report how many tokens prompts have",
	code.AbsentRetried:  "each of its {requests} requests was sent again, so it is unknown when its prefill began",
	code.AbsentCached:   "every prompt was cached in full",
	code.AbsentOneToken: "no answer has more than one token",
	code.AbsentOnePiece: "each answer came in one piece, with no time between tokens: ask for more tokens",
	code.AbsentEvidence: func(r verdict.Reason) string {
		m, _ := measure.LookupAddress(r.Subject)
		return "it needs " + cmp.Or(m.Evidence, "something that this version does not know")
	},
	code.NoSuchStat:  "no statistic is called {subject:q}",
	code.FewSamples:  "not enough samples ({samples} of at least {least})",
	code.NotDefined:  "not defined: the mean is not above zero",
	code.StatUnknown: "not known",

	code.NoRuleGiven:  "there is no rule (a bug in mxflow, not in the plan)",
	code.NotCompiled:  "the rule was not compiled (a bug in mxflow, not in the plan)",
	code.Incomparable: "cannot compare {left} {op} {right}",
	code.OutOfReach:   "{subject} can never be {limit}, so this comparison decides nothing",
}

const (
	restsOn   = "{base_n?{n} against {base_n|launch|launches}}{base_n!{n|launch|launches}}{interval?, 95% CI {interval}}"
	perArm    = "{launches|launch|launches}{against? per arm}"
	clear     = "clear at " + perArm + ": {times:2} recorded standard deviations from the threshold"
	anyLaunch = "{against?pairs of }launches"
	ofFeature = "{level?level {level} of }feature {subject}"
)

// shown is a template for a test's result, in which {bound} is its one bound, {within}
// both, and {name} what was tested if that must be named.
func shown(template string) func(verdict.Reason) string {
	return func(r verdict.Reason) string {
		args := verdict.Args{"bound": {Text: bound(r)}, "within": {Text: within(r)}, "name": {Text: r.Subject}}
		if r.Subject != "" {
			args["name"] = verdict.Value{Text: r.Subject + " "}
		}
		maps.Copy(args, r.Args)
		r.Args = args
		return fill(template, r)
	}
}

// bound is "lower bound +19.3%", formatted to differ from the limit that it clears.
func bound(r verdict.Reason) string {
	for _, side := range [][2]string{{"at_least", "lower bound"}, {"at_most", "upper bound"}} {
		if v := r.Args[side[0]]; v.Number != nil {
			text, _ := sides(v, r.Args["limit"])
			return side[1] + " " + text
		}
	}
	return "no finite bound"
}

func within(r verdict.Reason) string {
	v := r.Args["between"]
	if v.Number == nil || v.To == nil {
		return "no finite bounds"
	}
	low, high := Apart(*v.Number, *v.To, v.Unit)
	return "bounds " + low + " to " + high
}

// sides formats both sides of a comparison so that they look different if they are.
func sides(left, right verdict.Value) (string, string) {
	if left.Number == nil || right.Number == nil || left.Unit != right.Unit {
		return alone(left), alone(right)
	}
	a, b := Apart(*left.Number, *right.Number, left.Unit)
	if left.To == nil && right.To == nil {
		return a, b
	}
	x, y := Apart(end(left), end(right), left.Unit)
	return fromTo(a, x), fromTo(b, y)
}

// alone is one side by itself.
func alone(v verdict.Value) string {
	if v.Number == nil || v.To == nil {
		return Value(v)
	}
	return fromTo(Apart(*v.Number, *v.To, v.Unit))
}

func end(v verdict.Value) float64 {
	if v.To != nil {
		return *v.To
	}
	return *v.Number
}

// fromTo is "0 to 2 tokens".
func fromTo(low, high string) string {
	if low == high {
		return low
	}
	number, unit, _ := strings.Cut(low, " ")
	if _, other, _ := strings.Cut(high, " "); unit == other {
		low = number
	}
	return low + " to " + high
}

// compared is one comparison with its evidence, in the notation used everywhere:
// "chat.tg.gain +21.5% (required ≥ +10%, lower bound +20.3%, 4 launches per arm)".
func compared(r verdict.Reason) string {
	is, want := sides(r.Args["is"], r.Args["wanted"])
	op := r.Args["op"].Text
	required := "required " + wish(op, want, r.Args["of"].Text, present(r.Args["negated"]))
	if is == want && op == "==" && r.Code == code.AsWanted {
		required = "as required"
	}
	switch r.Args["each"].Text {
	case "launch":
		required += " in every launch"
	case "pair":
		required += " for every pair of launches"
	}
	evidence := []string{required}
	var rests, behind []verdict.Reason
	for _, c := range r.Causes {
		if c.Code == code.RestsOn {
			rests = append(rests, c)
		}
	}
	for _, c := range rests {
		line := Line(c)
		if len(rests) > 1 {
			line = c.Subject + " from " + line
		}
		evidence = append(evidence, line)
	}
	for _, c := range r.Causes {
		switch {
		case c.Code == code.RestsOn:
		case brackets[c.Code]:
			evidence = append(evidence, Line(c))
		default:
			behind = append(behind, c)
		}
	}
	return fill("{subject} ", r) + is + fill("{launch? in launch {launch} of {launches}}", r) + " (" + strings.Join(evidence, ", ") + ")" + Because(behind)
}

// brackets are the causes of a comparison that are printed in its brackets.
var brackets = map[code.Code]bool{
	code.Shown: true, code.ShownAgainst: true, code.Clear: true, code.ClearAgainst: true, code.Screened: true, code.Futile: true, code.CouldNotTell: true, code.GoesOn: true,
	code.VerdictTakes: true, code.SaysNothing: true, code.BeforeFirstLook: true,
	code.RangeShown: true, code.RangeShownAgainst: true, code.RangeStraddles: true, code.RangeGoesOn: true,
	code.MayBeMore: true, code.SomePairs: true, code.Crashed: true, code.CrashesBelow: true,
}

// wish is what a comparison requires: "≥ +10%", "pass", "> target.other.chat.tg = 57.85
// tok/s".
func wish(op, value, of string, negated bool) string {
	value = Exact(value)
	if of != "" {
		value = of + " = " + value
	}
	if negated {
		op = map[string]string{"==": "!=", "!=": "==", "in": "not in", ">=": "<", ">": "<=", "<=": ">", "<": ">="}[op]
	}
	switch op {
	case "==":
		return value
	case "!=":
		return "anything but " + value
	case "in":
		return "one of " + value
	case "not in":
		return "none of " + value
	}
	return relation(op) + " " + value
}

// relation is an operator in prose: "≥" for ">=".
func relation(op string) string {
	return strings.NewReplacer(">=", "≥", "<=", "≤").Replace(op)
}

// Input is a value that a rule read on one line, with the estimate of it and its evidence,
// and the values of its launches on lines of their own.
func Input(in verdict.Input, e verdict.Estimate) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s = ", in.Path)
	switch {
	case e.Value != nil && e.Low != nil && e.High != nil:
		b.WriteString(Estimate(e, in.Unit))
	case e.Value != nil && in.Unit == "ratio":
		b.WriteString(Number(*e.Value, in.Unit)) // as in the sentence above it
	case e.Value != nil:
		b.WriteString(Digits(*e.Value, in.Unit, 2))
	case in.Text != nil:
		return b.String() + *in.Text
	default:
		return b.String() + "missing: " + Line(in.Missing)
	}
	if in.N > 0 {
		fmt.Fprintf(&b, "  n = %d launches", in.N)
	}
	if in.BaseN > 0 {
		fmt.Fprintf(&b, " against %d", in.BaseN)
	}
	if in.NRequests > 0 {
		fmt.Fprintf(&b, ", %d requests", in.NRequests)
	}
	if e.N < in.N {
		fmt.Fprintf(&b, ", decided on the first %d", e.N)
	}
	if len(in.PerLaunch) > 0 {
		fmt.Fprintf(&b, "\n      launches %s", Value(verdict.Value{Numbers: in.PerLaunch}))
	}
	if len(in.BasePerLaunch) > 0 {
		fmt.Fprintf(&b, "\n      against  %s", Value(verdict.Value{Numbers: in.BasePerLaunch}))
	}
	return b.String()
}

// Estimate is a number with the bounds of the decision that it comes from, or with its 95%
// interval.
func Estimate(e verdict.Estimate, unit string) string {
	if e.Decided {
		return Interval(*e.Value, e.Low, e.High, unit)
	}
	return CI(*e.Value, e.Low, e.High, unit)
}
