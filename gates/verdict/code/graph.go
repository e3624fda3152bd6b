package code

// What nodes of the graph came to, and what decisions are joined from.
const (
	// Rule: the rule or criterion Subject came to Verdict, from its causes. Args: role.
	Rule Code = "rule"
	// Level: the level Subject came to Verdict, from its causes.
	Level Code = "level"
	// Feature and Step: that part of a phase came to Verdict.
	Feature Code = "feature"
	Step    Code = "step"
	// FeatureNotRun and StepNotRun: it was not run, from its causes.
	FeatureNotRun Code = "feature.not_run"
	StepNotRun    Code = "step.not_run"
	// FeatureAlone and StepAlone: it came to Verdict, and nothing else of the phase
	// was looked at.
	FeatureAlone Code = "feature.alone"
	StepAlone    Code = "step.alone"
	// Outcome: the node Subject came to Verdict, from its causes.
	Outcome Code = "outcome"
	// Undecided: the node Subject is not decided.
	Undecided Code = "undecided"
	// NotConfirmed: on the engine Subject it came to Verdict, from its causes.
	NotConfirmed Code = "not_confirmed"
	// Broken: what ran broke. Args: error.
	Broken Code = "broken"
	// NoVerdict: a step gave none, which is a mistake in mxflow.
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

// Rules that were moved to where their launches lie.
const (
	// Relaxed: a rule was relaxed after its launches were seen; its causes say which.
	Relaxed Code = "relaxed"
	// Loosened: what was demanded. Args: was, and is where the same is still asked.
	Loosened Code = "relaxed.demand"
	// GoalsUnrecorded: what was demanded when the session Subject began is not on record.
	GoalsUnrecorded Code = "relaxed.unrecorded"
	// Withheld: what would be a pass is none, from its cause.
	Withheld Code = "relaxed.withheld"
	// MeasuredAnew: an apply makes other launches, from its cause.
	MeasuredAnew Code = "relaxed.measured_anew"
	// OnSeenData: a person let it decide nevertheless, from its cause.
	OnSeenData Code = "on_seen_data"
	// RestsOnSeenData: so it was with the feature Subject, on which this rests.
	RestsOnSeenData Code = "on_seen_data.below"
)

// What people decided over the heads of gates. Args: by, reason, and until (a time).
const (
	Waived        Code = "waiver.covers"
	WaiverRevoked Code = "waiver.revoked"
	WaiverExpired Code = "waiver.expired"
	// WaiverOfEarlier: of another decision than this. Args: by, attempt; Verdict is
	// that of the other.
	WaiverOfEarlier Code = "waiver.of_earlier"
	// RetractedBy: a person withdrew this outcome. Args: by, reason.
	RetractedBy Code = "retraction"
	// OnRetractedBy: it rests on Subject, which a person withdrew. Args: by, reason.
	OnRetractedBy Code = "retraction.below"
	// RetractedNode: Subject was retracted. Args: by.
	RetractedNode Code = "retraction.node"
	// Was: what was withdrawn. Verdict; args: attempt, accepted.
	Was Code = "retraction.was"
	// SameLaunches: the outcome rests on the launches with which it was retracted.
	SameLaunches Code = "retraction.same_launches"
	// LaunchesOf: it rests on the launches with which Subject was retracted.
	LaunchesOf Code = "retraction.launches_of"
	// RerunMeasures: --rerun measures again.
	RerunMeasures Code = "rerun_measures"
)

// How runs end.
const (
	Finished    Code = "finished"
	Interrupted Code = "interrupted"
	// Abandoned: mxflow ended without recording why. Args: processes and containers
	// that it left, where there were any.
	Abandoned Code = "abandoned"
)

// Interference: a stack against the product of the gains of its parts. Args: parts,
// metric, ratio, low and high where there is an interval.
const Interference Code = "interference"
