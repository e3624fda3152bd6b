package steps

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/redact"
)

// inheritedNames are variables that engines and their libraries react to.
var inheritedNames = regexp.MustCompile(`^(PATH|LD_LIBRARY_PATH|LD_PRELOAD|PYTHONPATH|VIRTUAL_ENV|CONDA_PREFIX|(CUDA|NVIDIA|NCCL|CUBLAS|CUDNN|TORCH|PYTORCH|TRITON|VLLM|SGLANG|SGL|FLASHINFER|TRTLLM|TLLM|GGML|LLAMA|OLLAMA|HF|TRANSFORMERS|OMP|MKL|OPENBLAS|NUMBA|MALLOC|GLIBC|MXFLOW_EMBEDDED)_\w+)$`)

// secretNames are variables whose values are nobody's business, though no plan
// has declared them sensitive.
var secretNames = regexp.MustCompile(`(?i)(^|_)(TOKEN|KEY|APIKEY|SECRET|PASSWORD|PASSWD|CREDENTIALS?|AUTH|COOKIE)$`)

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
		if SecretName(name) {
			value = redact.Mark
		}
		out[name] = value
	}
	return out
}

// pythonKinds run on Python. Kinds that are absent from both lists do where their
// command shows an interpreter.
var (
	pythonKinds = []string{"vllm", "sglang", "trtllm", "transformers", "tabbyapi"}
	otherKinds  = []string{"embedded", "llamacpp", "ollama"}
)

// isPython reports whether the packages of a Python say something about the
// engine.
func isPython(spec engine.Spec) bool {
	switch {
	case spec.Endpoint != nil, slices.Contains(otherKinds, spec.Kind):
		return false
	case slices.Contains(pythonKinds, spec.Kind):
		return true
	}
	return len(pythonOf(spec)) > 0
}

// pythonOf is the interpreter that a command shows: itself, uv's, or the one that
// a process's program names in its first line. Nil where there is none.
func pythonOf(spec engine.Spec) []string {
	if len(spec.Command) == 0 {
		return nil
	}
	program := spec.Command[0]
	base := filepath.Base(program)
	switch {
	case strings.HasPrefix(base, "python"):
		return []string{program}
	case base == "uv" && len(spec.Command) > 1 && spec.Command[1] == "run":
		return []string{program, "run", "--no-sync", "python"}
	case spec.How() != engine.HowProcess:
		return nil
	}
	if base == program {
		program, _ = exec.LookPath(program)
	} else if !filepath.IsAbs(program) {
		program = filepath.Join(spec.Dir, program)
	}
	return shebang(program)
}

// interpreter is a Python in the first lines of a program: "#!/venv/bin/python3",
// or what pip writes where that line would be too long.
var interpreter = regexp.MustCompile(`^#!\s*(?:/usr/bin/env (python[\d.]*)\s|(/\S*/python[\d.]*)\s|/bin/sh\n'''exec' "?(/\S*/python[\d.]*)"?\s)`)

// shebang is the Python that runs a program, nil where none does.
func shebang(program string) []string {
	f, err := os.Open(program)
	if err != nil {
		return nil
	}
	defer f.Close()
	head := make([]byte, 1024)
	n, _ := io.ReadFull(f, head)
	for i, found := range interpreter.FindStringSubmatch(string(head[:n])) {
		if i > 0 && found != "" {
			return []string{found}
		}
	}
	return nil
}

// modelOf is what the engine loads: what its command names, or else the plan.
func modelOf(spec engine.Spec, e *plans.Engine) string {
	for _, flag := range []string{"--model", "--model-path", "--force-model", "--hf-repo"} {
		if value := flagOf(spec.Command, flag); value != "" {
			return value
		}
	}
	for i, arg := range spec.Command {
		if i == 0 || i+1 == len(spec.Command) {
			continue
		}
		next := spec.Command[i+1]
		program := filepath.Base(spec.Command[i-1])
		switch {
		case strings.HasPrefix(next, "-"):
		case arg == "serve", arg == "-m" && !strings.HasPrefix(program, "python"):
			return next
		}
	}
	if e == nil {
		return ""
	}
	return e.Model
}

// flagOf is the value of a flag in a command, empty where it is not given.
func flagOf(command []string, flag string) string {
	for i, arg := range command {
		if value, ok := strings.CutPrefix(arg, flag+"="); ok {
			return value
		}
		if arg == flag && i+1 < len(command) {
			return command[i+1]
		}
	}
	return ""
}
