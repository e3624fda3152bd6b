package code

// How the commands of steps end.
const (
	Ended    Code = "step.ended"
	TimedOut Code = "step.timed_out"
	// PrintedTooMuch: a program was stopped because it wrote more to standard output than
	// is read. Args: mib.
	PrintedTooMuch Code = "step.printed_too_much"
	NotStarted     Code = "step.not_started"
	ImageMade      Code = "docker.image_made"
	NoImageID      Code = "docker.no_image_id"
)

// What git steps did, and why their result no longer holds. Subject is a branch, a tag or
// a folder; "at" is a commit, with its subject line.
const (
	GitRefused Code = "git.refused"
	RefAlready Code = "git.ref.already"
	RefMade    Code = "git.ref.made"
	// RefMoved: args: before, after; followed if force follows it.
	RefMoved  Code = "git.ref.moved"
	RefGone   Code = "git.ref.gone"
	RefHas    Code = "git.ref.has"
	RefLacks  Code = "git.ref.lacks"
	Switched  Code = "git.switched"
	OffBranch Code = "git.off_branch"
)

// What became of a note on third-party code. Subject is its location, or its last one if
// it is gone: file:line, or the files of a note that was never right. Args: now and noted
// (commits), was (file:line), text (what is alike).
const (
	TodoStill   Code = "todo.still"
	TodoMoved   Code = "todo.moved"
	TodoChanged Code = "todo.changed"
	TodoGone    Code = "todo.gone"
	TodoNever   Code = "todo.never"
)

// What comparisons of engines report.
const (
	NotQualifying Code = "compare.not_qualifying"
	Compared      Code = "compare.done"
	// Combined: how many cells of a matrix were measured. Args: cells, of, launches.
	Combined Code = "matrix.done"
)
