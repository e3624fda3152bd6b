package kinds

import (
	"strings"
	"testing"
)

// A cause is found in the log of every kind, by its own line, before what follows from it,
// and with whom it is blamed on.
func TestCauses(t *testing.T) {
	const failed = "(EngineCore_DP0 pid=7) ERROR [core.py:900] EngineCore failed to start.\n"
	const after = "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed " +
		"core proc(s): {}\n"
	for name, tc := range map[string]struct {
		log   string
		class Class
		blame Blame
		line  string
	}{
		"torch oom": {
			failed + "torch.AcceleratorError: CUDA error: out of memory\n" + after, OutOfMemory,
			ByEngine, "CUDA error: out of memory",
		},
		"ggml oom": {"ggml_cuda_error: CUDA error: out of memory\n  current device: 0, in function alloc at " +
			"ggml-cuda.cu:518\n", OutOfMemory, ByEngine, "CUDA error: out of memory"},
		"vulkan oom": {
			"vk::Device::allocateMemory: ErrorOutOfDeviceMemory\n", OutOfMemory, ByEngine,
			"ErrorOutOfDeviceMemory",
		},
		"device lost": {
			"E ggml_vulkan: device lost on Vulkan0\nterminate called after throwing an instance of " +
				"'vk::DeviceLostError'\n  what():  vk::Queue::submit: ErrorDeviceLost\n", Crash, ByEngine,
			"device lost on Vulkan0",
		},
		"another CUDA call": {"CUDA error: an unknown one\n", Crash, ByEngine, "CUDA error: an unknown one"},
		"kernel too large": {failed + "triton.runtime.errors.OutOfResources: out of resource: shared memory, " +
			"Required: 147456, Hardware limit: 101376.\n", Crash, ByEngine, "Required: 147456"},
		"no kernel image": {
			"CUDA error: no kernel image is available for execution on the device\n", Architecture,
			ByMachine, "no kernel image",
		},
		"another device": {
			failed + "NotImplementedError: kernel does not support current device cuda\n" + after,
			Architecture, ByMachine, "NotImplementedError",
		},
		"ptxas": {
			failed +
				"triton.runtime.errors.PTXASError: PTXAS error: Internal Triton PTX codegen error\n`ptxas` " +
				"stderr:\nptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'\n" + after, Architecture,
			ByMachine, "ptxas fatal",
		},
		"ptxas, scheduler": {
			"Scheduler hit an exception: Traceback (most recent call last):\nptxas fatal   : Value 'sm_121a' is not " +
				"defined for option 'gpu-name'\nReceived sigquit from a child process.\n", Architecture,
			ByMachine, "ptxas fatal",
		},
		"nvcc": {
			"nvcc fatal   : Unsupported gpu architecture 'compute_121a'\n", Architecture,
			ByMachine, "nvcc fatal",
		},
		"old driver": {failed + "RuntimeError: The NVIDIA driver on your system is too old (found version " +
			"12080).\n" + after, Driver, ByMachine, "too old"},
		"old driver, ggml": {"ggml_cuda_init: failed to initialize CUDA: CUDA driver version is insufficient for " +
			"CUDA runtime version\n", Driver, ByMachine, "insufficient"},
		"new PTX": {failed + "RuntimeError: CUDA error: the provided PTX was compiled with an unsupported " +
			"toolchain.\n" + after, Driver, ByMachine, "unsupported toolchain"},
		"NCCL": {
			"EngineCore encountered a fatal error.\ntorch.distributed.DistBackendError: NCCL error in: " +
				"ProcessGroupNCCL.cpp:3356, remote process exited or there was a network error\n", NCCL, ByMachine,
			"DistBackendError",
		},
		"a rank before it": {"NCCL error in: ProcessGroupNCCL.cpp:3356, remote process exited\nCUDA error: an " +
			"illegal memory access was encountered\n", Crash, ByEngine, "illegal memory access"},
		"shared memory": {
			"RuntimeError: unable to write to file </torch_7_1>: No space left on device (28)\nNCCL WARN Error while " +
				"creating shared memory segment /dev/shm/nccl-4Zgbzk (size 9637888)\n", SharedMemory, ByMachine,
			"</torch_7_1>",
		},
		"a bus error": {"RuntimeError: DataLoader worker is killed by signal: Bus error. It is possible that " +
			"dataloader's workers are out of shared memory.\n", SharedMemory, ByMachine, "Bus error"},
		"disk": {"OSError: [Errno 28] No space left on device\n" + after, Disk, ByMachine, "Errno 28"},
		"gated": {
			"OSError: You are trying to access a gated repo.\nMake sure to have access to it at " +
				"https://huggingface.co/acme/m.\n401 Client Error. (Request ID: Root=1-0)\n", Model, ByMachine,
			"access a gated repo",
		},
		"rate limit": {failed + "huggingface_hub.errors.HfHubHTTPError: 429 Client Error: Too Many Requests " +
			"for url: https://huggingface.co/api/models/acme/m\n" + after, Model, ByMachine, "429 Client Error"},
		"no such model": {"huggingface_hub.errors.RepositoryNotFoundError: 404 Client Error.\nRepository Not " +
			"Found for url: https://huggingface.co/acme/m\n", Model, ByMachine, "Repository Not Found"},
		"too long": {"  Value error, User-specified max_model_len (99999) is greater than the derived " +
			"max_model_len (max_position_embeddings=2048).\n", Config, ByPlan, "User-specified max_model_len"},
		"too long, sglang": {"ValueError: User-specified context_length (99999) is greater than the derived " +
			"context_length (2048).\n", Config, ByPlan, "User-specified context_length"},
		"port": {"OSError: [Errno 98] Address already in use\n", Port, ByMachine, "Errno 98"},
		"rendezvous": {
			failed +
				"torch.distributed.DistNetworkError: The server socket has failed to listen on any local network " +
				"address. port: 56065, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use\n" +
				after, Port, ByMachine, "port: 56065",
		},
		"module": {
			failed + "ModuleNotFoundError: No module named 'kernels.routing'\n" + after, Install,
			ByMachine, "kernels.routing",
		},
		"library": {"ImportError: libcudart.so.13: cannot open shared object file: No such file or " +
			"directory\n", Install, ByMachine, "libcudart.so.13"},
		// After public reports, in words of our own.
		"no nvcc": {failed + "RuntimeError: Could not find nvcc and default cuda_home='/opt/cuda' doesn't " +
			"exist\n" + after, Install, ByMachine, "Could not find nvcc"},
		"no nvcc, torch": {failed + "FileNotFoundError: [Errno 2] No such file or directory: " +
			"'/opt/cuda/bin/nvcc'\n" + after, Install, ByMachine, "bin/nvcc"},
		"no ninja": {
			"RuntimeError: Ninja is required to load C++ extensions (pip install ninja to get it)\n",
			Install, ByMachine, "Ninja is required",
		},
		"no ninja, path": {
			failed + "FileNotFoundError: [Errno 2] No such file or directory: 'ninja'\n" + after,
			Install, ByMachine, "'ninja'",
		},
		"no gcc": {failed + "RuntimeError: Failed to find C compiler. Please specify via CC environment " +
			"variable.\n" + after, Install, ByMachine, "C compiler"},
		"no hipcc": {
			"/bin/sh: 1: hipcc: not found\nninja: build stopped: subcommand failed.\n", Install,
			ByMachine, "hipcc",
		},
		"Python.h": {
			failed +
				"/tmp/launcher.c:7:10: fatal error: Python.h: No such file or directory\ncompilation " +
				"terminated.\nsubprocess.CalledProcessError: Command '['/usr/bin/gcc', '/tmp/launcher.c']' returned " +
				"non-zero exit status 1.\n" + after, Install, ByMachine, "Python.h",
		},
		"Python.h, clang": {
			"launcher.c:7:10: fatal error: 'Python.h' file not found\n", Install,
			ByMachine, "Python.h",
		},
		"a header of HIP": {"port.hip:1:10: fatal error: 'hip/hip_fp8.h' file not found\nninja: build stopped: " +
			"subcommand failed.\n", Install, ByMachine, "hip_fp8.h"},
		"libcuda": {"/usr/bin/ld: cannot find -lcuda: No such file or directory\nRuntimeError: Error " +
			"building extension 'port'\n", Install, ByMachine, "-lcuda"},
		"its own header": {"FAILED: [code=1] port.cuda.o\ncsrc/port.cu:3:10: fatal error: port/cuda_tiles.cuh: " +
			"No such file or directory\nninja: build stopped: subcommand failed.\n", Crash, ByEngine, "cuda_tiles.cuh"},
		"ninja": {
			failed +
				"FAILED: [code=1] port/sample.cuda.o\nnvcc fatal   : Unknown option '-port-option'\nninja: build " +
				"stopped: subcommand failed.\nRuntimeError: Ninja build failed. Ninja output:\n" + after, Crash,
			ByEngine, "nvcc fatal",
		},
		"nvcc, a line": {
			"FAILED: [code=2] port.cuda.o\ncsrc/port.cu(12): error: identifier \"tiles\" is undefined\n1 error " +
				"detected in the compilation of \"csrc/port.cu\".\nRuntimeError: Error building extension 'port': " +
				"[1/2] nvcc port.cu\n", Crash, ByEngine, "port.cu(12)",
		},
		"clang, a line": {"FAILED: [code=1] port.o\ncsrc/port.hip:12:5: error: use of undeclared identifier " +
			"'tiles'\nninja: build stopped: subcommand failed.\n", Crash, ByEngine, "port.hip:12:5"},
		"Triton, a line": {
			"Scheduler hit an exception: Traceback (most recent call " +
				"last):\ntriton.compiler.errors.CompilationError: at 12:8:\n", Crash, ByEngine, "at 12:8",
		},
		"no compiler's line": {
			"Exception: Capture cuda graph failed: ninja exited with status 1\n", Crash, ByEngine,
			"ninja exited",
		},
		"an old ptxas": {"ptxas port.ptx, line 5; fatal   : Unsupported .version 9.0; current version is " +
			"'8.4'\nptxas fatal   : Ptx assembly aborted due to errors\n", Install, ByMachine, ".version 9.0"},
		"glibc": {"llama-server: /usr/lib/libstdc++.so.6: version `GLIBCXX_3.4.33' not found (required " +
			"by llama-server)\n", Install, ByMachine, "GLIBCXX_3.4.33"},
		"glibc, Python": {"ImportError: /usr/lib/libm.so.6: version `GLIBC_2.38' not found (required by " +
			"/opt/site/port.so)\n", Install, ByMachine, "GLIBC_2.38"},
		"802": {failed + "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system " +
			"not yet initialized\n" + after, Driver, ByMachine, "Error 802"},
		"803": {"RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 803: system has " +
			"unsupported display driver / cuda driver combination\n", Driver, ByMachine, "Error 803"},
		"804": {"RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 804: forward " +
			"compatibility was attempted on non supported HW\n" + after, Driver, ByMachine, "Error 804"},
		"no HIP GPU": {
			"(EngineCore pid=7) RuntimeError: No HIP GPUs are available\n", Driver,
			ByMachine, "No HIP GPUs",
		},
		"no ROCm device": {
			"ggml_cuda_init: failed to initialize ROCm: no ROCm-capable device is detected\n",
			Driver, ByMachine, "ROCm-capable",
		},
		"a busy GPU": {"torch.AcceleratorError: CUDA error: CUDA-capable device(s) is/are busy or " +
			"unavailable\n", GPUBusy, ByMachine, "busy or unavailable"},
		"HIP kernels": {"rocBLAS error: Cannot read /opt/rocm/lib/rocblas/library/TensileLibrary.dat: Illegal " +
			"seek for GPU arch : gfx1036\n", Architecture, ByMachine, "gfx1036"},
		"HIP memory": {failed + "Memory access fault by GPU node-2 (Agent handle: 0x55d0) on address 0x7f00. " +
			"Reason: Unknown.\n" + after, Crash, ByEngine, "Memory access fault"},
		"HIP trap": {
			":0:rocdevice.cpp:2993: Callback: Queue 0x7f aborting with error : HSA_STATUS_ERROR_EXCEPTION: An HSAIL " +
				"operation resulted in a hardware exception. code: 0x1016\n", Crash, ByEngine, "0x1016",
		},
		"a type of Triton": {"ValueError: type fp8e4nv not supported in this architecture. The supported fp8 " +
			"dtypes are ('fp8e5',)\n", Architecture, ByMachine, "fp8e4nv"},
		"bfloat16": {"ValueError: Bfloat16 is only supported on GPUs with compute capability of at least " +
			"8.0. Your GPU has compute capability 7.5.\n", Config, ByPlan, "Bfloat16"},
		"a quantization": {
			"  Value error, The quantization method fp8 is not supported for the current GPU. Minimum capability: " +
				"89. [type=value_error, input_value=ArgsKwargs((), {}), input_type=ArgsKwargs]\n", Config, ByPlan,
			"Minimum capability",
		},
		"its dtype": {"ValueError: torch.float16 is not supported for quantization method mxfp4. Supported " +
			"dtypes: [torch.bfloat16]\n", Config, ByPlan, "torch.float16"},
		"pydantic": {
			"pydantic_core._pydantic_core.ValidationError: 1 validation error for VllmConfig\n  Value error, a " +
				"port's flag needs another [type=value_error, input_value=ArgsKwargs((), {}), input_type=ArgsKwargs]\n",
			Config, ByPlan, "needs another",
		},
		"pydantic, a field": {
			"pydantic_core._pydantic_core.ValidationError: 1 validation error for CacheConfig\ncache_dtype\n  Input " +
				"should be 'auto' or 'fp8' [type=literal_error, input_value='mxfp8', input_type=str]\n", Config, ByPlan,
			"Input should be",
		},
		"batched tokens": {"  Value error, max_num_batched_tokens (512) is smaller than max_model_len (4096). " +
			"[type=value_error, input_value=ArgsKwargs((), {}), input_type=ArgsKwargs]\n", Config, ByPlan, "(512)"},
		"one picture": {
			"    raise ValueError(\nValueError: Chunked MM input disabled but max_tokens_per_mm_item (2000) is " +
				"larger than max_num_batched_tokens (1024).\n", Config, ByPlan, "Chunked MM",
		},
		"world size": {"ValueError: World size (4) is larger than the number of available GPUs (2) in this " +
			"node.\n", Config, ByPlan, "World size (4)"},
		"an ordinal": {
			"torch.AcceleratorError: CUDA error: invalid device ordinal\n", Config,
			ByPlan, "ordinal",
		},
		"heads": {"ValueError: Total number of attention heads (14) must be divisible by tensor " +
			"parallel size (4).\n", Config, ByPlan, "(14)"},
		"argparse": {"usage: launch_server.py [-h]\nlaunch_server.py: error: argument --kv-cache-dtype: " +
			"invalid choice: 'x'\n", Config, ByPlan, "invalid choice"},
		"argparse, unknown": {
			"sglang serve: error: unrecognized arguments: --port-flag\n", Config,
			ByPlan, "--port-flag",
		},
		"click": {"Error: No such option: --port-flag\n", Config, ByPlan, "--port-flag"},
		"no file": {
			"gguf_init_from_file_impl: failed to open GGUF file 'x.gguf' (No such file or " +
				"directory)\nllama_model_load: error loading model: llama_model_loader: failed to load model from " +
				"x.gguf\n", Model, ByMachine, "failed to open",
		},
		"magic": {
			"gguf_init_from_file_impl: invalid magic characters: '<!do', expected 'GGUF'\nllama_model_load: error " +
				"loading model: llama_model_loader: failed to load model from x.gguf\n", Model, ByMachine,
			"invalid magic",
		},
		"half a file": {
			"llama_model_load: error loading model: tensor 'output.weight' data is not within the file bounds, model " +
				"is corrupted or incomplete\nsrv load_model: failed to load model, 'x.gguf'\n", Model,
			ByMachine, "file bounds",
		},
		"half a file, torch": {failed + "safetensors_rust.SafetensorError: Error while deserializing header: " +
			"incomplete metadata, file not fully covered\n" + after, Model, ByMachine, "not fully covered"},
		"open files": {"OSError: [Errno 24] Too many open files\n", Host, ByMachine, "Errno 24"},
		"threads": {
			failed + "RuntimeError: can't start new thread\n" + after, Host,
			ByMachine, "new thread",
		},
		"a killed rank": {"[2026-11-01 10:00:00] Rank 1 scheduler is dead. Please check if there are relevant " +
			"logs.\n[2026-11-01 10:00:00] Exit code: -9\n", Host, ByMachine, "Exit code: -9"},
		"a dead rank": {"[2026-11-01 10:00:00] Rank 1 scheduler is dead. Please check if there are relevant " +
			"logs.\n[2026-11-01 10:00:00] Exit code: 1\n", Crash, ByEngine, "scheduler is dead"},
		"a killed process": {
			"mpirun noticed that process rank 1 with PID 7 on node a exited on signal 9 (Killed).\n",
			Host, ByMachine, "signal 9",
		},
		"a hang": {"INFO [shm_broadcast.py:501] No available shared memory broadcast block found in 60 " +
			"seconds.\n", Hang, "", "60 seconds"},
		"its own symbol": {"(EngineCore pid=7) ImportError: /src/vllm/vllm/_port_C.abi3.so: undefined symbol: " +
			"_Z9port_gemmRN2at6TensorE\n" + after, Code, ByEngine, "_port_C"},
		"its own library": {"(EngineCore pid=7) OSError: /src/vllm/vllm/_port_C.abi3.so: cannot open shared " +
			"object file: No such file or directory\n" + after, Code, ByEngine, "_port_C"},
		"its repository's": {"ImportError: /src/port/python/sgl_kernel/common_ops.abi3.so: undefined symbol: " +
			"_Z9port_gemm\n", Code, ByEngine, "common_ops"},
		"installed": {
			failed + "ImportError: /opt/lib/python3.12/dist-packages/sgl_kernel/sm100/common_ops.abi3.so: undefined " +
				"symbol: _Z9port_gemm\n", Code, ByEngine, "common_ops",
		},
		"its own name": {
			failed + "ImportError: cannot import name 'port_op' from 'vllm.model_executor.layers.fused_moe' " +
				"(/src/vllm/vllm/model_executor/layers/fused_moe/__init__.py)\n" + after, Code, ByEngine, "port_op",
		},
		"its kernels' name": {
			"Scheduler hit an exception: Traceback (most recent call last):\nImportError: cannot import name " +
				"'port_quant' from 'sgl_kernel' (/opt/site/sgl_kernel/__init__.py)\n", Code, ByEngine, "port_quant",
		},
		"its own circle": {"ImportError: cannot import name 'Port' from partially initialized module " +
			"'sglang.srt.port' (most likely due to a circular import)\n", Code, ByEngine, "circular"},
		"its own module": {
			failed + "ModuleNotFoundError: No module named 'vllm.port_ops'\n" + after, Code,
			ByEngine, "vllm.port_ops",
		},
		"its own operator": {failed + "AttributeError: '_OpNamespace' '_C' object has no attribute 'port_gemm'\n" +
			after, Code, ByEngine, "port_gemm"},
		"its own attribute": {failed + "AttributeError: module 'vllm._custom_ops' has no attribute 'port_gemm'\n" +
			after, Code, ByEngine, "port_gemm"},
		"no engine": {"ModuleNotFoundError: No module named 'vllm'\n", Install, ByMachine, "'vllm'"},
		"another's module": {failed + "  File \"/src/vllm/vllm/port.py\", line 3, in <module>\n    import " +
			"deep_port\nModuleNotFoundError: No module named 'deep_port'\n" + after, Install, ByMachine, "'deep_port'"},
		"another's name": {failed + "ImportError: cannot import name 'PortConfig' from 'flash_attn.port' " +
			"(/opt/site/flash_attn/port.py)\n" + after, Install, ByMachine, "PortConfig"},
		"another's symbol": {
			failed + "ImportError: /src/vllm/.venv/lib/python3.12/site-packages/flash_attn_3/_C.abi3.so: undefined " +
				"symbol: _ZN3c104cuda\n" + after, Install, ByMachine, "flash_attn_3",
		},
		"ggml's symbol": {
			"llama-server: symbol lookup error: llama-server: undefined symbol: ggml_port_op\n",
			Code, ByEngine, "ggml_port_op",
		},
		"CUDA's symbol": {"llama-server: symbol lookup error: /opt/llama/libggml-cuda.so: undefined symbol: " +
			"cublasLtPort\n", Install, ByMachine, "cublasLtPort"},
		"architecture": {
			"llama_model_load: error loading model: error loading model architecture: unknown model architecture: " +
				"'port'\nllama_model_load_from_file_impl: failed to load model\n", Code, ByEngine, "'port'",
		},
		"architecture, vLLM": {
			"  Value error, Model architectures ['PortForCausalLM'] are not supported for now. [type=value_error, " +
				"input_value=ArgsKwargs((), {}), input_type=ArgsKwargs]\n", Code, ByEngine, "PortForCausalLM",
		},
		"architecture, HF": {"ValueError: The checkpoint you are trying to load has model type `port` but " +
			"Transformers does not recognize this architecture.\n", Code, ByEngine, "`port`"},
		"a missing tensor": {"llama_model_load: error loading model: missing tensor 'blk.3.port.weight'\nsrv " +
			"   load_model: failed to load model, 'x.gguf'\n", Code, ByEngine, "blk.3.port"},
		"unread weights": {failed + "ValueError: Following weights were not initialized from checkpoint: " +
			"{'model.layers.0.port'}\n" + after, Code, ByEngine, "layers.0.port"},
		"alignment": {
			failed + "torch.AcceleratorError: CUDA error: misaligned address\n" + after, Crash,
			ByEngine, "misaligned",
		},
		"fork": {failed + "RuntimeError: Cannot re-initialize CUDA in forked subprocess. Use the spawn " +
			"method.\n" + after, Crash, ByEngine, "forked"},
		"HIP hang": {
			"HW Exception by GPU node-3 (Agent handle: 0x55) reason :GPU Hang\n", Crash,
			ByEngine, "GPU Hang",
		},
		"old HIP driver": {"ggml_cuda_init: failed to initialize ROCm: HIP driver version is insufficient for " +
			"HIP runtime version\n", Driver, ByMachine, "HIP driver"},
		"PTX by its name": {
			"cutlass: CUDA_ERROR_UNSUPPORTED_PTX_VERSION at cuModuleLoadData\n", Driver,
			ByMachine, "PTX_VERSION",
		},
		"802 by its name": {"cuInit: CUDA_ERROR_SYSTEM_NOT_READY\n", Driver, ByMachine, "NOT_READY"},
		"multicast": {
			"node-a:7:9 [0] transport/nvls.cc:150 NCCL WARN Cuda failure 401 'not possible in this " +
				"state'\ntorch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:77\n", Driver,
			ByMachine, "nvls.cc",
		},
		"a link": {
			"RuntimeError: CUDA error: uncorrectable NVLink error detected during the execution\n",
			Driver, ByMachine, "NVLink",
		},
		"a stub": {"RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 34: CUDA driver is a " +
			"stub library\n", Driver, ByMachine, "stub"},
		"no driver library": {failed + "ImportError: libcuda.so.1: cannot open shared object file: No such file or " +
			"directory\n" + after, Driver, ByMachine, "libcuda"},
		"Triton's driver": {
			failed + "AssertionError: libcuda.so cannot found!\n" + after, Driver, ByMachine,
			"cannot found",
		},
		"NVML": {"RuntimeError: Failed to initialize NVML: Unknown Error\n", Driver, ByMachine, "NVML"},
		"host memory": {
			failed + "OSError: [Errno 12] Cannot allocate memory\n" + after, OutOfMemory,
			ByEngine, "Errno 12",
		},
		"Go's threads": {
			"runtime: failed to create new OS thread (have 9 already; errno=11)\n", Host,
			ByMachine, "OS thread",
		},
		"OpenMP's threads": {
			"libgomp: Thread creation failed: Resource temporarily unavailable\n", Host,
			ByMachine, "libgomp",
		},
		"C++'s threads": {"terminate called after throwing an instance of 'std::system_error'\n  what(): " +
			" Resource temporarily unavailable\n", Host, ByMachine, "what()"},
		"locked memory": {"NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory\nNCCL error " +
			"in: ProcessGroupNCCL.cpp:77\n", Host, ByMachine, "ibv_reg_mr"},
		"HSA resources": {":0:rocdevice.cpp:1: aborting with error : HSA_STATUS_ERROR_OUT_OF_RESOURCES: no " +
			"threads. code: 0x1008\n", Host, ByMachine, "0x1008"},
		"a shard": {
			failed + "FileNotFoundError: No such file or directory: \"/m/model-00002-of-00003.safetensors\"\n" + after,
			Model, ByMachine, "00002-of",
		},
		"a pointer": {
			failed + "_pickle.UnpicklingError: invalid load key, 'v'.\n" + after, Model,
			ByMachine, "load key",
		},
		"no tokenizer": {"OSError: Can't load tokenizer for 'acme/m'.\n", Model, ByMachine, "tokenizer"},
		"architecture, TRT": {
			"ValueError: Unknown architecture for AutoModelForCausalLM: PortForCausalLM\n", Code,
			ByEngine, "PortForCausalLM",
		},
		"architecture, EXL": {
			"ValueError: Unknown architecture PortForCausalLM in /m/config.json\n", Code, ByEngine,
			"PortForCausalLM",
		},
		"architecture, SGL": {"ValueError: PortForCausalLM has no SGlang implementation and the Transformers " +
			"implementation is not compatible with SGLang.\n", Code, ByEngine, "PortForCausalLM"},
		"a configuration": {"ValueError: Unrecognized configuration class <class 'port.PortConfig'> for this kind " +
			"of AutoModel.\n", Code, ByEngine, "PortConfig"},
		"a newer GGUF": {
			"gguf_init_from_file_impl: this GGUF file is version 9 but this build reads up to 3\nllama_model_load: " +
				"error loading model: llama_model_loader: failed to load model from x.gguf\n", Code,
			ByEngine, "version 9",
		},
		"a missing key": {"llama_model_load: error loading model: error loading model hyperparameters: key not " +
			"found in model: port.block_count\n", Code, ByEngine, "port.block_count"},
		"a state": {
			failed + "RuntimeError: Error(s) in loading state_dict for PortForCausalLM:\n" + after,
			Code, ByEngine, "state_dict",
		},
		"Ampere": {
			failed + "RuntimeError: FlashAttention only supports Ampere GPUs or newer.\n" + after,
			Config, ByPlan, "Ampere",
		},
		"SM": {
			"AssertionError: FlashAttention v3 Backend requires SM>=80 and SM<=90.\n", Config,
			ByPlan, "SM>=80",
		},
		"Blackwell": {
			"ValueError: the port's attention is only supported on SM100 GPUs.\n", Config,
			ByPlan, "SM100",
		},
		"a back end": {failed + "ValueError: Selected backend AttentionBackendEnum.PORT is not valid for " +
			"this configuration. Reason: ['kv_cache_dtype not supported']\n" + after, Config, ByPlan, "kv_cache_dtype"},
		"click, a value": {"Usage: trtllm-serve [OPTIONS] MODEL\nError: Invalid value for '--backend': 'port' is " +
			"not one of 'pytorch'.\n", Config, ByPlan, "--backend"},
		"cobra": {"Error: unknown flag: --port-flag\n", Config, ByPlan, "--port-flag"},
		"heartbeat": {"[rank1]:[F1101 10:00:00 ProcessGroupNCCL.cpp:1557] [PG ID 0 Rank 1] " +
			"ProcessGroupNCCL's watchdog got stuck for 480 seconds without progress\n", Crash, ByEngine, "480 seconds"},
		"a missing rank": {failed + "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for " +
			"clients. 1/2 clients joined.\n" + after, Crash, ByEngine, "1/2"},
		"Gloo": {"RuntimeError: [../gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting " +
			"1800000ms for recv operation to complete\n", Crash, ByEngine, "1800000ms"},
		"bash's nvcc": {
			"/bin/sh: line 1: nvcc: command not found\nninja: build stopped: subcommand failed.\n",
			Install, ByMachine, "nvcc",
		},
		"no g++": {
			"FileNotFoundError: [Errno 2] No such file or directory: 'g++'\n", Install,
			ByMachine, "g++",
		},
		"half a gcc": {
			"gcc: fatal error: cannot execute 'cc1plus': execvp: No such file or directory\n",
			Install, ByMachine, "cc1plus",
		},
		"no ROCm": {
			"clang++: error: cannot find ROCm installation; provide its path via '--rocm-path'\n",
			Install, ByMachine, "ROCm",
		},
		"a newer gcc": {
			"/opt/cuda/include/crt/host_config.h:132:2: error: #error -- unsupported GNU version! gcc versions later " +
				"than 14 are not supported!\nninja: build stopped: subcommand failed.\n", Install,
			ByMachine, "GNU version",
		},
		"CUB": {"FAILED: [code=1] port.cuda.o\ncsrc/port.cu:3:10: fatal error: cub/cub.cuh: No such " +
			"file or directory\n", Install, ByMachine, "cub.cuh"},
		"a bus error of one": {"[2026-11-01 10:00:00] Rank 1 scheduler is dead. Please check if there are relevant " +
			"logs.\n[2026-11-01 10:00:00] Exit code: -7\n", SharedMemory, ByMachine, "-7"},
		"a segfault of one": {"[2026-11-01 10:00:00] Rank 1 scheduler is dead. Please check if there are relevant " +
			"logs.\n[2026-11-01 10:00:00] Exit code: -11\n", Crash, ByEngine, "-11"},
		"Python's segfault": {"Fatal Python error: Segmentation fault\n\nCurrent thread 0x7f (most recent call " +
			"first):\n", Crash, ByEngine, "Segmentation"},
		"torchrun": {"Root Cause (first observed failure):\n  rank      : 1 (local_rank: 1)\n  exitcode  : " +
			"-11 (pid: 7)\n", Crash, ByEngine, "exitcode"},
		"another CPU": {"mpirun noticed that process rank 1 with PID 7 on node a exited on signal 4 (Illegal " +
			"instruction).\n", Crash, ByEngine, "signal 4"},
		"a lock": {
			"Still waiting to acquire lock on /root/.cache/huggingface/hub/.locks/models--acme--m/0a.lock (elapsed: " +
				"60.1 seconds)\n", Hang, "", "0a.lock",
		},
		"a fallback": {
			"WARNING [utils.py:120] PortForCausalLM has no vLLM implementation, falling back to Transformers " +
				"implementation.\nINFO PortForCausalLM has no vLLM implementation, falling back\n", "", ByEngine, "",
		},
		"survived": {
			"WARNING Failed to import kernels: ModuleNotFoundError: No module named 'x'\nlevel=WARN msg=\"429 Client " +
				"Error\"\n[W1.000 socket.cpp:752] [c10d] The server socket has failed to bind to [::]:1 (address " +
				"already in use).\n", "", ByEngine, "",
		},
	} {
		path := writeLog(t, tc.log)
		for _, k := range All() {
			d, broke := k.Diagnose(path)
			if broke != (tc.class != "") || d.Class != tc.class || d.Class.Blame() != tc.blame ||
				!strings.Contains(d.Line, tc.line) {
				t.Errorf("%s, %s: %v, blamed on %s; want %s, %s, a line with %q", name, k.Name, d, d.Class.Blame(),
					tc.class, tc.blame, tc.line)
			}
		}
	}
}

// A line that only one kind prints is the cause when nothing before it says more.
func TestCausesOfAKind(t *testing.T) {
	for name, tc := range map[string]struct {
		kind, log string
		class     Class
		line      string
	}{
		"a killed core": {
			"vllm",
			"RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): " +
				"{'EngineCore_DP0': -9}\n", Host, "-9",
		},
		"a core that exits": {
			"vllm",
			"RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): " +
				"{'EngineCore_DP0': 1}\n", Crash, ": 1}",
		},
		"a killed scheduler": {
			"sglang",
			"Subprocess scheduler_0 (pid=7) crashed with exit code -9. Triggering SIGQUIT for cleanup...\n", Host,
			"exit code -9",
		},
		"a scheduler's own end": {
			"sglang",
			"Subprocess scheduler_0 (pid=7) crashed with exit code 1. Triggering SIGQUIT for cleanup...\n",
			Crash, "exit code 1",
		},
		"a core's bus error": {
			"vllm",
			"RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): " +
				"{'EngineCore_DP0': -7}\n", SharedMemory, "-7",
		},
		"a core that is slow": {
			"vllm",
			"TimeoutError: Timed out waiting for engine core processes to start. Waited 600 s.\n", Hang, "600 s",
		},
		"no platform": {
			"vllm", "RuntimeError: Failed to infer device type, see VLLM_LOGGING_LEVEL\n",
			Driver, "device type",
		},
		"no accelerator": {
			"sglang",
			"RuntimeError: No accelerator (CUDA, XPU, HPU) or platform plugin is available.\n", Driver,
			"No accelerator",
		},
		"a scheduler's segfault": {
			"sglang",
			"Subprocess scheduler_0 (pid=7) crashed with exit code -11. Triggering SIGQUIT for cleanup...\n", Crash,
			"-11",
		},
		"an exception before it": {
			"sglang",
			"Scheduler hit an exception: a port's\nSubprocess scheduler_1 (pid=8) crashed with exit code -9. " +
				"Triggering SIGQUIT for cleanup...\n", Crash, "hit an exception",
		},
		"a hang of a rank": {
			"trtllm",
			"[TRT-LLM] [E] Hang detected on rank 1 in PyExecutor.\nExecutor worker returned error\n", Crash, "rank 1",
		},
		"a slow load": {
			"ollama",
			"level=ERROR msg=\"error loading llama server\" error=\"timed out waiting for llama-server to start\"\n",
			Hang, "timed out",
		},
		"a crashed llama-server": {
			"ollama",
			"level=ERROR msg=\"llama-server process has terminated: signal: segmentation fault\"\n", Crash,
			"segmentation",
		},
		"a worker's time": {
			"vllm",
			"TimeoutError: RPC call to execute_model timed out.\nEngineCore encountered a fatal error.\n",
			Crash, "RPC call",
		},
		"a watchdog": {
			"sglang",
			"Scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=False)\nReceived sigquit from a child " +
				"process.\n", Crash, "self.soft=False",
		},
		"one that only warns": {
			"sglang",
			"Scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=True)\nReceived sigquit from a child " +
				"process.\n", Crash, "sigquit",
		},
		"a reason in its words": {
			"llamacpp",
			"llama_model_load: error loading model: a reason of a port\nsrv load_model: failed to load model, " +
				"'x.gguf'\n", Config, "a reason of a port",
		},
		"a name of its own": {
			"transformers",
			"ImportError: cannot import name 'PortConfig' from 'transformers.port' (/opt/site/transformers/port.py)\n",
			Code, "PortConfig",
		},
		"a name of another": {
			"vllm",
			"ImportError: cannot import name 'PortConfig' from 'transformers.port' (/opt/site/transformers/port.py)\n",
			Install, "PortConfig",
		},
		"no reason": {
			"llamacpp", "srv load_model: failed to load model, 'x.gguf'\n", Config,
			"failed to load model",
		},
		"a killed llama-server": {
			"ollama",
			"level=ERROR msg=\"llama-server process has terminated: signal: killed\"\n", Host, "signal: killed",
		},
		"an aborted llama-server": {
			"ollama",
			"level=ERROR msg=\"llama-server process has terminated: signal: aborted\"\n", Crash, "signal: aborted",
		},
	} {
		k, _ := Lookup(tc.kind)
		if d, _ := k.Diagnose(writeLog(t, tc.log)); d.Class != tc.class || !strings.Contains(d.Line, tc.line) {
			t.Errorf("%s: %v; want %s, a line with %q", name, d, tc.class, tc.line)
		}
	}
}
