package code

// What reports and commands show beside decisions.
const (
	// More: how many more reasons there are. Args: n.
	More Code = "more"
	// LevelIs: the level Subject came to Verdict; why is shown elsewhere.
	LevelIs Code = "level.is"
	// LevelCame: the level Subject came to Verdict, from its causes.
	LevelCame Code = "level.came"
	// OutcomeWas: what the node Subject came to when something else was decided, from its
	// causes.
	OutcomeWas Code = "outcome.was"
	// Unread: nothing of the feature Subject could be read, so it is Verdict, from its
	// cause.
	Unread Code = "feature.unread"
	// ByRule: what the rules named in Subject, comma-separated, found.
	ByRule Code = "rule.found"
	// InError: the level, rule, feature or step Subject is in error, from its causes.
	// Args: role.
	InError     Code = "rule.in_error"
	LastLogLine Code = "log.last_line"
	FirstAbove  Code = "first_engine_above"
	Withdrawn   Code = "retraction.withdrawn"
)

// Why a result cannot be compared with a number to beat.
const (
	// NoLaunch: no launch of the variant Subject was measured. Args: features, the size
	// of the stack.
	NoLaunch Code = "target.no_launch"
	// LaunchLacks: the launch Subject has no such number; the cause is why. Args:
	// address, stat.
	LaunchLacks Code = "target.launch_lacks"
	OtherUnit   Code = "target.other_unit"
	SentElse    Code = "target.sent_else"
	NoMean      Code = "target.no_mean"
	// NoInterval: so many launches yield none. Args: launches.
	NoInterval Code = "target.no_interval"
	NoRatio    Code = "target.no_ratio"
)

// Why two sides are not compared in a metric, or how far the comparison holds.
const (
	// SentApart: the sides were sent different work in the cell Subject. Args: was, is.
	SentApart Code = "compare.sent"
	// MeasuredApart: the cell Subject was measured in two ways.
	MeasuredApart Code = "compare.measured"
	// LackingSomewhere: not every launch of both sides has the metric.
	LackingSomewhere Code = "compare.lacking"
	// SideDiffers: the entry Subject of the environment. Args: was, is.
	SideDiffers Code = "compare.environment"
	// OtherMachine: the sides ran on two machines; the causes are what differs.
	OtherMachine Code = "compare.machine"
	// OtherSession: they were not measured side by side.
	OtherSession Code = "compare.session"
	// LeftOut: launches of the side Subject do not count. Args: launches.
	LeftOut Code = "compare.left_out"
)

// What an earlier attempt asked otherwise.
const (
	// SettingMoved: the setting Subject had another value. Args: was, is.
	SettingMoved      Code = "again.setting_moved"
	AlternativesMoved Code = "again.alternatives_moved"
	FirstLookMoved    Code = "again.first_look_moved"
)
