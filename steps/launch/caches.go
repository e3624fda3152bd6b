package launch

import (
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
)

// cacheFolders are the variables that tell engines and their compilers where to keep
// compiled artifacts. XDG_CACHE_HOME and HF_HOME are deliberately absent: models are
// downloaded there. Every engine gets all of them: one that does not know a variable
// ignores it.
var cacheFolders = []struct{ variable, folder string }{
	{"VLLM_CACHE_ROOT", "vllm"}, // torch.compile artifacts of vLLM, autotuner results
	{"SGLANG_CACHE_DIR", "sglang"},
	{"SGLANG_DG_CACHE_DIR", "sglang-deep-gemm"},
	{"TORCHINDUCTOR_CACHE_DIR", "inductor"},
	{"TRITON_CACHE_DIR", "triton"},
	{"TORCH_EXTENSIONS_DIR", "torch-extensions"},
	{"FLASHINFER_WORKSPACE_BASE", "flashinfer"}, // keeps .cache/flashinfer in it
	{"CUDA_CACHE_PATH", "cuda"},                 // the driver's own PTX compiler
	{"DG_JIT_CACHE_DIR", "deep-gemm"},
	{"TRTLLM_DG_CACHE_DIR", "trtllm-deep-gemm"},
	{"TVM_FFI_CACHE_DIR", "tvm-ffi"},
	{"TILELANG_CACHE_DIR", "tilelang"},
	{"CUTE_DSL_CACHE_DIR", "cute-dsl"},
}

// cachesMount is where a container sees its caches.
const cachesMount = "/mxflow-caches"

// provideCaches gives a launch its caches and records their state.
func (l *Lab) provideCaches(spec *engine.Spec, key string, record *ledger.Launch) error {
	c := spec.Caches
	if spec.Endpoint != nil {
		return failed("engine", "start", "it is an endpoint, not started by mxflow, so the state of its caches is unknown: remove the caches block")
	}
	if (spec.Exec != nil || spec.Compose != nil) && (c.Dir == "" || c.Mount == "") {
		return failed("engine", "start", "the container is already running or comes from a compose file, so mxflow mounts nothing into it: add caches { dir = …, mount = … } with a mounted folder and where the container sees it")
	}
	base := l.stateFolder("caches")
	if c.Dir != "" {
		base = l.Plan.Abs(c.Dir)
	}
	base, err := filepath.Abs(base)
	if err != nil {
		return failed("engine", "start", "no folder for its caches: %v", err)
	}
	// A cold launch gets its own folder: what a container wrote as another user could not
	// be removed, and would make it warm.
	name := key
	if c.State == "cold" {
		name = path.Join(key+"-cold", runtime.FileName(record.ID)+"-"+runtime.ShortID(record.ID, record.Started, record.Order))
		clearOld(filepath.Join(base, key+"-cold"))
	}
	dir := filepath.Join(base, name)
	actual := c.State
	if c.State == "warm" && !l.warmed(dir, key) {
		actual = "cold"
		record.Notes = append(record.Notes, verdict.New(code.CachesCold))
	}
	if entries, err := os.ReadDir(dir); c.State == "cold" && err == nil && len(entries) > 0 {
		return failed("engine", "start", "its caches in %s should be cold but are not empty: remove the folder", dir)
	}
	inside := dir
	switch {
	case spec.Docker != nil:
		if inside = c.Mount; inside == "" {
			inside = cachesMount
		}
		spec.Docker.Volumes[dir] = inside
	case spec.Exec != nil || spec.Compose != nil:
		inside = path.Join(c.Mount, name)
	}
	for _, f := range cacheFolders {
		if err := os.MkdirAll(filepath.Join(dir, f.folder), 0o777); err != nil {
			return failed("engine", "start", "no folder for its caches: %v", err)
		}
		if _, set := spec.Env[f.variable]; !set && !slices.Contains(spec.Unset, f.variable) {
			spec.Env[f.variable] = path.Join(inside, f.folder)
		}
	}
	record.Engine["caches"], record.Engine["caches.declared"] = actual, c.State
	return nil
}

// warmed reports whether a launch of this variant succeeded with these caches: one that
// broke may have compiled only half.
func (l *Lab) warmed(dir, key string) bool {
	if _, err := os.Stat(dir); err != nil || l.Store == nil {
		return false
	}
	return slices.ContainsFunc(l.Store.Launches(store.LaunchFilter{VariantKey: key, OK: true}), func(launch *ledger.Launch) bool {
		return launch.Engine["caches.declared"] == "warm"
	})
}

// clearOld removes the caches of earlier cold launches as far as it can.
func clearOld(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		_ = os.RemoveAll(filepath.Join(dir, e.Name()))
	}
}
