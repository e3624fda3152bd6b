package code

// What the decision about a feature says besides its levels and rules.
const (
	NoCriterion       Code = "feature.no_criterion"
	Trial             Code = "feature.trial"
	NoBenchmark       Code = "feature.no_benchmark"
	ParentNotAccepted Code = "feature.parent_not_accepted"
	// ChooserNotRun: the feature Subject, which chooses, was not run, from why.
	ChooserNotRun Code = "feature.chooser_not_run"
	ChosenUnknown Code = "feature.chosen_unknown"
	// FirstUndecided: the feature Subject was not decided on the first engine, from why.
	FirstUndecided Code = "feature.first_undecided"
	NotInRun       Code = "feature.not_in_run"
)

// What stands beside the verdict of a feature, of metrics that its rules do not read.
const (
	GotWorse Code = "finding.worse"
	// NotCompared: two launches an arm decided, which is too few to say what else is worse.
	NotCompared   Code = "finding.not_compared"
	PromiseBroken Code = "finding.promise_broken"
	TailGrew      Code = "finding.tail_grew"
)

// Which alternative of a feature stands for it.
const (
	// Wins: the value Subject of the knob, from what became of the others. Args: metric;
	// gain, where it was measured; first, where others pass too and no gain tells, so
	// that the plan's order does.
	Wins Code = "choice.wins"
	// NoneWins: no alternative passes, from what became of each, the best first. Subject
	// is the alternative that the rest of the decision is of. Args: knob, metric.
	NoneWins    Code = "choice.none_wins"
	Alternative Code = "choice.alternative"
)

// What other engines say of a feature; NotConfirmed is that it is not confirmed there.
const (
	Confirmed Code = "confirmed"
	// NotTried: on the engine Subject, since the feature does not pass without it. Args:
	// without (what it is).
	NotTried Code = "confirmation.not_tried"
	// ConfirmationNotRun: on the engine Subject, from why.
	ConfirmationNotRun Code = "confirmation.not_run"
)

// Why a number to beat is not compared with a measurement.
const (
	TargetUncompared Code = "target.uncompared"
	TargetNamesAlone Code = "target.names_alone"
	TargetOfCells    Code = "target.of_cells"
	TargetNotPrinted Code = "target.not_printed"
)

// How the cases of `mxflow test` came out.
const (
	// CaseConfirmation: the confirmation Subject came to Verdict, from its rules that
	// did not pass.
	CaseConfirmation Code = "case.confirmation"
	CaseAlternative  Code = "case.alternative"
	NotGiven         Code = "case.not_given"
)
