package code

// What a comparison in a rule came to, which is Verdict. Subject is the operand under
// test. Args: is, op, wanted; of, the other operand if the plan does not give its value;
// negated, if it must not hold; each, "launch" or "pair", if it must hold in every launch
// or between any two; launch and launches, if is was found in one of them. The causes are
// RestsOn and then how it was decided.
const (
	AsWanted    Code = "comparison.as_wanted"
	NotAsWanted Code = "comparison.not_as_wanted"
	Truth       Code = "comparison.truth"
	// RestsOn: how many launches the value at Subject is from. Args: n; base_n if
	// compared with others, and interval, of 95%.
	RestsOn   Code = "value.rests_on"
	ValueSeen Code = "value.seen"
)

// How launches decided a comparison. Subject is what was tested if the comparison does
// not name it. Args: launches; against, the other arm; limit; at_least or at_most, the
// bound, absent if there is none; between, both, absent likewise.
const (
	// Shown, ShownAgainst: the bound passes, or fails. Args also: p, level.
	Shown        Code = "test.shown"
	ShownAgainst Code = "test.shown_against"
	// Clear, ClearAgainst: two launches decide, by recorded noise. Args also: p, level;
	// times, its distance from the threshold in recorded standard deviations.
	Clear        Code = "test.clear"
	ClearAgainst Code = "test.clear_against"
	// Screened: one launch is too far off to make more.
	Screened Code = "test.screened"
	// Futile: more are unlikely to decide. Args also: chance.
	Futile Code = "test.futile"
	// CouldNotTell: all launches were made.
	CouldNotTell Code = "test.could_not_tell"
	// VerdictTakes: there will be fewer than a verdict needs. Args also: takes, and
	// unrecorded if it needs more because no launch noise is recorded.
	VerdictTakes Code = "test.verdict_takes"
	// SaysNothing: so few show nothing of how launches differ.
	SaysNothing Code = "test.says_nothing"
	// BeforeFirstLook: args also: first.
	BeforeFirstLook Code = "test.before_first_look"
	// GoesOn: args also: most.
	GoesOn Code = "test.goes_on"
	// RangeShown, RangeShownAgainst: the whole range passes, or fails.
	RangeShown        Code = "range.shown"
	RangeShownAgainst Code = "range.shown_against"
	// RangeStraddles: the limit lies within the range.
	RangeStraddles Code = "range.straddles"
	RangeGoesOn    Code = "range.goes_on"
	// NotPaired: these launches have none beside them. Args: launches, a list.
	NotPaired    Code = "test.not_paired"
	Drifts       Code = "test.drifts"
	DriftUnknown Code = "test.drift_unknown"
)

// How per-launch counts decided a comparison.
const (
	SomePairs    Code = "count.some_pairs"
	MayBeMore    Code = "count.may_be_more"
	Crashed      Code = "count.crashed"
	CrashesBelow Code = "count.crashes_below"
)

// What a reader should know beside a test.
const (
	// Floored, ClearBy: no arm is taken to vary less than the noise on record, or two
	// launches decided by it. Args: sd, df, sessions; margin, how far off they decide.
	Floored Code = "beside.floored"
	ClearBy Code = "beside.clear_by"
	// WithinRounds: rounds ran on several places, so arms were compared within them;
	// OnEach: a level had to hold on each. Args: places.
	WithinRounds Code = "beside.within_rounds"
	OnEach       Code = "beside.on_each"
	// Settles: so many launches would likely settle it; SettlesNever: not even the plan's
	// maximum would. Args: launches, against; gap, the estimate's distance from the
	// threshold, and spread, the standard deviation of launches; chance, and more or
	// most, those that the plan makes if it needs others.
	Settles      Code = "beside.settles"
	SettlesNever Code = "beside.settles_never"
)

// What rules read but did not find.
const (
	// Missing: the input Subject has no value, from its cause.
	Missing   Code = "missing"
	NotFinite Code = "missing.not_finite"
	// NotSet: a case of mxflow test does not set it.
	NotSet Code = "missing.not_set"
	// NotSent: the plan never sends the workload Subject: not in the chosen suite, or not
	// in a protocol's benchmark. Args: suite; else protocol, and suites, which send it.
	NotSent     Code = "missing.not_sent"
	NoReader    Code = "missing.no_reader"
	KnobUnknown Code = "missing.knob"
	// LevelNotRun: the level Subject of a feature, from its cause. Args: feature.
	LevelNotRun Code = "missing.level_not_run"
	// FeatureUndecided: the feature Subject, from its cause.
	FeatureUndecided Code = "missing.feature_undecided"
	// NoOutcome: the feature Subject, or a level of it, came to a Verdict that proves
	// nothing, from its cause. Args: level.
	NoOutcome Code = "missing.no_outcome"
	// UnknownOutcome: it came to an unknown verdict. Args: word.
	UnknownOutcome Code = "missing.unknown_outcome"
	AcceptedAnyway Code = "missing.accepted_anyway"
)

// What is wrong with the launches that a rule or a row of a comparison reads.
const (
	Unmeasured Code = "launches.none"
	// Unqualified: Subject has no launch in which a level found a number. Args: metric.
	Unqualified Code = "launches.unqualified"
	// MetricLacking: the launch Subject lacks a metric; the cause is why. Args: metric;
	// recorded, by what it can be looked up; others if other launches have it.
	MetricLacking      Code = "launches.metric_lacking"
	StatLacking        Code = "launches.stat_lacking"
	SamplesLacking     Code = "launches.samples_lacking"
	StatNotFinite      Code = "launches.stat_not_finite"
	RequestsUnknown    Code = "launches.requests_unknown"
	CorrectedApart     Code = "launches.corrected_apart"
	UnitsApart         Code = "launches.units_apart"
	ArmsCorrectedApart Code = "arms.corrected_apart"
	ArmsUnitsApart     Code = "arms.units_apart"
	NotAboveZero       Code = "launches.not_above_zero"
	RatioImpossible    Code = "launches.no_ratio"
	RoundTwice         Code = "launches.round_twice"
	// RoundApart: the launches of a round of Subject ran on two places. Args: round,
	// places.
	RoundApart Code = "launches.round_apart"
	// Unsaid: the launch Subject did not report what was asked; the cause is why. Args:
	// name.
	Unsaid       Code = "launches.unsaid"
	NotLookedFor Code = "launches.not_looked_for"
	SaidApart    Code = "launches.said_apart"
	// SaidUnfit: the observation Subject is of another kind. Args: is, kind.
	SaidUnfit   Code = "launches.said_unfit"
	FewLaunches Code = "launches.few"
	NoAverage   Code = "launches.no_average"
	NothingOf   Code = "launches.nothing_of"
	NotFresh    Code = "launches.not_fresh"
	RowNotFresh Code = "row.not_fresh"
	OfReference Code = "row.of_reference"
)

// Why a rule could not be decided at all.
const (
	// NoRuleGiven, NotCompiled: a bug in mxflow.
	NoRuleGiven  Code = "undecidable.no_rule"
	NotCompiled  Code = "undecidable.not_compiled"
	Incomparable Code = "undecidable.incomparable"
	OutOfReach   Code = "undecidable.out_of_reach"
)

// Why a launch has no metric, or a metric no statistic.
const (
	AbsentCell     Code = "absent.cell"
	AbsentFailed   Code = "absent.failed"
	AbsentText     Code = "absent.text"
	AbsentCount    Code = "absent.count"
	AbsentRetried  Code = "absent.retried"
	AbsentCached   Code = "absent.cached"
	AbsentOneToken Code = "absent.one_token"
	AbsentOnePiece Code = "absent.one_piece"
	// AbsentEvidence: something that the metric at the address Subject needs.
	AbsentEvidence Code = "absent.evidence"
	NoSuchStat     Code = "absent.no_such_stat"
	FewSamples     Code = "absent.few_samples"
	NotDefined     Code = "absent.not_defined"
	StatUnknown    Code = "absent.stat_unknown"
)
