package tell

import (
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

var rulePhrases = phrases{
	code.AsWanted:    whole(compared),
	code.NotAsWanted: whole(compared),
	code.Truth:       "{subject} is {is}",
	code.RestsOn:     restsOn,
	code.ValueSeen:   "{value}, " + restsOn,

	code.Shown:        shown("{name}{bound} shown, " + perArm + ", {p:is} ≤ {level}"),
	code.ShownAgainst: shown("{name}shown to be {bound}, " + perArm + ", {p:is} ≤ {level}"),
	code.Screened:     perArm + ", so far off that more are not worth it",
	code.Futile:       shown("{name}{within}: " + perArm + ", and a chance of {chance:2} that more would tell"),
	code.CouldNotTell: shown("{name}{within}: " + perArm + " could not tell"),
	code.GoesOn:       shown("{name}{within} after " + perArm + " of at most {most}"),
	code.VerdictTakes: perArm + " cannot tell, since a verdict takes {takes}{unrecorded? where no launch noise is recorded}",
	code.SaysNothing: func(r verdict.Reason) string {
		if n := r.Args["launches"].Number; n != nil && *n == 1 {
			return fill(perArm+" says nothing of how launches differ", r)
		}
		return fill(perArm+" say nothing of how launches differ", r)
	},
	code.BeforeFirstLook: perArm + ", and the first look is at {first}",
	code.NotPaired:       "without a launch of the other arm beside it, and not counted: {launches:and}",

	code.RangeShown:        shown("{name}{bound} of " + anyLaunch + ", " + perArm),
	code.RangeShownAgainst: shown("{name}{bound} even at best, " + perArm),
	code.RangeStraddles:    shown("{name}{within} of " + anyLaunch + ", " + perArm + ", so that the limit lies within"),
	code.RangeGoesOn:       perArm + " of at least {takes}",

	code.Drifts:       "within launches {subject} drifts by {by} from the first half of the requests to the second, and nothing stands beside one arm that would drift with it",
	code.DriftUnknown: "how requests drift within launches is not a finite number",

	code.SomePairs:    "it holds between some launches and not between others, and more launches would not mend that",
	code.MayBeMore:    "there may be up to {most|launch|launches}",
	code.Crashed:      "{crashes} of {starts} starts crashed",
	code.CrashesBelow: "which shows less than {share:2} (95% confidence)",

	code.Missing:          "{subject}",
	code.NotFinite:        "it is not a finite number",
	code.NotSent:          "{why}",
	code.NoReader:         "no reader for inputs of kind {kind:q}",
	code.KnobUnknown:      "the candidate's value of knob {subject} is not known",
	code.LevelNotRun:      "level {subject} of feature {feature} was not run",
	code.FeatureUndecided: "feature {subject} was not decided",
	code.NoOutcome:        ofFeature + " is {verdict}",
	code.UnknownOutcome:   ofFeature + " has the unknown verdict {word:q}",
	code.AcceptedAnyway:   "feature {subject} was accepted although it is {verdict}",
	code.NoSuchField:      "features have no {name:q}",

	code.Unmeasured:         "no launch of {subject} was measured",
	code.MetricLacking:      "launch {subject} has no {metric}{others?, and others have}{why?: {why}}{recorded? (mxflow show {recorded})}",
	code.StatLacking:        "not enough samples in launch {subject}: no {stat} is given of its {samples}",
	code.SamplesLacking:     "not enough samples in launch {subject}: {samples} of at least {least}",
	code.StatNotFinite:      "{metric}.{stat} of launch {subject} is not a finite number",
	code.RequestsUnknown:    "launch {subject} does not say how many requests {metric} comes from",
	code.CorrectedApart:     "launch {subject} corrected {metric} by a latency of mode {is:q}, and those before it of mode {was:q}, which do not compare",
	code.UnitsApart:         "launch {subject} gives {metric} in {is:q}, and those before it in {was:q}: measure all of them in the same way",
	code.ArmsCorrectedApart: "launches of {subject} corrected {metric} by a latency of mode {is:q} and those of {against} of mode {was:q}, which do not compare",
	code.ArmsUnitsApart:     "launches of {subject} give {metric} in {is:q} and those of {against} in {was:q}: measure both in the same way",
	code.NotAboveZero:       "a {arm?ratio}{arm!test in logs} needs values above zero, and launch {subject}{arm? ({arm})} has {value}{arm?; for values that may be zero use .delta}",
	code.RatioImpossible:    "{error}; for values that may be zero use .delta",
	code.RoundTwice:         "{subject} has two launches of round {round}, {launches:and}, so that it is not known which stood beside the other arm's",
	code.Unsaid:             "launch {subject} did not observe {name}",
	code.NotLookedFor:       "it was not looked for",
	code.SaidApart:          "launches of {subject} differ: {name} is {was} in launch {other} and {is} in launch {launch}",
	code.SaidUnfit:          "{subject} was observed as {is}, which is not a {kind}",
	code.FewLaunches:        "{launches|launch|launches}: at least {least} are needed, since two launches of one engine differ",
	code.NoAverage:          "{subject}: {error}",
	code.NothingOf:          "nothing was measured of {subject}",
	code.NotFresh:           "{would?would be {would}, but }launches of {arms:and} were no fresh starts: its server was running before them, so the numbers say nothing of how starts differ; give its endpoint a restart command",
	code.RowNotFresh:        "its server was running before its launches, so that they are no fresh starts; give its endpoint a restart command",
	code.OfReference:        "the reference",

	code.NoRuleGiven:  "there is no rule; this is a mistake in mxflow, not in the plan",
	code.NotCompiled:  "the rule was not compiled; this is a mistake in mxflow, not in the plan",
	code.NotComputed:  "the rule cannot be computed: {error}",
	code.NotYesOrNo:   "the rule gave {type}, not yes or no",
	code.Disagrees:    "the rule came out as {is}, against its own comparisons; this is a mistake in mxflow",
	code.Incomparable: "cannot compare {left} {op} {right}",
	code.OutOfReach:   "{subject} cannot be {limit}, whatever is measured, so that nothing is decided by comparing it with that",
	code.TooManyPairs: "{subject} counts over {arms} arms, whose launches are too many to hold each against each: compare them one by one",
}

const (
	restsOn   = "n = {base_n?{n} against {base_n|launch|launches}}{base_n!{n|launch|launches}}{interval?, 95% interval {interval}}"
	perArm    = "{launches|launch|launches}{against? an arm}"
	anyLaunch = "{against?any two }launches"
	ofFeature = "{level?level {level} of }feature {subject}"
)

// shown is a template of what a test says, in which {bound} is the one side of what was
// shown, {within} both, and {name} what was tested where that has to be said.
func shown(template string) func(verdict.Reason) string {
	return func(r verdict.Reason) string {
		args := verdict.Args{"bound": {Text: bound(r)}, "within": {Text: within(r)}, "name": {Text: r.Subject}}
		if r.Subject != "" {
			args["name"] = verdict.Value{Text: r.Subject + " "}
		}
		for name, v := range r.Args {
			args[name] = v
		}
		r.Args = args
		return fill(template, r)
	}
}

// bound is "at least +19.3%", written so that it does not look like the limit that it
// clears.
func bound(r verdict.Reason) string {
	for _, side := range []string{"at_least", "at_most"} {
		if v := r.Args[side]; v.Number != nil {
			text, _ := Sides(v, r.Args["limit"])
			return strings.ReplaceAll(side, "_", " ") + " " + text
		}
	}
	return "beyond any number"
}

func within(r verdict.Reason) string {
	v := r.Args["between"]
	if v.Number == nil || v.To == nil {
		return "anything"
	}
	low, high := Apart(*v.Number, *v.To, v.Unit)
	return "between " + low + " and " + high
}

// Sides writes both sides of a comparison so that they look different if they are.
func Sides(left, right verdict.Value) (string, string) {
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

// compared is one comparison with its evidence: what was found, what was wanted, and
// what decided it.
func compared(r verdict.Reason) string {
	is, want := Sides(r.Args["is"], r.Args["wanted"])
	op, negated := r.Args["op"].Text, present(r.Args["negated"])
	same := is == want && op == "=="
	wish := wish(op, want, negated) + fill("{of? of {of}}", r)
	text := fill("{subject} is ", r) + is + fill("{launch? in launch {launch} of {launches}}, ", r)
	switch {
	case r.Code == code.NotAsWanted:
		text += "wanted " + wish
	case same:
		text += "as wanted"
	default:
		text += "as wanted (" + wish + ")"
	}
	switch r.Args["each"].Text {
	case "launch":
		text += " in every launch"
	case "pair":
		text += " of any two launches"
	}
	var rests, beside, decided []verdict.Reason
	for _, c := range r.Causes {
		switch c.Code {
		case code.RestsOn:
			rests = append(rests, c)
		case code.CrashesBelow:
			beside = append(beside, c)
		default:
			decided = append(decided, c)
		}
	}
	return text + resting(rests) + commaed(beside) + Because(decided)
}

// commaed are reasons behind a comma each.
func commaed(reasons []verdict.Reason) (text string) {
	for _, line := range Lines(reasons) {
		text += ", " + line
	}
	return text
}

// resting is what values rest on; a value is named where there are two.
func resting(on []verdict.Reason) string {
	switch len(on) {
	case 0:
		return ""
	case 1:
		return ", " + Line(on[0])
	}
	each := make([]string, len(on))
	for i, r := range on {
		each[i] = r.Subject + ": " + Line(r)
	}
	return " (" + strings.Join(each, "; ") + ")"
}

// wish is what a comparison asks for.
func wish(op, value string, negated bool) string {
	switch op {
	case "==", "!=":
		if negated != (op == "!=") {
			return "anything but " + value
		}
		return value
	case "in":
		if negated {
			return "none of " + value
		}
		return "one of " + value
	}
	if negated {
		return "not " + op + " " + value
	}
	return op + " " + value
}

// Shares is how the chances of a wrong verdict were divided: "level of fail / 3: one of
// 3 parts that all have to hold".
func Shares(list []verdict.Share) string {
	words := map[verdict.ShareOf]string{
		verdict.ShareAll:          "level of fail / {n}: one of {n} parts that all have to hold",
		verdict.ShareOne:          "level of pass / {n}: one of {n} parts of which one has to hold",
		verdict.ShareAlternatives: "level of pass / {n}: one of {n} alternatives for one place",
	}
	said := make([]string, len(list))
	for i, s := range list {
		said[i] = fill(words[s.Of], verdict.New("", verdict.Int("n", s.N)))
	}
	return strings.Join(said, "; ")
}
