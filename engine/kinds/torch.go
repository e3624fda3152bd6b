package kinds

// gibToGB converts GiB, which most engines also label GB, to GB.
const gibToGB = 1.073741824

// torchHarmless are lines that any engine on PyTorch prints when it ends, and an engine's
// own.
func torchHarmless(own ...string) []string {
	return append(own, "destroy_process_group() was not called", "leaked semaphore objects to clean up at shutdown", "leaked shared_memory objects to clean up at shutdown")
}
