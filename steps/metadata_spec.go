package steps

import (
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/plans/redact"
)

// inheritedNames are variables that engines and their libraries react to.
var inheritedNames = regexp.MustCompile(`^(PATH|LD_LIBRARY_PATH|LD_PRELOAD|PYTHONPATH|VIRTUAL_ENV|CONDA_PREFIX|(CUDA|NVIDIA|NCCL|CUBLAS|CUDNN|TORCH|PYTORCH|TRITON|VLLM|SGLANG|SGL|FLASHINFER|TRTLLM|TLLM|GGML|LLAMA|OLLAMA|HF|TRANSFORMERS|OMP|MKL|OPENBLAS|NUMBA|MALLOC|GLIBC|MXFLOW_EMBEDDED)_\w+)$`)

// inheritedEnv is the part of mxflow's own environment that a process sees and
// that engines react to.
func inheritedEnv(spec engine.Spec) map[string]string {
	if spec.How() != engine.HowProcess {
		return nil
	}
	env := map[string]string{}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		_, set := spec.Env[name]
		if !set && inheritedNames.MatchString(name) && !slices.Contains(spec.Unset, name) {
			env[name] = value
		}
	}
	return shownEnv(env)
}

// shownEnv is a copy of env without the values of what is secret by its name.
func shownEnv(env map[string]string) map[string]string {
	out := map[string]string{}
	for name, value := range env {
		if redact.SecretName(name) {
			value = redact.Mark
		}
		out[name] = value
	}
	return out
}
