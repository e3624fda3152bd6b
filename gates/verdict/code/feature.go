package code

// What the decision about a feature says besides its levels and rules.
const (
	// NoCriterion: nothing decides over the feature.
	NoCriterion Code = "feature.no_criterion"
	// NoBenchmark: the protocol Subject has no benchmark level, so that nothing was
	// measured.
	NoBenchmark Code = "feature.no_benchmark"
	// ParentNotAccepted: it does not enter the stack, since the feature Subject, which
	// it builds on, is not in it.
	ParentNotAccepted Code = "feature.parent_not_accepted"
	// ChooserNotRun: the feature Subject, which chooses, was not run, from why.
	ChooserNotRun Code = "feature.chooser_not_run"
	// ChosenUnknown: the feature Subject was decided with a value that is none of its
	// alternatives. Args: knob, value.
	ChosenUnknown Code = "feature.chosen_unknown"
	// FirstUndecided: the feature Subject was not decided on the first engine, from why.
	FirstUndecided Code = "feature.first_undecided"
	// NotInRun: a node was not decided in the run that is looked at.
	NotInRun Code = "feature.not_in_run"
)

// What stands beside the verdict of a feature, of metrics that its rules do not read.
const (
	// GotWorse: the metric Subject got demonstrably worse. Args: change and bounds; of
	// one that may be zero was and is.
	GotWorse Code = "finding.worse"
	// PromiseBroken: the metric Subject improved by gain, and whole, of which it is a
	// part, did not as it would have had to. Args: gain, whole, shows, at_most, promised.
	PromiseBroken Code = "finding.promise_broken"
	// TailGrew: the median of the metric Subject improved, and tail at least doubled.
	// Args: gain, tail, change.
	TailGrew Code = "finding.tail_grew"
)

// Which alternative of a feature stands for it.
const (
	// Wins: the value Subject of the knob, from what became of the others. Args: metric;
	// gain, where it was measured; first, where others pass too and no gain tells, so
	// that the plan's order does.
	Wins Code = "choice.wins"
	// NoneWins: no alternative passes, from what became of each, the best first. Subject
	// is the alternative that the rest of the decision is of. Args: knob, metric.
	NoneWins Code = "choice.none_wins"
	// Alternative: the value Subject of a knob came to Verdict. Args: gain, where it was
	// measured.
	Alternative Code = "choice.alternative"
)

// What other engines say of a feature; NotConfirmed is that it is not confirmed there.
const (
	// Confirmed: on the engine Subject.
	Confirmed Code = "confirmed"
	// NotTried: on the engine Subject, since the feature does not pass without it. Args:
	// without (what it is).
	NotTried Code = "confirmation.not_tried"
	// ConfirmationNotRun: on the engine Subject, from why.
	ConfirmationNotRun Code = "confirmation.not_run"
)

// Why a number to beat is not compared with a measurement.
const (
	// TargetUncompared: no rule compares it.
	TargetUncompared Code = "target.uncompared"
	// TargetNamesAlone: the same, of a result whose names do not say what is alike.
	TargetNamesAlone Code = "target.names_alone"
	// TargetOfCells: its workload Subject has several cells, and no rule says of which
	// it is a number. Args: cells.
	TargetOfCells Code = "target.of_cells"
	// TargetNotPrinted: the baseline's engine is no command that prints it.
	TargetNotPrinted Code = "target.not_printed"
)

// How the cases of `mxflow test` came out.
const (
	// CaseConfirmation: the confirmation Subject came to Verdict, from its rules that
	// did not pass.
	CaseConfirmation Code = "case.confirmation"
	// CaseAlternative: the alternative Subject came to Verdict.
	CaseAlternative Code = "case.alternative"
	// NotGiven: the case gives nothing of the feature Subject.
	NotGiven Code = "case.not_given"
)
