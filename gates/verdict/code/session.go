package code

// What became of the launches of a session, and why more are made or none.
const (
	// LaunchesPerArm: how many launches of each arm were made. Args: n; most, where n
	// are fewer than there might have been, and more would have changed nothing.
	LaunchesPerArm Code = "session.launches"
	// LaunchLost: the launch Subject does not count and none stands in its place, from
	// why. Args: number (in its session), variant.
	LaunchLost Code = "session.launch_lost"
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
	// ReplacedOf: how many launches of the variants Subject and other others stand in the
	// place of. Args: n, of, other, other_n, other_of; many, where that is worth a look.
	ReplacedOf Code = "session.replaced"
	// CrashIs: the launch Subject crashed, from how.
	CrashIs Code = "session.crash_is"
	// CountsCrashes: a launch counts starts before its session that crashed. Args:
	// launches.
	CountsCrashes Code = "session.counts_crashes"
	// SessionClosed: no launch is added to those with which Subject was retracted.
	// Args: by, reason.
	SessionClosed Code = "session.closed"
	// NotMeasured: a candidate was not measured, from what was found before.
	NotMeasured Code = "session.not_measured"
	// NotMeasuredApart: the same, since its arms differ in what is not under test, from
	// how: that was seen when they were qualified.
	NotMeasuredApart Code = "session.not_measured_apart"
	// NothingUnderTest: the candidate is the variant that it is compared with. Args:
	// parent.
	NothingUnderTest Code = "session.nothing_under_test"
	// ConfirmsNothing: with the knobs of the variant Subject two engines are started
	// alike. Args: engine, first.
	ConfirmsNothing Code = "session.confirms_nothing"
	// OnlyBenchmark: a protocol has no level that qualifies.
	OnlyBenchmark Code = "session.only_benchmark"
)

// What the launches of a session can show, before they are made.
const (
	// Resolves: what changes of the metric Subject can be told from none. Args: few and
	// many (launches per arm), with_few and with_many (the change that so many resolve),
	// differ and differ_bound (how much launches differ, and at most).
	Resolves Code = "forecast.resolves"
	// ResolvesRounding: all launches on record gave one value of the metric Subject.
	ResolvesRounding Code = "forecast.resolves_rounding"
	// Unresolved: the rule Subject asks for a change that is smaller than what the
	// launches resolve. Args: margin, launches, resolves.
	Unresolved Code = "forecast.unresolved"
)
