package code

// What an apply finds before and beside its run.
const (
	// StateNotice: what was damaged in the state directory and mended. Args: notice.
	StateNotice Code = "apply.state_notice"
	// MachineChanged: Subject, a part of this machine's environment, differs from that of
	// the last apply. Args: then, now; empty where nothing is known.
	MachineChanged Code = "apply.machine_changed"
	// LeftProcess, LeftContainer and LeftInContainer: what an earlier apply left and this
	// one ended, the container Subject or processes in it. Args: pid and launch; image,
	// started, daemon and launch; daemon and processes.
	LeftProcess     Code = "apply.left_process"
	LeftContainer   Code = "apply.left_container"
	LeftInContainer Code = "apply.left_in_container"
	// LeftUnknown: a daemon does not answer, so that nobody knows. Args: error.
	LeftUnknown Code = "apply.left_unknown"
	// LogsUnclean: logs of the run Subject may hold secrets. Args: error.
	LogsUnclean Code = "apply.logs_unclean"
	// ImagePulled: the image Subject is being pulled. Args: done and total, in GB, where
	// they are known.
	ImagePulled Code = "apply.image_pulled"
)
