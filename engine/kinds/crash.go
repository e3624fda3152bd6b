package kinds

import (
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/logscan"
)

// Class is how an engine broke, as a word for reports.
type Class string

// The classes. What is not the engine's own fault is not held against a candidate.
const (
	OutOfMemory  Class = "oom"
	Crash        Class = "crash"
	Code         Class = "code"
	Config       Class = "config"
	Model        Class = "model"
	Port         Class = "port"
	Driver       Class = "driver"
	Architecture Class = "architecture"
	Install      Class = "install"
	GPUBusy      Class = "gpu_busy"
	NCCL         Class = "nccl"
	SharedMemory Class = "shared_memory"
	Disk         Class = "disk"
	Host         Class = "host"
	Hang         Class = "hang"
)

// Blame is whose fault a break is.
type Blame string

// Who may be to blame. ByEngine is the variant that was started.
const (
	ByEngine  Blame = "engine"
	ByPlan    Blame = "plan"
	ByMachine Blame = "machine"
)

// Blame is whose fault a break of the class is. What comes with the engine is the
// engine's: its parent, started in the same environment, shows whether it would have been
// there. What has to be on the machine for any engine is the machine's. A class that a
// plan made up is the engine's.
func (c Class) Blame() Blame {
	switch c {
	case Config:
		return ByPlan
	case Hang: // or slow: who is to blame shows when it ends
		return ""
	case Model, Port, Driver, Architecture, Install, GPUBusy, NCCL, SharedMemory, Disk, Host:
		return ByMachine
	}
	return ByEngine
}

// Signature is a log line that shows how an engine broke.
type Signature struct {
	// Glob is searched for in the line, see logscan.ParseGlob.
	Glob  string
	Class Class
	// Means is one sentence: what happened and what to do.
	Means string
}

// Diagnosis is how an engine broke, by its log.
type Diagnosis struct {
	Signature
	// Line is the first line that shows it, LineNo its number.
	Line   string
	LineNo int
}

// Signatures are all lines by which an engine of this kind shows that it broke, root
// causes before what follows from them: the kind's own, those of any engine, and those
// that only say that something broke.
func (k Kind) Signatures() (all []Signature) {
	for _, s := range slices.Concat(k.Crashes, anyCrash, k.Aftermath, anyAftermath) {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// Diagnose searches a log for the signatures by which engines of this kind show that they
// broke. The first in their order counts. Lines that only look like it (Harmless) are
// skipped. False if the log has none of them, or cannot be read.
func (k Kind) Diagnose(logPath string) (Diagnosis, bool) {
	for _, group := range []struct {
		signatures []Signature
		unless     []string
	}{{k.Crashes, nil}, {anyCrash, warnings}, {k.Aftermath, nil}, {anyAftermath, nil}} {
		var globs []string
		for _, s := range group.signatures {
			globs = append(globs, s.Glob)
		}
		scan, err := logscan.New(globs)
		if err != nil {
			return Diagnosis{}, false
		}
		scan.Unless(slices.Concat(k.Harmless, harmless, group.unless))
		if scan.File(logPath) != nil {
			return Diagnosis{}, false
		}
		seen := scan.Matches()
		for _, s := range group.signatures {
			if m, ok := seen[s.Glob]; ok {
				return Diagnosis{s, m.FirstLine, m.LineNo}, true
			}
		}
	}
	return Diagnosis{}, false
}

// harmless are lines that any engine on PyTorch prints when it ends.
var harmless = []string{
	"destroy_process_group() was not called", "leaked semaphore objects to clean up at shutdown",
	"leaked shared_memory objects to clean up at shutdown",
}

// warnings are lines of errors that an engine survives: it retries, or continues without
// a feature.
var warnings = []string{"warning", "level=warn", "[W*.cpp:"}

// either is a glob for lines that any of these match.
func either(globs ...string) string { return strings.Join(globs, "\n") }

// each is a glob for lines that match any of the forms with any of the words for its %.
func each(forms []string, words ...string) string {
	var globs []string
	for _, form := range forms {
		for _, word := range words {
			globs = append(globs, strings.ReplaceAll(form, "%", word))
		}
	}
	return either(globs...)
}

// ownPackages are what engines bring: Python packages that are built from their source.
var ownPackages = []string{"vllm", "sglang", "sgl_kernel", "tensorrt_llm"}

// notInOwn are Python's and the loader's words for a module, a name, an operator or a
// symbol that a package does not have, or its extension does not find. A package that is
// not there at all is missing from the environment.
var notInOwn = []string{
	"No module named '%.", "cannot import name '*' from '%",
	"cannot import name '*' from partially initialized module '%",
	"module '%.*' has no attribute", "'_OpNamespace' '%' object has no attribute",
	"-packages/%/*.so: ", "/python/%/*.so: ", "/%/%/*.so: ", "/%/_*.so: ",
}

const notInOwnMeans = "The engine's own code lacks a module, a name or a symbol that it uses: build its extensions " +
	"with this source, or correct the code that uses it."

// noHeader are GCC's, nvcc's and Clang's words for a header that they do not find.
var noHeader = []string{"fatal error: %", "fatal error: '%"}

// PortTaken is what the class Port means.
const PortTaken = "Another program listens on a port that it needs: stop that, or write {port} in the command, for a " +
	"free one."

// anyCrash lists messages of the causes that engines share: CUDA, PyTorch 2.4 to 2.9,
// Triton, NCCL 2.2x, Python, Hugging Face's hub and the system. Proof of a fault in the
// code comes before lines that an engine may also print as a warning and survive.
var anyCrash = []Signature{
	{
		"an illegal memory access was encountered", Crash,
		"A kernel accessed memory outside its buffers; run again with CUDA_LAUNCH_BLOCKING=1 to see which.",
	},
	{
		"an illegal instruction was encountered", Crash,
		"A kernel was built for another GPU architecture, or does not work on this one.",
	},
	{
		"misaligned address", Crash,
		"A kernel accessed memory at an address that does not fit its type; run again with CUDA_LAUNCH_BLOCKING=1 to " +
			"see which.",
	},
	{
		"device-side assert triggered", Crash,
		"An assertion in a kernel failed, often an index out of bounds; run again with CUDA_LAUNCH_BLOCKING=1.",
	},
	{
		"out of resource: shared memory", Crash,
		"A kernel needs more shared memory than a multiprocessor of this GPU has: choose another kernel, or smaller " +
			"tiles.",
	},
	{
		either("Memory access fault by GPU", "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION"), Crash,
		"A kernel accessed memory outside its buffers; run again with AMD_SERIALIZE_KERNEL=3 to see which.",
	},
	{
		"HSA_STATUS_ERROR_EXCEPTION", Crash,
		"A kernel trapped: an assertion in it failed, or it is built for another GPU; run again with " +
			"AMD_SERIALIZE_KERNEL=3 to see which.",
	},
	{
		either("device lost on", "ErrorDeviceLost", "HW Exception by GPU"), Crash,
		"The GPU hung or was reset during a step; dmesg may say why.",
	},

	{
		"Cannot re-initialize CUDA in forked subprocess", Crash,
		"A process used the GPU before it started others by fork: start them by spawn " +
			"(VLLM_WORKER_MULTIPROC_METHOD=spawn), or use it later.",
	},

	{
		either("NVIDIA driver on your system is too old", "driver version is insufficient for"), Driver,
		"The driver is too old for the engine's CUDA or ROCm: install a newer driver, or an older engine.",
	},
	{
		either("PTX was compiled with an unsupported toolchain", "ERROR_UNSUPPORTED_PTX_VERSION"), Driver,
		"The driver is older than the CUDA toolkit that compiled a kernel: install a newer driver, or build with an " +
			"older toolkit.",
	},
	{
		either("forward compatibility was attempted on non supported HW", "ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE"),
		Driver,
		"CUDA's compatibility libraries do not work with this GPU's driver: install the driver that this CUDA needs, " +
			"or take the folder compat out of LD_LIBRARY_PATH.",
	},
	{
		either("system not yet initialized", "ERROR_SYSTEM_NOT_READY", "nvls.cc:*Cuda failure"), Driver,
		"The links between the GPUs (NVSwitch) are not set up: start nvidia-fabricmanager in the version of the " +
			"driver; NCCL_NVLS_ENABLE=0 does without multicast.",
	},
	{
		"uncorrectable NVLink error", Driver,
		"A link between GPUs (NVLink) is broken: see dmesg and nvidia-smi nvlink, and reset the GPUs.",
	},
	{
		"driver is a stub library", Driver,
		"CUDA's stub of the driver is loaded in its place: take the toolkit's folder stubs out of LD_LIBRARY_PATH.",
	},
	{
		either("libcuda.so cannot found", "libcuda.so.1: cannot open", "libnvidia-ml.so.1: cannot open",
			"Failed to initialize NVML", "NVMLError_DriverNotLoaded", "NVMLError_LibraryNotFound"), Driver,
		"The driver's libraries are not there, or do not reach the GPU: check the container's gpus, nvidia-smi, and " +
			"ldconfig -p.",
	},
	{
		"unsupported display driver / cuda driver combination", Driver,
		"The driver's parts do not fit together: install one driver, and reboot.",
	},
	{"Driver/library version mismatch", Driver, "The driver was updated while its old module is loaded: reboot."},
	{
		either("No CUDA GPUs are available", "no CUDA-capable device is detected"), Driver,
		"The engine sees no GPU: check CUDA_VISIBLE_DEVICES, the container's gpus, and nvidia-smi.",
	},
	{
		either("No HIP GPUs are available", "no ROCm-capable device is detected", "Unable to open /dev/kfd"), Driver,
		"The engine sees no AMD GPU: check HIP_VISIBLE_DEVICES, access to /dev/kfd and /dev/dri (groups video, " +
			"render), and amd-smi.",
	},
	{
		"CUDA unknown error - this may be due to an incorrectly set up environment", Driver,
		"CUDA cannot be initialized: load nvidia_uvm, and compare nvidia-smi here and in the container.",
	},
	{"Found no NVIDIA driver", Driver, "The engine sees no GPU driver: check the container's gpus, and nvidia-smi."},
	{
		"uncorrectable ECC error encountered", Driver,
		"The GPU's memory is damaged: reset the GPU or take it out of service.",
	},
	{"fallen off the bus", Driver, "The GPU is gone: see dmesg, and reset the GPU or the machine."},

	{
		"no kernel image is available for execution", Architecture,
		"No kernels were built for this GPU's architecture: install or build the engine for it.",
	},
	{
		either("device kernel image is invalid", "invalid device function"), Architecture,
		"A kernel was built for another GPU architecture: install or build the engine for this one.",
	},
	{
		"is not defined for option 'gpu-name'", Architecture,
		"The compiler (ptxas) does not know this GPU: install a newer CUDA toolkit, and point TRITON_PTXAS_PATH at " +
			"its ptxas.",
	},
	{
		"Unsupported gpu architecture", Architecture,
		"The compiler (nvcc) does not know this GPU: install a newer CUDA toolkit, or name another architecture.",
	},
	{
		either("Cannot read *TensileLibrary", "hipErrorNoBinaryForGpu",
			"Unable to find code object for all current devices"), Architecture,
		"A ROCm library has no kernels for this GPU: install or build one that has; see HSA_OVERRIDE_GFX_VERSION for " +
			"a sibling.",
	},
	{
		"not supported in this architecture", Architecture,
		"A Triton kernel uses a type that this GPU does not have: choose another dtype or back end.",
	},
	{
		"kernel does not support current device", Architecture,
		"A kernel has no version for this GPU: install one that has, or choose another kernel.",
	},

	{
		"is/are busy or unavailable", GPUBusy,
		"Another process has the GPU for itself: wait for it to end, or see its compute mode in nvidia-smi.",
	},

	{
		either("torch.OutOfMemoryError", "CUDA out of memory", "HIP out of memory", "CUDA error: out of memory",
			"HIP error: out of memory", "CUDA_ERROR_OUT_OF_MEMORY", "cudaErrorMemoryAllocation"), OutOfMemory,
		"The GPU has too little memory: lower the share of memory or the length, or check for other processes on it.",
	},
	{
		either("cudaMalloc failed: out of memory", "ErrorOutOfDeviceMemory"), OutOfMemory,
		"The GPU has too little memory: lower the number of layers on it, the length or the number of sequences.",
	},
	{"CUBLAS_STATUS_ALLOC_FAILED", OutOfMemory, "cuBLAS has no memory for its workspace: leave more GPU memory free."},
	{
		either("std::bad_alloc", "[Errno 12] Cannot allocate memory", "DefaultCPUAllocator: can't allocate memory"),
		OutOfMemory,
		"The host has too little memory: lower the length or the number of sequences, or raise the process's limit.",
	},

	// /dev/shm is full before the disk is.
	{
		either("/dev/shm*No space left on device", "</torch_*No space left on device", "out of shared memory"),
		SharedMemory, "Shared memory (/dev/shm) is full: raise a container's shm_size, or set its ipc to \"host\".",
	},
	{
		either("creating shared memory segment", "failed to extend /dev/shm"), SharedMemory,
		"NCCL has no room in shared memory (/dev/shm): raise a container's shm_size, or set its ipc to \"host\".",
	},
	{
		"unable to open shared memory object", SharedMemory,
		"A shared memory object (/dev/shm) cannot be opened: raise the limit of open files, or remove leftovers of " +
			"an ended engine there.",
	},
	{
		either("Too many open files", "can't start new thread", "pthread_create failed",
			"failed to create new OS thread",
			"Thread creation failed", "[Errno 11] Resource temporarily unavailable",
			"fork: Resource temporarily unavailable", "what():  Resource temporarily unavailable"), Host,
		"A limit of open files or processes is reached: raise it (ulimit -n, -u), or a container's ulimits.",
	},
	{
		either("ibv_reg_mr*Cannot allocate memory", "HSA_STATUS_ERROR_OUT_OF_RESOURCES"), Host,
		"A limit of locked memory or of threads is reached: raise it (ulimit -l, -u), or a container's ulimits " +
			"(memlock) and shm_size.",
	},
	{
		either("No space left on device", "Disk quota exceeded"), Disk,
		"A disk or a quota is full: free some space and apply again.",
	},

	{"access*gated repo", Model, "The model is gated: request access, and set HF_TOKEN."},
	{"429 Client Error", Model, "The model's host limits requests: wait, set HF_TOKEN, or use a local copy."},
	{
		"401 Client Error", Model,
		"The model's host refuses the request: correct its name, or set HF_TOKEN if it is not public.",
	},
	{
		either("Repository Not Found for url", "is not a local folder and is not a valid model identifier"), Model,
		"There is no such model: correct its name, or set HF_TOKEN if it is not public.",
	},
	{
		"We couldn't connect to 'https://", Model,
		"The model's host cannot be reached, and there is no local copy: check the network, or fetch the model first.",
	},
	{
		"LocalEntryNotFoundError", Model,
		"The model is not in the local cache, and could not be fetched: check the network, or fetch the model first.",
	},

	{
		either("failed to open GGUF file", "does not appear to have a file named", "Cannot find any model weights with",
			"No such file or directory: *.safetensors", "No such file or directory: *.bin", "Can't load tokenizer for"),
		Model, "A file of the model is missing: correct its name, or fetch it.",
	},
	{
		either("invalid magic characters", "model is corrupted or incomplete", "unexpectedly reached end of file",
			"Error while deserializing header", "PytorchStreamReader failed", "invalid load key, '"), Model,
		"A file of the model is damaged or incomplete, or of another format: fetch it again.",
	},

	{
		either("unknown model architecture", "Error: Unknown architecture",
			"Transformers does not recognize this architecture", "Model architectures * are not supported",
			"has no * implementation and the Transformers", "Unrecognized configuration class",
			"Error: Unrecognized model in", "this GGUF file is version"), Code,
		"This build does not know the model's architecture: take a build or a version that does.",
	},
	{
		either("missing tensor '", "wrong number of tensors; expected", "has wrong shape; expected",
			"has invalid ggml type", "unknown pre-tokenizer type", "weights were not initialized from checkpoint",
			"key not found in model: ", "in loading state_dict for", "There is no module or parameter named"), Code,
		"This build expects other weights than the model's files have: take a build that knows this model, or " +
			"convert it for this build.",
	},

	{
		either("greater than the derived max_model_len", "greater than the derived context_length"), Config,
		"max_model_len is longer than the model allows: lower it.",
	},
	{
		either("is larger than the number of available GPUs", "cannot be larger than the number of available GPUs",
			"invalid device ordinal"), Config,
		"More GPUs are asked for than the engine sees: lower tensor_parallel_size or pipeline_parallel_size, or give " +
			"it more.",
	},
	{
		"must be divisible by tensor parallel size", Config,
		"The model cannot be split over that many GPUs: choose another tensor_parallel_size.",
	},
	{
		either("is larger than max_num_batched_tokens", "is smaller than max_model_len"), Config,
		"max_num_batched_tokens is too small for the model or for max_model_len: raise it.",
	},
	{
		either("is only supported on GPUs with compute capability", "FlashAttention only supports",
			"Error: *is only supported on", "Error: *are only supported on", "Error: *only supports SM",
			"Error: *requires SM", "is not supported for the current GPU",
			"quantization is currently not supported in"),
		Config, "This GPU does not have that dtype or quantization: choose another.",
	},
	{
		"is not supported for quantization method", Config,
		"The dtype does not go with the quantization: this line lists those that do.",
	},
	{
		either("No valid attention backend found", "is not valid for this configuration. Reason: "), Config,
		"No attention back end does all that is asked for; this line says what is lacking.",
	},
	{
		either("error: unrecognized arguments", "error: argument -", "error: ambiguous option",
			"error: the following arguments are required", ".py: error: ", "serve: error: ", "No such option: ",
			"Invalid value for '", "Error: Missing option", "Error: Missing argument", "Got unexpected extra argument",
			"Error: unknown flag: ", "Error: unknown command "), Config,
		"This version does not know a flag, or does not accept its value; see this line.",
	},
	{
		"[type=*, input_value=*, input_type=", Config,
		"This version does not accept a value of its configuration: this line says why, the one above of which field.",
	},

	{either("address already in use", "EADDRINUSE"), Port, PortTaken},

	{
		either("Watchdog caught collective operation timeout", "watchdog got stuck for", "Heartbeat monitor timed out",
			"DistStoreError", "waiting for clients. *clients joined", "ms for recv operation to complete"), Crash,
		"A collective operation timed out: one rank failed earlier, look further up.",
	},
	{
		"unhandled system error (run with NCCL_DEBUG=INFO", NCCL,
		"NCCL could not reach the other GPUs: check shared memory (ipc, shm_size) and the network; NCCL_DEBUG=INFO " +
			"logs details.",
	},
	{
		"NCCL error", NCCL,
		"GPUs could not communicate, or another rank ended: look for its message, then check shared memory (ipc, " +
			"shm_size) and the network; NCCL_DEBUG=INFO logs details.",
	},

	{either(each(notInOwn, ownPackages...), "'_OpNamespace' '_*' object has no attribute", "undefined symbol: ggml_",
		"undefined symbol: llama_"), Code, notInOwnMeans},

	{
		either("Could not find nvcc", "Failed to find C compiler", "No working C++ compiler found",
			"Ninja is required to load", "No such file or directory: '*nvcc'", "No such file or directory: '*hipcc'",
			"No such file or directory: 'ninja'", "nvcc: not found", "hipcc: not found", "ninja: not found",
			"nvcc: command not found", "hipcc: command not found", "No such file or directory: 'c++'",
			"No such file or directory: 'g++'", "No such file or directory: 'gcc'", "++: not found",
			"cannot execute 'cc1plus'", "Cannot find ptxas", "cannot find ROCm installation",
			"CUDA_HOME environment variable is not set", "cannot find ROCm device library"), Install,
		"A compiler is missing: install what this line names, or point CUDA_HOME, ROCM_PATH, CC or PATH at it.",
	},
	{
		each(noHeader, "Python.h", "pyconfig.h", "omp.h", "cuda.h", "cuda_runtime", "cuda_fp16.h", "cuda_bf16.h",
			"cuda_fp8.h", "cuda_fp4.h", "cooperative_groups", "cub/", "thrust/", "nvtx3/", "nvJitLink", "cublas",
			"cusparse", "cusolver", "curand", "cudnn", "nvrtc.h", "nccl.h", "rccl", "hip/", "hipblas",
			"rocblas"), Install,
		"Headers are missing: install Python's (python3-dev) or those of the CUDA toolkit or ROCm.",
	},
	{
		"cannot find -lcuda", Install,
		"The linker does not find CUDA's libraries: install the toolkit, or add their folder to LIBRARY_PATH.",
	},
	{
		"unsupported GNU version!", Install,
		"The compiler (gcc) is newer than nvcc takes: install the one that this line names, and point CC, CXX and " +
			"NVCC_CCBIN at it.",
	},
	{
		"Unsupported .version ", Install,
		"The compiler (ptxas) is older than the one that wrote a kernel: install a newer CUDA toolkit, and point " +
			"TRITON_PTXAS_PATH at its ptxas.",
	},
	{
		either("version `GLIBC*' not found", "version `CXXABI*' not found"), Install,
		"It was built for a newer system: build it on this one, or install the newer library (glibc, libstdc++).",
	},
	{
		either("nvcc fatal", "ptxas fatal", "ptxas error", "fatal error: *: No such file or directory",
			"fatal error: '*' file not found", ".cu(*): error", ".cuh(*): error", ".h(*): error", ".cu:*: error: ",
			".cuh:*: error: ", ".cpp:*: error: ", ".hip:*: error: ", "CompilationError: at "), Crash,
		"A kernel does not compile: this line is the compiler's.",
	},
	{
		either("ninja: build stopped", "ninja exited with status", "Error building extension"), Crash,
		"A kernel does not compile; the compiler's message is near this line.",
	},

	{
		"ModuleNotFoundError: No module named", Install,
		"A Python module is missing: install it, or correct the code that imports it.",
	},
	{
		"ImportError: ", Install,
		"A Python module cannot be imported: this line says why; its packages may not fit together.",
	},
	{
		"cannot open shared object file", Install,
		"A library is missing: install it, or add its folder to LD_LIBRARY_PATH.",
	},
	{"undefined symbol: ", Install, "Two libraries do not fit together: build or install them for each other."},
}

// endedBy is a glob for the lines by which engines report that a signal ended a process of
// theirs: by its negative number as an exit code, by MPI's and Python's name for it, or Go's.
func endedBy(number, name, inGo string) string {
	return either(each([]string{
		"exit code: -%", "exit code -%", "exitcode*: -%", "Failed core proc(s): {*: -%",
		"on signal % (",
	}, number),
		"Fatal Python error: "+name, "signal: "+inGo)
}

// ended is how processes end. Where a kind prints that one did, whatever ended it, these come
// before.
var ended = []Signature{
	{
		endedBy("9", "Killed", "killed"), Host,
		"A process was killed from outside, usually for lack of host memory (see dmesg).",
	},
	{
		endedBy("7", "Bus error", "bus error"), SharedMemory,
		"A process lost memory that it had mapped: /dev/shm or a disk is full (a container's shm_size), or a file " +
			"was cut while in use.",
	},
	{
		endedBy("4", "Illegal instruction", "illegal instruction"), Crash,
		"A process used an instruction that this CPU does not have: build it on this machine.",
	},
	{
		either(endedBy("11", "Segmentation fault", "segmentation fault"), "Segfault encountered"), Crash,
		"A process accessed memory that is not its own; the stack near this line says where.",
	},
}

// anyAftermath is what engines print whatever broke.
var anyAftermath = slices.Concat([]Signature{
	{
		"unspecified launch failure", Crash,
		"A kernel failed for an unknown reason; run again with CUDA_LAUNCH_BLOCKING=1 to see which.",
	},
	{
		either("CUDA error:", "HIP error:", "ROCm error"), Crash,
		"A call of CUDA or ROCm failed, or a kernel; this line and the following ones say which.",
	},
}, ended, []Signature{
	{"scheduler is dead", Crash, "A rank's scheduler ended; the reason is further up."},
	{
		"No available shared memory broadcast block found", Hang,
		"A worker hangs, or loads or compiles for longer than the time limit: raise ready's timeout, or see what it " +
			"does (py-spy dump).",
	},
	{
		"Still waiting to acquire lock on", Hang,
		"It waits for a file that another process has locked, or one that was killed had: this line names it.",
	},
})
