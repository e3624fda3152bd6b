package tell

import "github.com/mxflow/mxflow/gates/verdict/code"

var checkPhrases = phrases{
	code.UsageEvery: "token counts in every event of a stream",
	code.UsageEnd:   "token counts at the end of a stream only: the first event is counted as one token",
	code.UsageNone:  "no token counts in streams: events are counted, and one may hold many tokens",

	code.TokenizerAgrees: "POST {path} counts tokens as usage does: prompts have the requested length",
	code.TokenizerAlone:  "POST {path} counts tokens; usage reports no prompt tokens",
	code.TokenizerPieces: "none, or usage contradicts it: prompts are made of pieces that usage counted, and have the requested length",
	code.TokenizerUsage:  "none, or usage contradicts it: prompts get about the requested length, by usage",
	code.TokenizerGuess:  "none, and usage reports no prompt tokens: four bytes are taken as a token",

	code.LengthRefused:  "refused (HTTP status {status}): set ignore_eos = false in workloads; answers may then be shorter than requested",
	code.LengthShort:    "not honoured: {tokens} of {of} tokens ({finish}{finish!no reason given})",
	code.LengthHonoured: "honoured: {tokens} of {of} tokens",

	code.CachedUnreported: "not reported: prompts answered from a cache go unnoticed{flag?; start it with {flag}}",
	code.CachedReported:   "reported: {tokens} of {of} tokens of a repeated prompt",

	code.MetricsNone:    "engines of this kind have no metrics page",
	code.MetricsMissing: "{why}{flags?; enable it with {flags}}",
	code.MetricsSome:    "GET {path} has {names} of {of} known names; missing: {lacking}",
	code.MetricsAll:     "GET {path} has all {names} known names",

	code.NoLog:           "none at an endpoint, so lines of it prove no kernel",
	code.LogUnsearchable: "cannot be searched: {error}",
	code.LogBroke:        "line {line_no} looks like an error: {line} ({means})",
	code.LogSound:        "{lines} lines, no errors{harmless?; {harmless} look like errors but are harmless}",
}
