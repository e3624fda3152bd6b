package code

// What a step of the phase Subject mostly waits for, by a profile.
const (
	// BoundHost: no GPU works. Args: share (of the step; a span if a profiler slowed it
	// down). BoundCommunication: GPUs wait for each other. Args: share.
	BoundHost          Code = "bound.host"
	BoundCommunication Code = "bound.communication"
	// BoundMemory, BoundCompute: kernels limited by memory bandwidth, or by the matrix
	// units. Args: share; of_limit (of the bandwidth, of the peak).
	BoundMemory  Code = "bound.memory"
	BoundCompute Code = "bound.compute"
	// BoundUnknown: the evidence does not suffice; the cause is one of the codes below.
	BoundUnknown Code = "bound.unknown"
	// NoLimit: the minimum time of the kernels is unknown. KernelsUnseen: the model has
	// kernels that the profile does not show. Args: categories. ProfilerSlowed: it
	// depends on how much the profiler slowed the step down. NothingMost: nothing takes
	// most of it. Args of both: idle, memory, compute, communication, rest (shares).
	// SumsOnly: the profile does not say how long a step takes.
	NoLimit        Code = "bound.no_limit"
	KernelsUnseen  Code = "bound.kernels_unseen"
	ProfilerSlowed Code = "bound.profiler_slowed"
	NothingMost    Code = "bound.nothing_most"
	SumsOnly       Code = "bound.sums_only"
	// AboveLimit: kernels of categories are faster than the limit. Args: categories.
	// HeadTaken: the kernel Subject is taken for the output projection.
	AboveLimit Code = "bound.above_limit"
	HeadTaken  Code = "bound.head_taken"
)
