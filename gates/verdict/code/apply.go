package code

// What an apply finds before and during its run.
const (
	StateNotice Code = "apply.state_notice"
	// StateWait: the state directory Subject is locked by the process pid; apply waits
	// for it.
	StateWait Code = "state.wait"
	// MachineChanged: Subject, a part of this machine's environment, differs from that of
	// the last apply. Args: then, now; empty if unknown.
	MachineChanged  Code = "apply.machine_changed"
	LeftProcess     Code = "apply.left_process"
	LeftContainer   Code = "apply.left_container"
	LeftInContainer Code = "apply.left_in_container"
	LeftUnknown     Code = "apply.left_unknown"
	LogsUnclean     Code = "apply.logs_unclean"
	// What a proposer asked for and is not allowed. SealMoved: Subject differs from the
	// seal, at a place in a file. Args: at; was and is, absent for nothing; limit, the
	// seal's. SealSpent: args launches, hours, most_launches and most_hours. SealUnread:
	// args error. NotProposers: the command or tool Subject is not for proposers.
	// FlagRefused: nor is the flag Subject.
	SealMoved    Code = "refused.moved"
	SealSpent    Code = "refused.spent"
	SealUnread   Code = "refused.seal_unread"
	NotProposers Code = "refused.command"
	// HelperShadowed: PATH finds the program Subject, which mxflow asks about the
	// machine, in a folder that a proposer can write. Args: path, system (folders where
	// it belongs).
	HelperShadowed Code = "refused.helper"
	FlagRefused    Code = "refused.flag"
	// ImagePulled: the image Subject is being pulled. Args: done and total, in GB, if
	// known.
	ImagePulled Code = "apply.image_pulled"
)
