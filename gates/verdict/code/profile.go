package code

// Results of profiling an engine.
const (
	// ProvedByProfile: no knob is to be proved by the log. Args: knobs.
	ProvedByProfile Code = "kernels.by_profile"
	// ProfileTook: Subject is a part of the profile, such as "decode at 8". Args: steps;
	// gpu, the GPU time of one step, and step, its duration without the profiler, absent
	// if unknown; most, the category that took most of it, and share.
	ProfileTook Code = "profile.took"
	// ProfileEmpty: it has no kernel of the engine. Args: files.
	ProfileEmpty Code = "profile.no_kernels"
	// ProfileHidden: some kernels have no names. Args: graphs, launches of CUDA graphs
	// that hide theirs; unnamed, kernels of a profile with too many names.
	ProfileHidden Code = "profile.hidden"
	// ProfileUnreadable: Args: error.
	ProfileUnreadable Code = "profile.unread"
	// ProfileRefused: the engine did not start or stop one at the page Subject. Args:
	// error.
	ProfileRefused Code = "profile.refused"
	// ProfileNoFile: nothing was written for Subject, or at all. Args: waited.
	ProfileNoFile Code = "profile.no_file"
	// ProfileCut: answers ended before a part had this many tokens. Args: tokens.
	ProfileCut Code = "profile.cut"
	// InTrace, NotInTrace, WronglyInTrace: Subject is a knob. Args: value, glob;
	// launches, kernel, the longest, and gpu, the time, of those found.
	InTrace        Code = "trace.seen"
	NotInTrace     Code = "trace.not_seen"
	WronglyInTrace Code = "trace.wrongly_seen"
	// LaunchesInTrace, TooFewInTrace: Args: value, globs, at_least, launches; kernel and gpu.
	LaunchesInTrace Code = "trace.launches"
	TooFewInTrace   Code = "trace.too_few"
	// BareOfTrace: what must not be seen was not, but may be hidden. Args: value, globs.
	BareOfTrace Code = "trace.bare"
)
