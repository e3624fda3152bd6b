package tell

import "github.com/mxflow/mxflow/gates/verdict/code"

var stepPhrases = phrases{
	code.Ended:      "{exit}",
	code.TimedOut:   "stopped after its time limit of {limit}{error?: {error}}",
	code.NotStarted: "{error}",
	code.ImageMade:  "{subject} is {image}",
	code.NoImageID:  "docker build ended well and left no image ID: {error}",
	code.NoProgram:  "the image has no program that could be run: {line}; correct command, entrypoint or image",

	code.GitRefused:    "{error}",
	code.RefAlready:    "{subject} is at {at} already",
	code.RefMade:       "{subject} made{from? from {from}} at {at}",
	code.RefNew:        "{subject} is new, at {at}",
	code.RefMoved:      "{subject} moved from {before} to {after}{followed?, and force follows it}",
	code.RefWas:        "{subject} was {before} and is {after}",
	code.RefGone:       "{subject} is gone{began?; it began at {began}}{was?; it was at {was}}",
	code.RefHas:        "{subject} is at {at}, which has {commit} from {from} in its history",
	code.RefLacks:      "{subject}{at? is at {at}, which} does not have {commit} any more",
	code.ChangeLacking: "{subject} does not have the change of {commit}",
	code.HasAll:        "{subject} at {at} has all of it already",
	code.HasAlready:    "{subject} has {at} from {from} already",
	code.Merged:        "merged {at} from {from}; {subject} moved from {before} to {after}",
	code.Picked:        "picked {at}",
	code.AndMore:       "and {more} more",
	code.CommitsKept:   "{commits} commits were on {subject} alone and are kept as {backup}",
	code.NothingNew:    "nothing new at {subject}",
	code.CommitGone:    "commit {subject}, which was fetched, is gone",
	code.PatchAlready:  "{subject} is applied already, at {at}",
	code.PatchApplied:  "{subject} (sha256 {sha256}) applied on top of {at}",
	code.PatchGone:     "{subject} is not applied in {repo} any more",
	code.WorktreeMade:  "worktree {subject} made with {ref} at {at}",
	code.CheckedOut:    "{subject} has {ref} checked out already, at {at}",
	code.Switched:      "{subject} switched from {from}{from!a detached HEAD} at {before} to {ref} at {at}",
	code.OffBranch:     "{subject} is at {on?{on} }{commit}, not on branch {branch} any more",
	code.OffCommit:     "{subject} is at {at}, not at {commit} any more",

	code.NotQualifying: "protocol {subject} has no level that qualifies it; add level \"smoke\"",
	code.Compared:      "{engines} engines, {launches} launches each, against {reference}",
}
