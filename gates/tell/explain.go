package tell

import "github.com/mxflow/mxflow/gates/verdict/code"

var explainPhrases = phrases{
	code.ArmSays:        "{subject}",
	code.Unreadable:     "{answers} of {of} answers of {subject} do not read as text, such as {causes}: speeds of a server that answers so mean nothing",
	code.SomeUnreadable: "{answers} of {of} answers of {subject} do not read as text, such as {causes}",
	code.NoSuchLaunch:   "no launch of this name is recorded",
	code.LevelShort:     "{subject} {verdict}",
	code.ExitStatus:     "exit status {exit}",
	code.WasWithdrawn:   "{causes}; what is withdrawn was {verdict}{accepted? and accepted} (attempt {attempt}), which --attempt {attempt} explains",
	code.WithdrawnLater: "this decision was withdrawn on {when}",
	code.EvidenceStays:  "{causes}; the verdict by the evidence stays {verdict}",
	code.Superseded:     "this is not what stands: attempt {attempt} ({verdict}) took its place, because",
	code.IsMissing:      "{subject} is missing",
	code.InputMissing:   "{subject} = missing",
	code.LaunchAside:    "launch {number}, {subject}",
	code.AsideBroke:     "broke",
	code.AsideInvalid:   "does not count",
	code.NotRead:        "not read",
	code.ClockBack:      "the machine's clock went back by {by} between the starts of {subject} and {next}. No number depends on it: launches are ordered by count, and times within a launch come from a clock that is never set",
	code.Rebooted:       "the machine was started again between {subject} and {next}",
	code.InPlaceOf:      "launch {subject} stands in the place of {other}, which did not count",
}
