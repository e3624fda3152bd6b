package code

// By which test it was decided.
const (
	ByLogs        Code = "by.logs"
	ByDifferences Code = "by.differences"
	// ByRounds: differences within rounds, as rounds ran on several places; logs if they
	// are of logs. ByPlaces: one arm that ran on several.
	ByRounds   Code = "by.rounds"
	ByPlaces   Code = "by.places"
	ByLogLevel Code = "by.log_level"
	ByLevel    Code = "by.level"
	ByRange    Code = "by.range"
	ByValues   Code = "by.values"
	ByCrashes  Code = "by.crashes"
	ByPairs    Code = "by.pairs"
	ByCount    Code = "by.count"
	ByUnknown  Code = "by.unknown"
)

// What was found without a test of launches. Args: left, right, op; holds, a word; for
// per-launch counts also negated, each, launch and launches.
const (
	Found      Code = "found"
	FoundEach  Code = "found.each"
	Untestable Code = "found.untestable"
)

// What followed from one look. Args: level, if that was reached; launches, if they are too
// few for what is so near.
const (
	LookScreens Code = "look.screens"
	LookEarly   Code = "look.early"
	LookUnclear Code = "look.unclear"
	LookGoesOn  Code = "look.goes_on"
	LookNear    Code = "look.near"
	LookPasses  Code = "look.passes"
	LookFails   Code = "look.fails"
	LookFutile  Code = "look.futile"
	LookLast    Code = "look.last"
	LookOpen    Code = "look.open"
)

// How a test ended. Args: launches, against; p and level; behind, how many launches are
// recorded if the deciding look did not use all; near, how far off is too near for the last.
const (
	DecidedPass   Code = "stopped.pass"
	DecidedFail   Code = "stopped.fail"
	StoppedScreen Code = "stopped.screen"
	StoppedFutile Code = "stopped.futile"
	StoppedEnd    Code = "stopped.end"
	// StoppedOpen: it is open; the cause is why no more launches are made.
	StoppedOpen    Code = "stopped.open"
	NoLook         Code = "stopped.no_look"
	StoppedUnknown Code = "stopped.unknown"
)

// Why no more launches are made for an open test.
const (
	RecordedOnly   Code = "no_more.recorded_only"
	DecidedWithout Code = "no_more.decided_without"
	OtherDecided   Code = "no_more.other_decided"
	ForHypothesis  Code = "no_more.hypothesis"
)

// What else is shown below the looks of a test.
const (
	// Levels: the p at which looks decide; the causes are how the error rates were
	// divided. Args: pass, fail; plan, the looks.
	Levels Code = "argued.levels"
	// ShareAll, ShareOne, ShareAlternatives, ShareTry: see verdict.ShareOf. Args: n.
	ShareAll          Code = "argued.share_all"
	ShareOne          Code = "argued.share_one"
	ShareAlternatives Code = "argued.share_alternatives"
	ShareTry          Code = "argued.share_try"
	Estimated         Code = "argued.estimated"
	// Ranged: the values of launches; RangeBetween: what follows for any one or, with
	// relation, any two of them. Args: arm, values, against, base; low, high, limit.
	Ranged          Code = "argued.ranged"
	RangeBetween    Code = "argued.range_between"
	WouldPassToo    Code = "argued.would_pass_too"
	WouldPass       Code = "argued.would_pass"
	WouldHavePassed Code = "argued.would_have_passed"
	HypothesisCame  Code = "argued.hypothesis"
)
