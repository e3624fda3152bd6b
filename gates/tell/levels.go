package tell

import (
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

var levelPhrases = phrases{
	code.AnswerEmpty:   "the answer to {prompt:q} is empty",
	code.AnswerLacks:   "the answer to {prompt:q} should contain {expect:q}, it was {answer:q}",
	code.AnswerUnlike:  "the answer to {prompt:q} should match {pattern:q}, it was {answer:q}",
	code.AnswerGarbage: "the answer to {prompt:q} does not read as text",
	code.Answered:      "answered {answer:q}",

	code.MetricsPrinted: "exit status 0, and all of {metrics} metrics were printed",
	code.MetricValues:   "{subject}: {values} values, median {median}",

	code.NoKnobs:        "the plan declares no knob, so there is nothing to prove",
	code.LogUnknown:     "the engine runs at an endpoint and its log is not known, so nothing of it can be proved: name the log with log_file in the endpoint block",
	code.LogEmpty:       "the engine logged nothing, so no kernel is proved",
	code.LogBeganBefore: "the server was running before the launch, so its log begins in the middle and what is missing in it proves nothing: with restart in the endpoint block it begins with the start",
	code.LogCut:         "the log grew so large that its middle was dropped, and what is missing in it proves nothing: let the engine log less",
	code.LogBrokeOff:    "the connection to the docker daemon broke while the log was followed, and what is missing in it proves nothing: see that the daemon answers, and apply again",
	code.LogAt:          "the log is {path}",
	code.Proved: func(r verdict.Reason) string {
		by := "the log"
		if r.Args["by"].Text == "engine" {
			by = "what the engine says"
		}
		return by + fill(" proves the value of {knobs|knob|knobs}", r)
	},
	code.Unproven:    setKnob + " is unproven: it declares neither must_see nor must_not_see",
	code.Seen:        setKnob + ": seen {glob:q} (line {line_no}: {line})",
	code.NotSeen:     setKnob + ": {glob:q} must be seen in the log and was not",
	code.WronglySeen: setKnob + ": {glob:q} must not be seen, but line {line_no} says: {line}",

	code.Observed:        setKnob + ": observed {name} {is} ({from})",
	code.NotObserved:     setKnob + " is unproven: {name} was not observed",
	code.ObservedOther:   setKnob + ": {name} must be {must}, and the engine says {is} ({from})",
	code.WronglyObserved: setKnob + ": {name} must not be {is}, and the engine says so ({from})",
	code.Unasked:         "this engine has no observation of that name",
}

// setKnob is a knob with its value.
const setKnob = "{subject} = {value:q}"
