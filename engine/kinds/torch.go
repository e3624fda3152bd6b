package kinds

import "slices"

// What any engine on PyTorch, CUDA and NCCL prints when it breaks. The texts are those of
// PyTorch 2.4 to 2.9 and NCCL 2.2x.

// gibToGB converts GiB, which most engines also label GB, to GB.
const gibToGB = 1.073741824

// torchCrashes are an engine's own root causes, then those of PyTorch, then what the
// engine prints as a consequence of any of them.
func torchCrashes(causes, consequences []Signature) []Signature {
	return slices.Concat(causes, []Signature{
		{"torch.OutOfMemoryError", "oom", "The GPU has too little memory: lower the share of memory or the length, or check for other processes on it."},
		{"CUDA out of memory", "oom", "The GPU has too little memory: lower the share of memory or the length, or check for other processes on it."},
		{"HIP out of memory", "oom", "The GPU has too little memory: lower the share of memory or the length, or check for other processes on it."},
		{"CUBLAS_STATUS_ALLOC_FAILED", "oom", "cuBLAS has no memory for its workspace: leave more GPU memory free."},
		{"an illegal memory access was encountered", "crash", "A kernel accessed memory outside its buffers; run again with CUDA_LAUNCH_BLOCKING=1 to see which."},
		{"an illegal instruction was encountered", "crash", "A kernel was built for another GPU architecture, or does not work on this one."},
		{"no kernel image is available for execution", "driver", "No kernels were built for this GPU's architecture: install or build the engine for it."},
		{"unspecified launch failure", "crash", "A kernel failed for an unknown reason; run again with CUDA_LAUNCH_BLOCKING=1 to see which."},
		{"device-side assert triggered", "crash", "An assertion in a kernel failed, often an index out of bounds; run again with CUDA_LAUNCH_BLOCKING=1."},
		{"uncorrectable ECC error encountered", "driver", "The GPU's memory is damaged: reset the GPU or take it out of service."},
		{"CUDA driver version is insufficient", "driver", "The driver is too old for the engine's CUDA: install a newer driver, or an older engine."},
		{"No CUDA GPUs are available", "driver", "The engine sees no GPU: check CUDA_VISIBLE_DEVICES, the container's gpus, and nvidia-smi."},
		{"Found no NVIDIA driver", "driver", "The engine sees no GPU driver: check the container's gpus, and nvidia-smi."},
		{"Watchdog caught collective operation timeout", "crash", "A collective operation timed out: one rank failed earlier, look further up."},
		{"unhandled system error (run with NCCL_DEBUG=INFO", "crash", "NCCL could not reach the other GPUs: check shared memory (ipc, shm_size) and the network; NCCL_DEBUG=INFO logs details."},
	}, consequences)
}

func torchHarmless(own ...string) []string {
	return append(own, "destroy_process_group() was not called", "leaked semaphore objects to clean up at shutdown", "leaked shared_memory objects to clean up at shutdown")
}
