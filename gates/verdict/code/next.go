package code

// What would decide an inconclusive rule or level, which is Subject.
const (
	// NextLaunches: so many launches likely would. Args: those of Settles, gap and
	// spread.
	NextLaunches Code = "next.launches"
	// NextSpread: with this spread not even the plan's maximum of launches would. Args:
	// those of SettlesNever, gap and spread.
	NextSpread Code = "next.spread"
	// NextStarts: so few launches show no spread. Args: launches, and least if it is
	// known how many a look needs.
	NextStarts Code = "next.starts"
	// NextQuiet: the machine disturbed the measurement; the causes are how.
	NextQuiet Code = "next.quiet"
	// NextEvidence: evidence is missing; the cause is why.
	NextEvidence Code = "next.evidence"
)
