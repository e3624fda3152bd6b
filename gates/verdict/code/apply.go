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
	// ImagePulled: the image Subject is being pulled. Args: done and total, in GB, if
	// known.
	ImagePulled Code = "apply.image_pulled"
)
