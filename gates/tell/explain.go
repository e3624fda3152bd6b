package tell

import "github.com/mxflow/mxflow/gates/verdict/code"

var explainPhrases = phrases{
	code.ArmSays:        "{subject}",
	code.Unreadable:     "{answers} of {of} answers of {subject} are not readable text, e.g. {causes}: speeds of such a server are meaningless",
	code.SomeUnreadable: "{answers} of {of} answers of {subject} are not readable text, e.g. {causes}",
	code.LevelShort:     "{subject} {verdict}",
	code.ExitStatus:     "exit status {exit}",
	code.WasWithdrawn:   "{causes}; withdrawn: {verdict}{accepted?, accepted} (attempt {attempt}, see --attempt {attempt})",
	code.WithdrawnLater: "withdrawn on {when}",
	code.EvidenceStays:  "{causes}; the verdict by evidence remains {verdict}",
	code.Superseded:     "superseded by attempt {attempt} ({verdict})",
	code.IsMissing:      "{subject} is missing",
	code.InputMissing:   "{subject} = missing",
	code.LaunchAside:    "launch {number}, {subject}",
	code.AsideBroke:     "engine or harness error",
	code.AsideInvalid:   "does not count",
	code.NotRead:        "not read",
	code.ClockBack:      "the machine's clock went back by {by} between the starts of {subject} and {next}; no number depends on it",
	code.Rebooted:       "the machine was rebooted between {subject} and {next}",
	code.InPlaceOf:      "launch {subject} replaces {other}, which did not count",
}
