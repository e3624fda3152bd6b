package tell

import "github.com/mxflow/mxflow/gates/verdict/code"

var boundPhrases = phrases{
	code.BoundHost:          "{subject} is bound by the host: no GPU is busy for {share:2} of a step",
	code.BoundCommunication: "{subject} is bound by communication: {share:2} of a step",
	code.BoundMemory:        "{subject} is bound by memory bandwidth: kernels limited by it take {share:2} of a step and reach {of_limit:2} of it",
	code.BoundCompute:       "{subject} is bound by compute: kernels limited by it take {share:2} of a step and reach {of_limit:2} of the peak",
	code.BoundUnknown:       "cannot tell what bounds {subject}: {causes}",
	code.NoLimit:            "no lower limit is known for the time of its kernels",
	code.KernelsUnseen:      "the profile does not show all kernels that the model needs ({categories})",
	code.ProfilerSlowed:     "it depends on how much the profiler slowed the step down: " + shares,
	code.NothingMost:        "nothing takes most of a step: " + shares,
	code.AboveLimit:         "{categories} is above its limit: it reads smaller formats than config.json names, or fewer experts than independently routed tokens would use",
	code.HeadTaken:          "the output projection (lm_head) is taken to be {subject}, the only dense GEMM that runs once per step and takes long enough",
	code.SumsOnly:           "the profile has sums of kernels, not how long a step takes",
}

const shares = "no GPU is busy for {idle:2} of it, memory bandwidth takes {memory:2}, compute {compute:2}, communication {communication:2}, kernels without a limit {rest:2}"
