package kinds

import (
	"strings"
	"testing"
)

// A cause is found in the log of every kind, by its own line, before what follows from it,
// and with whom it is blamed on.
func TestCauses(t *testing.T) {
	const failed = "(EngineCore_DP0 pid=7) ERROR [core.py:900] EngineCore failed to start.\n"
	const after = "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n"
	tests := map[string]struct {
		log   string
		class Class
		blame Blame
		line  string
	}{
		"torch oom":         {failed + "torch.AcceleratorError: CUDA error: out of memory\n" + after, OutOfMemory, ByEngine, "CUDA error: out of memory"},
		"ggml oom":          {"ggml_cuda_error: CUDA error: out of memory\n  current device: 0, in function alloc at ggml-cuda.cu:518\n", OutOfMemory, ByEngine, "CUDA error: out of memory"},
		"vulkan oom":        {"vk::Device::allocateMemory: ErrorOutOfDeviceMemory\n", OutOfMemory, ByEngine, "ErrorOutOfDeviceMemory"},
		"device lost":       {"E ggml_vulkan: device lost on Vulkan0\nterminate called after throwing an instance of 'vk::DeviceLostError'\n  what():  vk::Queue::submit: ErrorDeviceLost\n", Crash, ByEngine, "device lost on Vulkan0"},
		"another CUDA call": {"CUDA error: an unknown one\n", Crash, ByEngine, "CUDA error: an unknown one"},
		"kernel too large":  {failed + "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 147456, Hardware limit: 101376.\n", Crash, ByEngine, "Required: 147456"},
		"no kernel image":   {"CUDA error: no kernel image is available for execution on the device\n", Architecture, ByMachine, "no kernel image"},
		"another device":    {failed + "NotImplementedError: kernel does not support current device cuda\n" + after, Architecture, ByMachine, "NotImplementedError"},
		"ptxas":             {failed + "triton.runtime.errors.PTXASError: PTXAS error: Internal Triton PTX codegen error\n`ptxas` stderr:\nptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'\n" + after, Architecture, ByMachine, "ptxas fatal"},
		"ptxas, scheduler":  {"Scheduler hit an exception: Traceback (most recent call last):\nptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'\nReceived sigquit from a child process.\n", Architecture, ByMachine, "ptxas fatal"},
		"nvcc":              {"nvcc fatal   : Unsupported gpu architecture 'compute_121a'\n", Architecture, ByMachine, "nvcc fatal"},
		"old driver":        {failed + "RuntimeError: The NVIDIA driver on your system is too old (found version 12080).\n" + after, Driver, ByMachine, "too old"},
		"old driver, ggml":  {"ggml_cuda_init: failed to initialize CUDA: CUDA driver version is insufficient for CUDA runtime version\n", Driver, ByMachine, "insufficient"},
		"new PTX":           {failed + "RuntimeError: CUDA error: the provided PTX was compiled with an unsupported toolchain.\n" + after, Driver, ByMachine, "unsupported toolchain"},
		"NCCL":              {"EngineCore encountered a fatal error.\ntorch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:3356, remote process exited or there was a network error\n", NCCL, ByMachine, "DistBackendError"},
		"a rank before it":  {"NCCL error in: ProcessGroupNCCL.cpp:3356, remote process exited\nCUDA error: an illegal memory access was encountered\n", Crash, ByEngine, "illegal memory access"},
		"shared memory":     {"RuntimeError: unable to write to file </torch_7_1>: No space left on device (28)\nNCCL WARN Error while creating shared memory segment /dev/shm/nccl-4Zgbzk (size 9637888)\n", SharedMemory, ByMachine, "</torch_7_1>"},
		"a bus error":       {"RuntimeError: DataLoader worker is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory.\n", SharedMemory, ByMachine, "Bus error"},
		"disk":              {"OSError: [Errno 28] No space left on device\n" + after, Disk, ByMachine, "Errno 28"},
		"gated":             {"OSError: You are trying to access a gated repo.\nMake sure to have access to it at https://huggingface.co/acme/m.\n401 Client Error. (Request ID: Root=1-0)\n", Model, ByMachine, "access a gated repo"},
		"rate limit":        {failed + "huggingface_hub.errors.HfHubHTTPError: 429 Client Error: Too Many Requests for url: https://huggingface.co/api/models/acme/m\n" + after, Model, ByMachine, "429 Client Error"},
		"no such model":     {"huggingface_hub.errors.RepositoryNotFoundError: 404 Client Error.\nRepository Not Found for url: https://huggingface.co/acme/m\n", Model, ByMachine, "Repository Not Found"},
		"too long":          {"  Value error, User-specified max_model_len (99999) is greater than the derived max_model_len (max_position_embeddings=2048).\n", Config, ByPlan, "User-specified max_model_len"},
		"too long, sglang":  {"ValueError: User-specified context_length (99999) is greater than the derived context_length (2048).\n", Config, ByPlan, "User-specified context_length"},
		"port":              {"OSError: [Errno 98] Address already in use\n", Port, ByMachine, "Errno 98"},
		"rendezvous":        {failed + "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: 56065, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use\n" + after, Port, ByMachine, "port: 56065"},
		"module":            {failed + "ModuleNotFoundError: No module named 'kernels.routing'\n" + after, Install, ByMachine, "kernels.routing"},
		"library":           {"ImportError: libcudart.so.13: cannot open shared object file: No such file or directory\n", Install, ByMachine, "libcudart.so.13"},
		"survived":          {"WARNING Failed to import kernels: ModuleNotFoundError: No module named 'x'\nlevel=WARN msg=\"429 Client Error\"\n[W1.000 socket.cpp:752] [c10d] The server socket has failed to bind to [::]:1 (address already in use).\n", "", ByEngine, ""},
	}
	for name, tc := range tests {
		path := writeLog(t, tc.log)
		for _, k := range All() {
			d, broke := k.Diagnose(path)
			if broke != (tc.class != "") || d.Class != tc.class || d.Class.Blame() != tc.blame || !strings.Contains(d.Line, tc.line) {
				t.Errorf("%s, %s: %v, blamed on %s; want %s, %s, a line with %q", name, k.Name, d, d.Class.Blame(), tc.class, tc.blame, tc.line)
			}
		}
	}
}
