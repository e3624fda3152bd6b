package code

// What the check of one engine found, beyond what a launch shows. path is a page that was
// requested.
const (
	UsageEvery      Code = "check.usage.every"
	UsageEnd        Code = "check.usage.end"
	UsageNone       Code = "check.usage.none"
	TokenizerNone   Code = "check.tokenizer.none"
	TokenizerSilent Code = "check.tokenizer.silent"
	// TokenizerAlone, TokenizerAgrees, TokenizerTemplate and TokenizerDiffers: its token
	// count of a text, and that in usage. Args: path, tokens, text, usage.
	TokenizerAlone    Code = "check.tokenizer.alone"
	TokenizerAgrees   Code = "check.tokenizer.agrees"
	TokenizerTemplate Code = "check.tokenizer.template"
	TokenizerDiffers  Code = "check.tokenizer.differs"
	LengthRefused     Code = "check.length.refused"
	LengthShort       Code = "check.length.short"
	LengthHonoured    Code = "check.length.honoured"
	CachedUnreported  Code = "check.cached.unreported"
	CachedReported    Code = "check.cached.reported"
	MetricsNone       Code = "check.metrics.none"
	MetricsMissing    Code = "check.metrics.missing"
	MetricsSome       Code = "check.metrics.some"
	MetricsAll        Code = "check.metrics.all"
	NoLog             Code = "check.log.none"
	LogUnsearchable   Code = "check.log.unsearchable"
	LogBroke          Code = "check.log.broke"
	LogSound          Code = "check.log.sound"
)
