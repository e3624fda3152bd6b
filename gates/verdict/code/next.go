package code

// What would decide what is inconclusive. Subject is the rule, or the level.
const (
	// NextLaunches: so many launches likely do. Args: those of Settles, gap and spread.
	NextLaunches Code = "next.launches"
	// NextSpread: not even the most launches of a plan do, as they differ. Args: those of
	// SettlesNever, gap and spread.
	NextSpread Code = "next.spread"
	// NextStarts: so few launches show no spread. Args: launches, and least where it is
	// known how many a look takes.
	NextStarts Code = "next.starts"
	// NextQuiet: the machine disturbed what was measured, from how.
	NextQuiet Code = "next.quiet"
	// NextEvidence: what is missing, from why.
	NextEvidence Code = "next.evidence"
)
