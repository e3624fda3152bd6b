package code

// What became of the launches of a session, and why more are made or none.
const (
	LaunchesPerArm Code = "session.launches"
	// LaunchLost: the launch Subject does not count and none stands in its place, from
	// why. Args: number (in its session), variant.
	LaunchLost Code = "session.launch_lost"
	// ReferenceLost: the arm Subject, which is held against besides the parent, dropped
	// out of the session, from why. Rules that read it are not decided.
	ReferenceLost Code = "session.reference_lost"
	// RevisionGone: the variant that the node Subject accepted on day cannot be started as
	// it was, from why where that is known. Args: day.
	RevisionGone Code = "session.revision_gone"
	// OtherDay: the metric Subject is worse than it was on day, in launches of another
	// session, which decides nothing. Args: is, was, change, day.
	OtherDay Code = "session.other_day"
	// LaunchesKept: of an interrupted session, n of least to most launches are on record.
	LaunchesKept Code = "session.launches_kept"
	// MachineDisturbed: this machine disturbed a launch, from how, and the next apply
	// makes it again.
	MachineDisturbed Code = "session.machine_disturbed"
	// LaunchReplaced: another launch stands in the place of Subject, from why that one
	// does not count.
	LaunchReplaced Code = "session.launch_replaced"
	// LaunchAgain: a launch begins in the place of Subject, from why that one does not
	// count.
	LaunchAgain Code = "session.launch_again"
	// CrashedAgain: the candidate Subject crashed in fresh launches, and its parent in none
	// under the same load, from how each of them broke. Args: launches, other,
	// other_launches.
	CrashedAgain Code = "session.crashed_again"
	ReplacedOf   Code = "session.replaced"
	// CrashIs: the launch Subject crashed, from how.
	CrashIs       Code = "session.crash_is"
	CountsCrashes Code = "session.counts_crashes"
	SessionClosed Code = "session.closed"
	// NotMeasured: a candidate was not measured, from what was found before.
	NotMeasured Code = "session.not_measured"
	// NotMeasuredApart: the same, since its arms differ in what is not under test, from
	// how: that was seen when they were qualified.
	NotMeasuredApart Code = "session.not_measured_apart"
	NothingUnderTest Code = "session.nothing_under_test"
	ConfirmsNothing  Code = "session.confirms_nothing"
	OnlyBenchmark    Code = "session.only_benchmark"
)

// What the launches of a session can show, before they are made.
const (
	// Resolves: what changes of the metric Subject can be told from none. Args: few and
	// many (launches per arm), with_few and with_many (the change that so many resolve),
	// differ and differ_bound (how much launches differ, and at most).
	Resolves         Code = "forecast.resolves"
	ResolvesRounding Code = "forecast.resolves_rounding"
	// Unresolved: the rule Subject asks for a change that is smaller than what the
	// launches resolve. Args: margin, launches, resolves.
	Unresolved Code = "forecast.unresolved"
	// Attainable: what the metric Subject can gain at most where kernels become faster, by a
	// profile of the parent. Args: kernels, claimed and most (ratios of the metric), saved
	// (µs of a step), step (µs, a span where a profiler slowed it down), phase, launch.
	// Unattainable: the hypothesis claims more than that. Unforeseen: nobody knows, from
	// one of the codes below.
	Attainable   Code = "forecast.attainable"
	Unattainable Code = "forecast.unattainable"
	Unforeseen   Code = "forecast.unforeseen"
	// Unprofiled: no profile of the variant Subject is on record. NotOfSteps: the metric
	// Subject does not follow from how long steps take. NotRelative: the hypothesis claims
	// no change. Args: expect. NotClosed: an open loop has no number of requests at once.
	// NoPart: the profile has no part of the phase Subject at so many requests. Args:
	// requests. NoKernels: it has no kernels of the category Subject. Args: has (categories).
	// NothingLeft: with streams that overlap, nothing of a step is sure to be left.
	// ProfileUnread: it cannot be used. Args: error.
	Unprofiled    Code = "forecast.unprofiled"
	NotOfSteps    Code = "forecast.not_of_steps"
	NotRelative   Code = "forecast.not_relative"
	NotClosed     Code = "forecast.not_closed"
	NoPart        Code = "forecast.no_part"
	NoKernels     Code = "forecast.no_kernels"
	NothingLeft   Code = "forecast.nothing_left"
	ProfileUnread Code = "forecast.profile_unread"
)
