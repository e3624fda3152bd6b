package code

// What the check of one engine found, beyond what a launch shows. path is a page that was
// requested.
const (
	UsageEvery Code = "check.usage.every"
	UsageEnd   Code = "check.usage.end"
	UsageNone  Code = "check.usage.none"
	// TokenizerAgrees and the others: what prompts get their length by. Args: path.
	TokenizerAgrees  Code = "check.tokenizer.agrees"
	TokenizerAlone   Code = "check.tokenizer.alone"
	TokenizerPieces  Code = "check.tokenizer.pieces"
	TokenizerUsage   Code = "check.tokenizer.usage"
	TokenizerGuess   Code = "check.tokenizer.guess"
	LengthRefused    Code = "check.length.refused"
	LengthShort      Code = "check.length.short"
	LengthHonoured   Code = "check.length.honoured"
	CachedUnreported Code = "check.cached.unreported"
	CachedReported   Code = "check.cached.reported"
	MetricsNone      Code = "check.metrics.none"
	MetricsMissing   Code = "check.metrics.missing"
	MetricsSome      Code = "check.metrics.some"
	MetricsAll       Code = "check.metrics.all"
	NoLog            Code = "check.log.none"
	LogUnsearchable  Code = "check.log.unsearchable"
	LogBroke         Code = "check.log.broke"
	LogSound         Code = "check.log.sound"
)
