package code

// What became of a session's launches, and why more are made or not.
const (
	LaunchesPerArm Code = "session.launches"
	// LaunchLost: the launch Subject does not count and none replaces it; the cause is
	// why. Args: number (in its session), variant.
	LaunchLost Code = "session.launch_lost"
	// ReferenceLost: the arm Subject, the baseline where it is not the parent, dropped out
	// of the session; the cause is why. Rules that read it are not decided.
	ReferenceLost Code = "session.reference_lost"
	// LaunchesKept: n of least to most launches of an interrupted session are on record.
	LaunchesKept Code = "session.launches_kept"
	// MachineDisturbed: this machine disturbed a launch, which the next apply makes
	// again; the causes are how.
	MachineDisturbed Code = "session.machine_disturbed"
	// LaunchReplaced: another launch replaces Subject; the cause is why that one does not
	// count.
	LaunchReplaced Code = "session.launch_replaced"
	// LaunchAgain: a launch starts to replace Subject; the cause is why that one does not
	// count.
	LaunchAgain Code = "session.launch_again"
	// CrashedAgain: the candidate Subject crashed in fresh launches, its parent in none
	// under the same load; the causes are how each broke. Args: launches, other,
	// other_launches.
	CrashedAgain Code = "session.crashed_again"
	ReplacedOf   Code = "session.replaced"
	// CrashIs: the launch Subject crashed; the cause is how.
	CrashIs       Code = "session.crash_is"
	CountsCrashes Code = "session.counts_crashes"
	SessionClosed Code = "session.closed"
	// NotMeasured: a candidate was not measured; the causes are what was found before.
	NotMeasured Code = "session.not_measured"
	// NotMeasuredApart: the same, as its qualified arms differ in something not under
	// test; the causes are in what.
	NotMeasuredApart Code = "session.not_measured_apart"
	NothingUnderTest Code = "session.nothing_under_test"
	ConfirmsNothing  Code = "session.confirms_nothing"
	OnlyBenchmark    Code = "session.only_benchmark"
)

// What a session's launches can show, before they are made.
const (
	// Resolves: which changes of the metric Subject can be told from none. Args: few and
	// many (launches per arm), with_few and with_many (the change that so many resolve),
	// differ and differ_bound (how much launches differ, and at most).
	Resolves         Code = "forecast.resolves"
	ResolvesRounding Code = "forecast.resolves_rounding"
	// Unresolved: the rule Subject requires a change smaller than the launches resolve.
	// Args: margin, launches, resolves.
	Unresolved Code = "forecast.unresolved"
	// Attainable: how much the metric Subject can gain at most if kernels become faster,
	// by a profile of the parent. Args: kernels, claimed and most (ratios of the metric),
	// saved (µs of a step), step (µs, a span if a profiler slowed it down), phase,
	// launch. Unattainable: the hypothesis claims more than that. Unforeseen: unknown;
	// the cause is one of the codes below.
	Attainable   Code = "forecast.attainable"
	Unattainable Code = "forecast.unattainable"
	Unforeseen   Code = "forecast.unforeseen"
	// Unprofiled: no profile of the variant Subject is on record. NotOfSteps: the metric
	// Subject does not follow from the duration of steps. NotRelative: the hypothesis
	// claims no change. Args: expect. NotClosed: an open loop has no fixed concurrency.
	// NoPart: the profile has no part of the phase Subject at so many requests. Args:
	// requests. NoKernels: it has no kernels of the category Subject. Args: has
	// (categories). NothingLeft: with overlapping streams, no part of a step is sure to
	// remain. ProfileUnread: it cannot be used. Args: error.
	Unprofiled    Code = "forecast.unprofiled"
	NotOfSteps    Code = "forecast.not_of_steps"
	NotRelative   Code = "forecast.not_relative"
	NotClosed     Code = "forecast.not_closed"
	NoPart        Code = "forecast.no_part"
	NoKernels     Code = "forecast.no_kernels"
	NothingLeft   Code = "forecast.nothing_left"
	ProfileUnread Code = "forecast.profile_unread"
)
