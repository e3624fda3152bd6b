package code

// What the check of one engine found, beyond what a launch shows. What stands in a
// path is a page that was asked.
const (
	// UsageEvery, UsageEnd and UsageNone: where a stream has token counts.
	UsageEvery Code = "check.usage.every"
	UsageEnd   Code = "check.usage.end"
	UsageNone  Code = "check.usage.none"
	// TokenizerNone: engines of this kind count no tokens of a text.
	TokenizerNone Code = "check.tokenizer.none"
	// TokenizerSilent: args: path, error.
	TokenizerSilent Code = "check.tokenizer.silent"
	// TokenizerAlone, TokenizerAgrees, TokenizerTemplate and TokenizerDiffers: its count
	// of a text, and that of usage. Args: path, tokens, text, usage.
	TokenizerAlone    Code = "check.tokenizer.alone"
	TokenizerAgrees   Code = "check.tokenizer.agrees"
	TokenizerTemplate Code = "check.tokenizer.template"
	TokenizerDiffers  Code = "check.tokenizer.differs"
	// LengthRefused: args: status. LengthShort: args: tokens, of, finish.
	// LengthHonoured: args: tokens, of.
	LengthRefused  Code = "check.length.refused"
	LengthShort    Code = "check.length.short"
	LengthHonoured Code = "check.length.honoured"
	// CachedUnreported: args: flag, where one makes the engine say it. CachedReported:
	// args: tokens, of.
	CachedUnreported Code = "check.cached.unreported"
	CachedReported   Code = "check.cached.reported"
	// MetricsNone: the kind has no page of them. MetricsMissing: args: why, flags.
	// MetricsSome and MetricsAll: args: path, names, of, lacking.
	MetricsNone    Code = "check.metrics.none"
	MetricsMissing Code = "check.metrics.missing"
	MetricsSome    Code = "check.metrics.some"
	MetricsAll     Code = "check.metrics.all"
	// NoLog: there is none. LogUnsearchable: args: error. LogBroke: args: line_no, line,
	// means. LogSound: args: lines, harmless.
	NoLog           Code = "check.log.none"
	LogUnsearchable Code = "check.log.unsearchable"
	LogBroke        Code = "check.log.broke"
	LogSound        Code = "check.log.sound"
)
