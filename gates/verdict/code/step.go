package code

// How the commands of steps end.
const (
	// Ended: args: exit.
	Ended Code = "step.ended"
	// TimedOut: args: limit, and error where it was told.
	TimedOut Code = "step.timed_out"
	// NotStarted: args: error.
	NotStarted Code = "step.not_started"
	// ImageMade: the tag Subject stands for it. Args: image.
	ImageMade Code = "docker.image_made"
	// NoImageID: the build left none. Args: error.
	NoImageID Code = "docker.no_image_id"
	// NoProgram: the image has none that could be run. Args: line.
	NoProgram Code = "docker.no_program"
)

// What git steps did, and why what they reached does not hold any more. Subject is a
// branch, a tag, a ref of a remote or a folder; "at" is a commit, with its subject line.
const (
	// GitRefused: args: error.
	GitRefused Code = "git.refused"
	// RefAlready: args: at.
	RefAlready Code = "git.ref.already"
	// RefMade: args: at, and from.
	RefMade Code = "git.ref.made"
	// RefNew: args: at.
	RefNew Code = "git.ref.new"
	// RefMoved: args: before, after; followed where force follows it.
	RefMoved Code = "git.ref.moved"
	// RefWas: what Subject stands for. Args: before, after.
	RefWas Code = "git.ref.was"
	// RefGone: args: began or was.
	RefGone Code = "git.ref.gone"
	// RefHas: it has a commit in its history. Args: at, commit, from.
	RefHas Code = "git.ref.has"
	// RefLacks: it does not have it any more. Args: commit, and at.
	RefLacks Code = "git.ref.lacks"
	// ChangeLacking: it does not have the change of a commit. Args: commit.
	ChangeLacking Code = "git.ref.lacks_change"
	// HasAll: of what is picked. Args: at.
	HasAll Code = "git.has_all"
	// HasAlready: what is merged. Args: at, from.
	HasAlready Code = "git.has_already"
	// Merged: into Subject. Args: at, from, before, after.
	Merged Code = "git.merged"
	// Picked: args: at.
	Picked Code = "git.picked"
	// AndMore: args: more.
	AndMore Code = "git.and_more"
	// CommitsKept: of the branch Subject alone. Args: commits, backup.
	CommitsKept Code = "git.commits_kept"
	// NothingNew: at the remote Subject.
	NothingNew Code = "git.nothing_new"
	// CommitGone: Subject, which was fetched.
	CommitGone Code = "git.commit_gone"
	// PatchAlready: args: at. PatchApplied: args: sha256, at. PatchGone: args: repo.
	PatchAlready Code = "git.patch.already"
	PatchApplied Code = "git.patch.applied"
	PatchGone    Code = "git.patch.gone"
	// WorktreeMade, CheckedOut and Switched: args: ref, at; from, where a branch was
	// checked out, and before.
	WorktreeMade Code = "git.worktree.made"
	CheckedOut   Code = "git.checked_out"
	Switched     Code = "git.switched"
	// OffBranch: args: on where it is on one, commit, branch. OffCommit: at, commit.
	OffBranch Code = "git.off_branch"
	OffCommit Code = "git.off_commit"
)

// What comparisons of engines say.
const (
	// NotQualifying: the protocol Subject has no level that qualifies anything.
	NotQualifying Code = "compare.not_qualifying"
	// Compared: args: engines, launches, reference.
	Compared Code = "compare.done"
)
