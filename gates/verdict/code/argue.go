package code

// What was found without a test of launches. Args: left, right, op; holds, a word; for
// per-launch counts also negated, each, launch and launches.
const (
	Found      Code = "found"
	FoundEach  Code = "found.each"
	Untestable Code = "found.untestable"
)

// Why no more launches are made for an open test.
const (
	RecordedOnly   Code = "no_more.recorded_only"
	DecidedWithout Code = "no_more.decided_without"
	OtherDecided   Code = "no_more.other_decided"
	ForHypothesis  Code = "no_more.hypothesis"
)

// ShareAll, ShareOne, ShareAlternatives, ShareTry: see verdict.ShareOf. Args: n.
const (
	ShareAll          Code = "argued.share_all"
	ShareOne          Code = "argued.share_one"
	ShareAlternatives Code = "argued.share_alternatives"
	ShareTry          Code = "argued.share_try"
)
