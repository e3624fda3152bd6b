package tell

import "github.com/mxflow/mxflow/gates/verdict/code"

var boundPhrases = phrases{
	code.BoundHost:          "{subject} is bound by the host: no GPU works for {share:2} of a step",
	code.BoundCommunication: "{subject} is bound by communication: {share:2} of a step",
	code.BoundMemory:        "{subject} is bound by memory bandwidth: kernels that wait for it are {share:2} of a step, and reach {of_limit:2} of it",
	code.BoundCompute:       "{subject} is bound by compute: kernels that wait for it are {share:2} of a step, and reach {of_limit:2} of the peak",
	code.BoundUnknown:       "unknown what bounds {subject}: {causes}",
	code.NoLimit:            "nothing says how long its kernels take at least",
	code.KernelsUnseen:      "the profile does not show all kernels that the model needs ({categories})",
	code.ProfilerSlowed:     "it depends on how much the profiler slowed the step down: " + shares,
	code.NothingMost:        "nothing takes most of a step: " + shares,
	code.AboveLimit:         "{categories} is above its limit: it reads smaller formats than config.json names, or fewer experts than tokens that choose by themselves would use",
	code.HeadTaken:          "the output projection (lm_head) is taken to be {subject}, the only dense GEMM that runs once a step and takes as long as it must",
	code.SumsOnly:           "the profile has sums of kernels, not how long a step takes",
}

const shares = "no GPU works for {idle:2} of it, memory bandwidth takes {memory:2}, compute {compute:2}, communication {communication:2}, kernels without a limit {rest:2}"
