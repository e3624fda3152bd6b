package code

// Outcomes of nodes, and what decisions are joined from.
const (
	// Rule: the rule or criterion Subject came to Verdict, from its causes. Args: role.
	Rule Code = "rule"
	// Level: the level Subject came to Verdict, from its causes.
	Level   Code = "level"
	Feature Code = "feature"
	Step    Code = "step"
	// FeatureNotRun and StepNotRun: it was not run, from its causes.
	FeatureNotRun Code = "feature.not_run"
	StepNotRun    Code = "step.not_run"
	FeatureAlone  Code = "feature.alone"
	StepAlone     Code = "step.alone"
	// Outcome: the node Subject came to Verdict, from its causes.
	Outcome Code = "outcome"
	// Undecided: the node Subject is not decided.
	Undecided Code = "undecided"
	// NotTargeted: --target named other nodes.
	NotTargeted Code = "not_targeted"
	// NotConfirmed: on the engine Subject it came to Verdict, from its causes.
	NotConfirmed Code = "not_confirmed"
	Broken       Code = "broken"
	// NoVerdict: a step gave none, which is a bug in mxflow.
	NoVerdict Code = "no_verdict"
)

// Why a node is decided now, or not again.
const (
	First               Code = "first"
	Rerun               Code = "rerun"
	RulesChanged        Code = "rules_changed"
	EvidenceChanged     Code = "evidence_changed"
	BothChanged         Code = "rules_and_evidence_changed"
	MeasurementChanged  Code = "measurement_changed" // from what changed, where that is known
	HypothesisChanged   Code = "hypothesis_changed"
	RetryAfter          Code = "retry_after" // Verdict
	Unchanged           Code = "unchanged"
	NotPrepared         Code = "not_prepared"
	Retracted           Code = "retracted"
	OnRetracted         Code = "rests_on_retracted"
	NoLongerWithdrawn   Code = "no_longer_withdrawn" // Subject: the node that was retracted
	ShownWrong          Code = "shown_wrong"
	GateWaived          Code = "gate_waived"
	FeatureWasRetracted Code = "feature_was_retracted"
)

// Rules that were changed to fit their launches.
const (
	// Relaxed: a rule was relaxed after its launches were seen; its causes say which.
	Relaxed  Code = "relaxed"
	Loosened Code = "relaxed.demand"
	// PreferMoved: alternatives are now chosen by another metric. Args: was, is.
	PreferMoved Code = "relaxed.prefer"
	// AskedAfter: when the matrix was measured, no rule read it. Subject: the rule that
	// now does.
	AskedAfter      Code = "relaxed.asked_after"
	GoalsUnrecorded Code = "relaxed.unrecorded"
	// Withheld: what would be a pass is not one; the cause is why.
	Withheld Code = "relaxed.withheld"
	// MeasuredAnew: an apply makes new launches; the cause is why.
	MeasuredAnew Code = "relaxed.measured_anew"
	// OnSeenData: a person let it decide nevertheless; the cause is the relaxed rule.
	OnSeenData      Code = "on_seen_data"
	RestsOnSeenData Code = "on_seen_data.below"
)

// Features that are measured again until they pass. Args: try (from 1), rate and of (the
// false pass rates of this try and of the first), bound (over all tries); tries (how many
// there are) in place of the rate if none is left.
const (
	Tried      Code = "tried"
	TriesSpent Code = "tried.spent"
)

// TunePinned: the launches of Subject keep one tune each arm.
const TunePinned Code = "caches.pinned"

// Gates that people overrode. Args: by, reason, and until (a time).
const (
	Waived          Code = "waiver.covers"
	WaiverRevoked   Code = "waiver.revoked"
	WaiverExpired   Code = "waiver.expired"
	WaiverOfEarlier Code = "waiver.of_earlier"
	RetractedBy     Code = "retraction"
	OnRetractedBy   Code = "retraction.below"
	RetractedNode   Code = "retraction.node"
	Was             Code = "retraction.was"
	SameLaunches    Code = "retraction.same_launches"
	LaunchesOf      Code = "retraction.launches_of"
	RerunMeasures   Code = "rerun_measures"
)

// How runs end.
const (
	Finished    Code = "finished"
	Interrupted Code = "interrupted"
	Abandoned   Code = "abandoned"
)
