package code

// What a step of the phase Subject waits for most of its time, by a profile.
const (
	// BoundHost: no GPU works. Args: share (of the step; a span where a profiler slowed it
	// down). BoundCommunication: GPUs wait for each other. Args: share.
	BoundHost          Code = "bound.host"
	BoundCommunication Code = "bound.communication"
	// BoundMemory, BoundCompute: kernels that cannot be faster than the memory is read, or
	// the matrix units multiply. Args: share; of_limit (of the bandwidth, of the peak).
	BoundMemory  Code = "bound.memory"
	BoundCompute Code = "bound.compute"
	// BoundUnknown: the evidence does not suffice, from one of the codes below.
	BoundUnknown Code = "bound.unknown"
	// NoLimit: nothing says how long the kernels take at least. KernelsUnseen: the model
	// has kernels that the profile does not show. Args: categories. ProfilerSlowed: it
	// depends on how much the profiler slowed the step down. NothingMost: nothing takes most
	// of it. Args of both: idle, memory, compute, communication, rest (shares). SumsOnly:
	// the profile does not say how long a step takes.
	NoLimit        Code = "bound.no_limit"
	KernelsUnseen  Code = "bound.kernels_unseen"
	ProfilerSlowed Code = "bound.profiler_slowed"
	NothingMost    Code = "bound.nothing_most"
	SumsOnly       Code = "bound.sums_only"
	// AboveLimit: kernels of the categories Args: categories are faster than the limit.
	// HeadTaken: the kernel Subject is taken for the output projection.
	AboveLimit Code = "bound.above_limit"
	HeadTaken  Code = "bound.head_taken"
)
