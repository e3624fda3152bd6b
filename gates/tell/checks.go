package tell

import "github.com/mxflow/mxflow/gates/verdict/code"

var checkPhrases = phrases{
	code.UsageEvery: "token counts in every event of a stream",
	code.UsageEnd:   "token counts at the end of a stream, so that the first event is taken for one token",
	code.UsageNone:  "no token counts in streams: events are counted instead, and one may hold many tokens",

	code.TokenizerNone:     "engines of this kind count no tokens of a text: prompts are cut to length by what usage says",
	code.TokenizerSilent:   "POST {path} does not answer: {error}",
	code.TokenizerAlone:    tokenizerCounts + "; usage says nothing of prompts",
	code.TokenizerAgrees:   tokenizerCounts + ", as usage does",
	code.TokenizerTemplate: tokenizerCounts + ", and the chat template makes {usage} of them",
	code.TokenizerDiffers:  tokenizerCounts + " and usage says {usage}: prompts will be of another length than asked for",

	code.LengthRefused:  "refused (HTTP status {status}): set ignore_eos = false in workloads, and mind that answers fall short",
	code.LengthShort:    "not honoured: {tokens} of {of} tokens came ({finish}{finish!no reason given})",
	code.LengthHonoured: "honoured: {tokens} of {of} tokens came",

	code.CachedUnreported: "not reported, so that prompts answered from a cache are not noticed{flag?: start it with {flag}}",
	code.CachedReported:   "reported: {tokens} of {of} tokens of a prompt that was sent twice",

	code.MetricsNone:    "engines of this kind have no page of metrics",
	code.MetricsMissing: "{why}{flags?; it is there with {flags}}",
	code.MetricsSome:    "GET {path} has {names} of {of} known names; not {lacking}",
	code.MetricsAll:     "GET {path} has all {names} known names",

	code.NoLog:           "there is none: nothing of kernels can be proved; name it with log_file in the endpoint block",
	code.LogUnsearchable: "it cannot be searched: {error}",
	code.LogBroke:        "line {line_no} looks like a break: {line} ({means})",
	code.LogSound:        "{lines} lines, none of which shows a break{harmless?; {harmless} look like it and are harmless}",
}

const tokenizerCounts = "POST {path} counts {tokens} tokens in {text:q}"
