package tell

import "github.com/mxflow/mxflow/gates/verdict/code"

var stepPhrases = phrases{
	code.Ended:      "{exit}",
	code.TimedOut:   "timed out after {limit}{error?: {error}}",
	code.NotStarted: "{error}",

	code.PrintedTooMuch: "printed more than {mib} MiB to standard output, which metric blocks read: let it log to standard error",
	code.ImageMade:      "{subject} is {image}",
	code.NoImageID:      "docker build succeeded but left no image ID: {error}",

	code.TodoStill:   "still at {subject} in {now}",
	code.TodoMoved:   "moved from {was} to {subject} in {now}",
	code.TodoChanged: "changed at {subject} in {now}, was {was}: {text}",
	code.TodoGone:    "{subject} is gone in {now}",
	code.TodoNever:   "{subject} does not contain the snippet in {noted}: correct file, commit or snippet",

	code.GitRefused: "{error}",
	code.RefAlready: "{subject} is already at {at}",
	code.RefMade:    "{subject} created{from? from {from}} at {at}",
	code.RefMoved:   "{subject} moved from {before} to {after}",
	code.RefGone:    "{subject} is gone{began?; it began at {began}}{was?; it was at {was}}",
	code.RefHas:     "{subject} is at {at}, which contains {commit} from {from}",
	code.RefLacks:   "{subject} is at {at}, which no longer contains {commit}",
	code.Switched:   "{subject} switched from {from}{from!a detached HEAD} at {before} to {ref} at {at}",
	code.OffBranch:  "{subject} is at {on?{on} }{commit}, no longer on branch {branch}",

	code.NotQualifying: "protocol {subject} has no level that qualifies it; add level \"smoke\"",
	code.Combined:      "{cells} of {of} cells measured, {launches} launches each",
	code.Compared:      "{engines} engines, {launches} launches each, against {reference}",
}
