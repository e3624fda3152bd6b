package code

// What prevents deciding again.
const (
	// NoRule: the decision was made without a rule; the cause is its first reason.
	NoRule           Code = "replay.no_rule"
	KeptNotWhat      Code = "replay.kept_not_what"
	LaunchUnrecorded Code = "replay.launch_unrecorded"
	// ArmUnrecorded: the session has no launch of the arm Subject.
	ArmUnrecorded Code = "replay.arm_unrecorded"
	// NoRawData: the launch Subject has none to decide by; the cause is why.
	NoRawData Code = "replay.no_raw_data"
	// RawUnread: raw data of a launch cannot be read. Args: of ("samples", "series"),
	// error.
	RawUnread  Code = "replay.raw_unread"
	RawUnnamed Code = "replay.raw_unnamed"
	// LevelUnreplayed: too little is kept of the level Subject to decide it again.
	// LevelUnkept: what is kept of others is missing. Args: error.
	LevelUnreplayed Code = "replay.level_unreplayed"
	LevelUnkept     Code = "replay.level_unkept"
	// RawOfAnother: the raw data file that the launch Subject names claims to be of
	// another. Args: of ("raw samples"), key, wanted, found (empty: it does not say).
	RawOfAnother Code = "replay.raw_of_another"
)

// What became of the recorded plan. If a plan needs what no run records, sealed names the
// sensitive inputs to pass.
const (
	// PlanUnrecorded: the run has no record of its plan.
	PlanUnrecorded Code = "replay.plan_unrecorded"
	PlanTextless   Code = "replay.plan_textless"
	// PlanFileGone, PlanFileUnread and PlanFileElsewhere: its file Subject was not kept,
	// cannot be read, is outside the plan's folder. Args: error.
	PlanFileGone      Code = "replay.plan_file_gone"
	PlanFileUnread    Code = "replay.plan_file_unread"
	PlanFileElsewhere Code = "replay.plan_file_elsewhere"
	PlanUncompiled    Code = "replay.plan_uncompiled"
	RuleUncompiled    Code = "replay.rule_uncompiled"
	// PlanSealed: run Subject does not record sensitive inputs. Args: set, the environment
	// variables that give them again.
	PlanSealed Code = "replay.plan_sealed"
	// PlanMoved: the plan Subject is not what a run applied, so it is shown as the run kept
	// it. Args: run.
	PlanMoved Code = "replay.plan_moved"
	// PlanInexact: it compiles to another digest, so rules were compiled from the
	// recorded text. Args: sealed.
	PlanInexact Code = "replay.plan_inexact"
	PlanWithout Code = "replay.plan_without"
)

// Notes on an agreement.
const (
	DecidedElsewhere  Code = "replay.decided_elsewhere"
	RecordedElsewhere Code = "replay.recorded_elsewhere"
	// BestUnknown: the best alternative of the feature Subject was not determined.
	BestUnknown Code = "replay.best_unknown"
)

// What another plan would have made of nodes.
const (
	WouldBe Code = "whatif.would_be"
	// NotReached: an apply would not reach the node; the cause is what stops it.
	NotReached Code = "whatif.not_reached"
	// NeverMeasured: there are no launches on record.
	NeverMeasured Code = "whatif.never_measured"
	RawDiffer     Code = "whatif.raw_differ"
	// RetractedStays: its launches do not pass again; the cause is who retracted it.
	RetractedStays Code = "whatif.retracted_stays"
	StepNeverRun   Code = "whatif.step_never_run"
	StepOther      Code = "whatif.step_other"
	// OutcomeUnknown: what would have become of the feature Subject is unknown.
	OutcomeUnknown Code = "whatif.outcome_unknown"
	// StackUnknown: whether the feature Subject would be under it is unknown.
	StackUnknown Code = "whatif.stack_unknown"
	// StartsOther: the changed plan starts, sends or demands something else than was
	// measured, which is the cause. StartsMore: something that was never measured.
	StartsOther Code = "whatif.starts_other"
	StartsMore  Code = "whatif.starts_more"
	// StartsUnknown: whether it does is unknown; the cause is why. Args: sealed,
	// unrecorded.
	StartsUnknown  Code = "whatif.starts_unknown"
	SecretsUnknown Code = "whatif.secrets_unknown"
)

// What a plan starts, sends and demands for a candidate.
const (
	StartsVariant  Code = "starts.variant"    // Subject
	StartsEngine   Code = "starts.engine"     // Subject
	KnobValue      Code = "starts.knob_value" // of the knob Subject; args: value
	StartsLevel    Code = "starts.level"      // Subject; args: candidate, none for the baseline
	StartsWorkload Code = "starts.workload"   // Subject
)
