package tell

import "github.com/mxflow/mxflow/gates/verdict/code"

var workPhrases = phrases{
	code.TooFast:          "{subject}: {requests} of {of} answers came at up to {highest:2}, and no stream can exceed {most:2}: not computed",
	code.LengthCounted:    "{subject}: the engine counted {least?{least} to }{most} tokens in {requests} of {of} prompts{sent? of {sent} tokens} (length by: {method}): it did other work than requested, or miscounts",
	code.PromptText:       "{subject}: a prompt token of {one} covers {value:2} of text, one of {other} {other_value:2}: {one} counts other tokens than it was sent",
	code.AnswerText:       "{subject}: a generated token of {one} covers {value:2} of visible text, one of {other} {other_value:2}: {one} counts tokens that it did not send, or sends pieces of tokens",
	code.PromptCount:      "{subject}: {one} counts {value:3} prompt tokens for each one by the tokenizer of {other}, {other} itself {other_value:3}: {one} counts other tokens than it was sent",
	code.AnswerCount:      "{subject}: {one} counts {value:3} answer tokens for each one by the tokenizer of {other}, {other} itself {other_value:3}: {one} counts tokens that it did not send, or sends pieces of tokens",
	code.ForcedBy:         "drafted tokens are accepted by force ({by}): not what the model says",
	code.ForcedLogged:     "drafted tokens are accepted by force (log line {line_no}: {line}): not what the model says",
	code.SettingUnshown:   "{subject} is set, but it is unknown whether the engine used it: {name} is not seen{causes? ({causes})}",
	code.SettingUnused:    "{subject} is set, but the engine does not show that it used it: {name} {value?is {value}}{value!is not seen}{causes? ({causes})}, so it would be measured without it",
	code.OtherAnswers:     "{subject} does not answer as {other}: asked at random positions{part? ({part})} of its answers to {cell}, {other} says the same at {agreed} of {of}, of its own at {own} of {own_of} ({least?at most {least} less is allowed}{declared?min_agreement = {declared}}): another model, a coarser format, or not computed",
	code.AgreementOpen:    "not shown that {subject} answers as {other}: asked at random positions{part? ({part})} of its answers to {cell}, {other} says the same at {agreed} of {of}, of its own at {own} of {own_of}{recites?; more of {subject}'s answers than of {other}'s is recited: it stands in the prompt or in other answers, or follows from the few words before it} ({least?shown must be at most {least} less}{declared?min_agreement = {declared}}). A port that changes answers on purpose declares min_agreement",
	code.Agrees:           "{subject} answers as {other}: at random positions of its answers{cell? to {cell}}, {other} says the same at {agreed} of {of}, of its own at {own} of {own_of}{declared?; min_agreement = {declared} is declared}",
	code.NotAsked:         "not shown that {subject} answers as {other}: {other} could not be asked about enough of its answers{launches?, in {launches}}",
	code.Unchecked:        "nobody asked whether the answers of {subject} are its parent's (answers = \"unchecked\")",
	code.Declared:         "the answers of {subject} may differ from its parent's: min_agreement = {least}",
	code.WorkUncompared:   "{subject}: fewer than {least} answers per arm: the work of {one} and {other} per token was not compared",
	code.DecodeBeyond:     "{subject}: {steps:3} of decoding, and {machine} cannot make more than {most:3}: each reads {least:3} at least, of {bandwidth:4} of memory bandwidth ({room} more, for clocks above the data sheet): not computed",
	code.PrefillBeyond:    "{subject}: prefill at {value:3}, and {machine} cannot exceed {most:3}: each token takes {each:3}, of {rate:4} ({room} more, for clocks above the data sheet): not computed, or from a cache",
	code.AboveFormats:     "{subject}: decode is faster than {bandwidth:4} allows in the formats of config.json: the engine reads smaller formats than that names, decodes several tokens at once, or does less work",
	code.OfLimit:          "{subject}, {variant}: tg {tg:3}, {share:2} of what {bandwidth:4} allows{pp?; pp {pp:3}, {pp_share:2} of what {rate:4} allows}",
	code.CacheImplausible: "a token of its KV cache takes {bytes} by its own figures, and {least} to {most} by the model's config: another model, another format, or a figure that is wrong",
	code.LimitUnknown:     "unknown what the machine allows: {error}",
}
