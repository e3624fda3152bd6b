package tell

import (
	"strings"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

var levelPhrases = phrases{
	code.AnswerEmpty:   "the answer to {prompt:q} is empty",
	code.AnswerLacks:   "the answer to {prompt:q} should contain {expect:q} but was {answer:q}",
	code.AnswerUnlike:  "the answer to {prompt:q} should match {pattern:q} but was {answer:q}",
	code.AnswerGarbage: "the answer to {prompt:q} is not readable text",
	code.Answered:      "answered {answer:q}",

	code.LastWords:       "its last output: {line}",
	code.NumbersUnread:   "its numbers cannot be read: {error}",
	code.NumberFound:     "{subject} {value}",
	code.ItemsPaired:     "{items} items: {lost} lost, {gained} gained against the parent (p {p})",
	code.FileTooLarge:    "level {subject} left {file} ({mib} MiB), which is not kept: at most {most} files of up to 256 MiB are",
	code.QualityAnswered: "{answers|answer|answers} of {tokens|token|tokens} recorded",
	code.QualityItself:   "{answers|answer|answers} from each of {launches} launches of itself{kl?: KL {kl}, argmax match {argmax}}",
	code.QualityWithin:   limited,
	code.QualityNoise: func(r verdict.Reason) string {
		return limited(r) + ": over the limit, but within that noise"
	},
	code.QualityOver: limited,
	code.QualityDiverged: func(r verdict.Reason) string {
		return fill("prompt {prompt}, token {token}: ", r) + tokenOf(r, "was") + fill(" from {parent}, here ", r) + tokenOf(r, "is") + fill("{gap?, {gap} less likely}", r)
	},
	code.QualityDiffer:       "{diverged} of {answers} pairs of answers differ, {ties} at a near-tie{positions?; {positions|position|positions} compared with {parent}'s}",
	code.QualityFlaws:        "impossible log-probabilities: {nan} NaN, {inf} infinite, {above} above 0, {sums} lists that sum to more than 1, {repeated} that list a token twice",
	code.QualityParentFlaws:  "{parent} itself answers with impossible log-probabilities",
	code.QualityEmpty:        "no token in the answers to {prompts|prompt|prompts}",
	code.QualityTwice:        "the same request, sent twice, got different answers from token {token} on",
	code.QualityOtherPrompts: "the launches compared were asked other prompts",
	code.QualityMissing:      "the engine did not return the log-probabilities that its limits need{error?: {error}}",
	code.QualityNoText:       "the engine returned no log-probabilities of a prompt, which max_perplexity_increase needs",
	code.QualityFew:          "only {positions|position|positions} could be compared, and {least} are needed: raise prompts or output_tokens",
	code.QualityNoParent:     "{parent} could not be launched for its answers",

	code.MetricsPrinted: "exit status 0, all {metrics} metrics printed",
	code.MetricValues:   "{subject}: {values} values, median {median}",

	code.NoKnobs:        "the plan declares no knobs: nothing to prove",
	code.LogUnknown:     "the endpoint's log is not here, so lines of it prove no knob value: observe a page or metric of the server, or start it with an executor",
	code.LogEmpty:       "the engine logged nothing, so no knob value is proved",
	code.LogBeganBefore: "the server was already running, so its log starts in the middle and a missing line proves nothing: add restart to the endpoint block",
	code.LogCut:         "the log was too large and lost its middle, so a missing line proves nothing: make the engine log less",
	code.LogBrokeOff:    "the connection to the docker daemon broke while the log was followed, so a missing line proves nothing: check the daemon and apply again",
	code.LogNotKept:     "its log was not kept, so no knob value is proved",
	code.LogAt:          "log: {path}",
	code.Proved: func(r verdict.Reason) string {
		by := "the log"
		if r.Args["by"].Text == "engine" {
			by = "what the engine reports"
		}
		return by + fill(" proves the value of {knobs|knob|knobs}", r)
	},
	code.Unproven:       setKnob + " is unproven: it declares neither must_see nor must_not_see",
	code.Seen:           setKnob + ": seen {glob:q} (line {line_no}: {line})",
	code.NotSeen:        setKnob + ": {glob:q} must be in the log but is not{causes?; nearest: {causes}}",
	code.NearLine:       "line {line_no}: {line}",
	code.SeenChosen:     setKnob + ": seen {glob:q}, where the engine chose it (line {line_no}: {line})",
	code.SeenAtStart:    setKnob + ": seen {glob:q} at start only, as at_start allows: a weaker proof (line {line_no}: {line})",
	code.OnlyConfigured: setKnob + ": {glob:q} is in the log only before the first request (line {line_no}: {line}): configured, not proven" + nameUse,
	code.SeenLines:      setKnob + ": seen {lines|line|lines} of at least {at_least}: {causes}",
	code.TooFewLines:    setKnob + ": at least {at_least|line|lines} of the log must match {globs:or} but {lines} did{causes?: {causes}}{early?; {early} more before the first request: configured, not proven" + nameUse + "}",
	code.LinesLike:      "{lines} × {glob:q} (first in line {line_no}: {line})",
	code.WronglySeen:    setKnob + ": {glob:q} must not be in the log but is (line {line_no}: {line})",

	code.Observed:        setKnob + ": observed {name} {is} ({from})",
	code.ObservedAtStart: setKnob + ": observed {name} {is} at start only, as at_start allows: a weaker proof ({from})",
	code.ObservedAsked:   setKnob + ": {name} is {is} by a line from before the first request ({from}): configured, not proven" + nameUse,
	code.NotObserved:     setKnob + " is unproven: {name} was not observed",
	code.ObservedOther:   setKnob + ": {name} must be {must} but the engine reports {is} ({from})",
	code.WronglyObserved: setKnob + ": {name} must not be {is} but the engine reports it ({from})",
	code.Unasked:         "this engine has no observation of that name",
}

// nameUse says what to do about evidence that proves nothing.
const nameUse = "; name something that the engine logs or counts while it answers, or accept it with at_start = true"

// setKnob is a knob with its value.
const setKnob = "{subject} = {value:q}"

// tokenOf is a token as the engine names it, or that an answer had ended.
func tokenOf(r verdict.Reason, name string) string {
	if _, known := r.Args[name+"_id"]; known {
		return fill("id {"+name+"_id}", r)
	}
	if _, known := r.Args[name]; known {
		return fill("{"+name+":q}", r)
	}
	return "the end of the answer"
}

// qualityNames are the measures by which answers are compared.
var qualityNames = map[string]string{
	"kl": "KL", "kl_p99": "KL p99", "argmax_match": "argmax match", "agreement": "agreement", "perplexity": "perplexity",
}

// limited is a measure of compared answers with its limit: "KL +0.031 nats/token (allowed
// ≤ 0.02; parent against itself 0.0004)".
func limited(r verdict.Reason) string {
	name := qualityNames[r.Subject]
	if name == "" {
		name = r.Subject
	}
	if part := r.Args["part"].Text; part != "" {
		name += " of " + part
	}
	number := func(arg string) string {
		v := r.Args[arg]
		if v.Number == nil {
			return "?"
		}
		return Number(*v.Number, v.Unit)
	}
	bare := func(arg string) string { return strings.TrimSuffix(number(arg), " nats/token") }
	op := "≤"
	if r.Args["least"].Text != "" {
		op = "≥"
	}
	text := name + " " + number("value") + " (allowed " + op + " " + bare("limit")
	if _, known := r.Args["noise"]; known {
		text += fill("; {parent} against itself ", r) + bare("noise")
	}
	return text + ")"
}
