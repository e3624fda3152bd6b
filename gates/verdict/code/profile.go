package code

// What came of taking a profile of an engine.
const (
	// ProvedByProfile: the log is to prove none of the knobs. Args: knobs.
	ProvedByProfile Code = "kernels.by_profile"
	// ProfileTook: Subject is a part of the profile, such as "decode at 8". Args: steps;
	// gpu, the time of a GPU for one, and step, how long one took without the profiler,
	// absent where that is not known; most, the category that took most of it, and share.
	ProfileTook Code = "profile.took"
	// ProfileEmpty: there is no kernel of the engine in it. Args: files.
	ProfileEmpty Code = "profile.no_kernels"
	// ProfileHidden: the names of what ran are not all known. Args: graphs, launches of CUDA
	// graphs that hide theirs; unnamed, kernels of a profile with too many names.
	ProfileHidden Code = "profile.hidden"
	// ProfileUnreadable: Args: error.
	ProfileUnreadable Code = "profile.unread"
	// ProfileRefused: the engine did not begin or end one at the page Subject. Args: error.
	ProfileRefused Code = "profile.refused"
	// ProfileNoFile: nothing was written of Subject, or at all. Args: waited.
	ProfileNoFile Code = "profile.no_file"
	// ProfileCut: answers ended before so many tokens of a part had come. Args: tokens.
	ProfileCut Code = "profile.cut"
	// InTrace, NotInTrace, WronglyInTrace: Subject is a knob. Args: value, glob; launches,
	// kernel, the longest, and gpu, the time, of those that were found.
	InTrace        Code = "trace.seen"
	NotInTrace     Code = "trace.not_seen"
	WronglyInTrace Code = "trace.wrongly_seen"
	// LaunchesInTrace, TooFewInTrace: Args: value, globs, at_least, launches; kernel and gpu.
	LaunchesInTrace Code = "trace.launches"
	TooFewInTrace   Code = "trace.too_few"
	// BareOfTrace: what must not be seen was not, and may be hidden. Args: value, globs.
	BareOfTrace Code = "trace.bare"
)
