package code

// What the decision about a feature reports besides its levels and rules.
const (
	NoCriterion       Code = "feature.no_criterion"
	Trial             Code = "feature.trial"
	NoBenchmark       Code = "feature.no_benchmark"
	ParentNotAccepted Code = "feature.parent_not_accepted"
	// ChooserNotRun: the feature Subject, which chooses, was not run; the cause is why.
	ChooserNotRun Code = "feature.chooser_not_run"
	ChosenUnknown Code = "feature.chosen_unknown"
	// FirstUndecided: the feature Subject was not decided on the first engine; the cause
	// is why.
	FirstUndecided Code = "feature.first_undecided"
)

// What is reported beside the verdict of a feature, about metrics that its rules do not
// read.
const (
	GotWorse Code = "finding.worse"
	// NotCompared: two launches per arm decided, too few to show what else got worse.
	NotCompared Code = "finding.not_compared"
	// PromiseBroken: Subject improved, and what it is part of did not. Args: gain, whole,
	// promised, shows, at_most.
	PromiseBroken Code = "finding.promise_broken"
	// PromiseUnshown: the same, as far as known: what Subject is part of is not shown to
	// have improved.
	PromiseUnshown Code = "finding.promise_unshown"
	TailGrew       Code = "finding.tail_grew"
)

// Which alternative of a feature was chosen.
const (
	// Wins: the value Subject of the knob; the causes are the outcomes of the others.
	// Args: metric; gain, if measured; first, if others pass too and no gain tells, so
	// the plan's order decides.
	Wins Code = "choice.wins"
	// NoneWins: no alternative passes; the causes are their outcomes, best first. Subject
	// is the alternative that the rest of the decision is about. Args: knob, metric.
	NoneWins    Code = "choice.none_wins"
	Alternative Code = "choice.alternative"
)

// What other engines show about a feature; NotConfirmed is that it is not confirmed
// there.
const (
	Confirmed Code = "confirmed"
	// NotTried: on the engine Subject, as the feature does not pass without it. Args:
	// without (what it is).
	NotTried Code = "confirmation.not_tried"
	// ConfirmationNotRun: on the engine Subject; the cause is why.
	ConfirmationNotRun Code = "confirmation.not_run"
)

// Why a number to beat is not compared with a measurement.
const (
	TargetUncompared Code = "target.uncompared"
	TargetNamesAlone Code = "target.names_alone"
	TargetOfCells    Code = "target.of_cells"
	TargetNotPrinted Code = "target.not_printed"
)
