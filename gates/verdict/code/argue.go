package code

// What a comparison claims. Args: metric, arm; against, the other arm; least or most, the
// threshold, or limit that a whole range is held against.
const (
	ClaimGain        Code = "claim.gain"
	ClaimChange      Code = "claim.change"
	ClaimDelta       Code = "claim.delta"
	ClaimLevel       Code = "claim.level"
	ClaimRangeChange Code = "claim.range_change"
	ClaimRangeDelta  Code = "claim.range_delta"
	ClaimRange       Code = "claim.range"
)

// By which test.
const (
	ByLogs        Code = "by.logs"
	ByDifferences Code = "by.differences"
	// ByRounds: of differences within rounds, since rounds stood on several places; logs
	// where they are of logs. ByPlaces: of one arm that stood on several.
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

// What was found where launches are not tested. Args: left, right, op; holds, a word;
// and of what each launch counts also negated, each, launch and launches.
const (
	Found      Code = "found"
	FoundEach  Code = "found.each"
	Untestable Code = "found.untestable"
)

// What followed from one look. Args: level, where that was reached.
const (
	LookScreens Code = "look.screens"
	LookEarly   Code = "look.early"
	LookUnclear Code = "look.unclear"
	LookGoesOn  Code = "look.goes_on"
	LookPasses  Code = "look.passes"
	LookFails   Code = "look.fails"
	LookFutile  Code = "look.futile"
	LookLast    Code = "look.last"
	LookOpen    Code = "look.open"
)

// How a test ended. Args: launches, against; p and level; behind, how many launches are
// recorded where the look that decided did not take all of them.
const (
	DecidedPass   Code = "stopped.pass"
	DecidedFail   Code = "stopped.fail"
	StoppedScreen Code = "stopped.screen"
	StoppedFutile Code = "stopped.futile"
	StoppedEnd    Code = "stopped.end"
	// StoppedOpen: it is open, from why no more launches are made.
	StoppedOpen    Code = "stopped.open"
	NoLook         Code = "stopped.no_look"
	StoppedUnknown Code = "stopped.unknown"
)

// Why no more launches are made for what is open.
const (
	RecordedOnly   Code = "no_more.recorded_only"
	DecidedWithout Code = "no_more.decided_without"
	OtherDecided   Code = "no_more.other_decided"
	ForHypothesis  Code = "no_more.hypothesis"
)

// What else stands below the looks of a test.
const (
	Replicates Code = "argued.replicates"
	Flatters   Code = "argued.flatters"
	// Levels: at which p looks decide, from how the chances of an error were divided.
	// Args: pass, fail; plan, the looks.
	Levels Code = "argued.levels"
	// ShareAll, ShareOne, ShareAlternatives, ShareTry, ShareCells: see verdict.ShareOf. Args: n.
	ShareAll          Code = "argued.share_all"
	ShareOne          Code = "argued.share_one"
	ShareAlternatives Code = "argued.share_alternatives"
	ShareTry          Code = "argued.share_try"
	ShareCells        Code = "argued.share_cells"
	Estimated         Code = "argued.estimated"
	// Ranged: what launches have; RangeBetween: what follows for any one or, with
	// relation, any two of them. Args: arm, values, against, base; low,
	// high, limit.
	Ranged          Code = "argued.ranged"
	RangeBetween    Code = "argued.range_between"
	WouldPassToo    Code = "argued.would_pass_too"
	WouldPass       Code = "argued.would_pass"
	WouldHavePassed Code = "argued.would_have_passed"
	HypothesisCame  Code = "argued.hypothesis"
)
