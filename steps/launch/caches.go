package launch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/source"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/variant"
)

type folderOf struct{ variable, folder string }

// cacheFolders are the variables that tell engines and their compilers where to keep
// compiled artifacts. Every engine gets all of them: one that does not know a variable
// ignores it.
var cacheFolders = []folderOf{
	{"VLLM_CACHE_ROOT", "vllm"},    // torch.compile artifacts, flashinfer_autotune_cache
	{"SGLANG_CACHE_DIR", "sglang"}, // flashinfer/autotune
	{"SGLANG_DG_CACHE_DIR", "sglang-deep-gemm"},
	{"TORCHINDUCTOR_CACHE_DIR", "inductor"},
	{"TRITON_CACHE_DIR", "triton"},
	{"TORCH_EXTENSIONS_DIR", "torch-extensions"},
	{"FLASHINFER_WORKSPACE_BASE", "flashinfer"}, // keeps .cache/flashinfer in it
	{"FLASHINFER_AUTOTUNE_CACHE_DIR", "flashinfer-autotune"},
	{"VLLM_FLASHINFER_AUTOTUNE_CACHE_DIR", "vllm-flashinfer-autotune"},
	{"CUDA_CACHE_PATH", "cuda"}, // the driver's own PTX compiler
	{"DG_JIT_CACHE_DIR", "deep-gemm"},
	{"TRTLLM_DG_CACHE_DIR", "trtllm-deep-gemm"},
	{"TVM_FFI_CACHE_DIR", "tvm-ffi"},
	{"TILELANG_CACHE_DIR", "tilelang"},
	{"CUTE_DSL_CACHE_DIR", "cute-dsl"},
	{"NUMBA_CACHE_DIR", "numba"},
	{"CUPY_CACHE_DIR", "cupy"},
	{"MXFLOW_EMBEDDED_CACHE_DIR", "embedded"},
	{"PYTHONPYCACHEPREFIX", "python"}, // instead of __pycache__ beside sources, where any process may leave bytecode
}

// otherCaches is where a process keeps what none of them names, such as shaders of drivers.
const otherCaches = "XDG_CACHE_HOME"

// downloads are the folders of the user's cache with models and packages, which a process
// would miss in its own, by the variables that tell where they are.
var downloads = []folderOf{
	{"HF_HOME", "huggingface"},
	{"TORCH_HOME", "torch"},
	{"LLAMA_CACHE", "llama.cpp"},
	{"UV_CACHE_DIR", "uv"},
	{"PIP_CACHE_DIR", "pip"},
}

// timed matches the files, or a folder around them, in which engines keep what they timed
// and chose: FlashInfer's tactics under each of its roofs (autotune_configs.json), those
// of Triton (*.autotune.json), TileLang (autotuner/) and Inductor (*.best_config).
var timed = regexp.MustCompile(`(?i)autotun|\.best_config$`)

// timedFiles lists the timed files below a folder, relative to it and sorted.
func timedFiles(dir string) (files []string, err error) {
	err = filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if rel, _ := filepath.Rel(dir, file); !d.IsDir() && timed.MatchString(rel) {
			files = append(files, rel)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return files, err
}

// cachesMount is where a container sees its caches.
const cachesMount = "/mxflow-caches"

// provideCaches gives a launch its caches and records their state.
func (l *Lab) provideCaches(spec *engine.Spec, key string, record *ledger.Launch) error {
	c := spec.Caches
	if spec.Endpoint != nil {
		return failed("engine", "start",
			"it is an endpoint, not started by mxflow, so the state of its caches is unknown: remove the caches block")
	}
	if (spec.Exec != nil || spec.Compose != nil) && (c.Dir == "" || c.Mount == "") {
		return failed("engine", "start",
			"the container is already running or comes from a compose file, so mxflow mounts nothing into it: add a "+
				"caches block whose dir is a mounted folder, and whose mount is where the container sees it")
	}
	base := l.stateFolder("caches")
	if c.Dir != "" {
		base = l.Variants.Plan.Abs(c.Dir)
	}
	base, err := filepath.Abs(base)
	if err != nil {
		return failed("engine", "start", "no folder for its caches: %v", err)
	}
	name := key
	if on := record.PlaceName(); on != "" && c.Tuning == "drawn" {
		name += "-" + runtime.FileName(on) // a launch in parallel would share its tune
	}
	if c.State == "cold" {
		name += "-cold"
	}
	dir := filepath.Join(base, name)
	empty := c.State == "cold"
	if path := l.changedCache(dir, key, record, c.Tuning); path != "" && !empty {
		empty = true
		record.Notes = append(record.Notes, verdict.Say("caches.changed",
			"it starts with empty caches: {subject} was changed after the last launch of this variant on record "+
				"ended, by one that was cut off or by another process").On(path))
	}
	if !empty && c.Tuning == "drawn" { // forget what an earlier launch timed and chose
		files, err := timedFiles(dir)
		for _, file := range files {
			err = errors.Join(err, os.Remove(filepath.Join(dir, file)))
		}
		empty = err != nil
	}
	if empty {
		if err := setAside(dir, runtime.ShortID(record.ID, record.Started, record.Order)); err != nil {
			return failed("engine", "start", "its caches should be empty, but cannot be moved: %v: remove the folder",
				err)
		}
	}
	actual := c.State
	// Caches of launches that broke may be compiled only half.
	if _, err := os.Stat(dir); err != nil || l.Store == nil ||
		len(l.Store.Launches(store.LaunchFilter{VariantKey: key, OK: true})) == 0 {
		actual = "cold"
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
	planned := func(name string) bool {
		_, set := spec.Env[name]
		return set || slices.Contains(spec.Unset, name)
	}
	folders := cacheFolders
	if spec.How() == engine.HowProcess && !planned(otherCaches) {
		shared := os.Getenv(otherCaches)
		if home, ok := variant.Variable(*spec, "HOME"); ok && shared == "" {
			shared = filepath.Join(home, ".cache")
		}
		for _, f := range downloads {
			if os.Getenv(f.variable) == "" && !planned(f.variable) {
				spec.Env[f.variable] = filepath.Join(shared, f.folder)
			}
		}
		folders = append(slices.Clone(folders), folderOf{otherCaches, "other"})
	}
	for _, f := range folders {
		if err := os.MkdirAll(filepath.Join(dir, f.folder), 0o777); err != nil {
			return failed("engine", "start", "no folder for its caches: %v", err)
		}
		if !planned(f.variable) {
			spec.Env[f.variable] = path.Join(inside, f.folder)
		}
	}
	spec.Caches = &engine.Caches{State: c.State, Tuning: c.Tuning, Dir: dir, Mount: inside}
	record.Engine["caches"], record.Engine["caches.tuning"] = actual, c.Tuning
	return nil
}

// changedCache is a file in caches that was changed after the last launch which they belong to
// ended, by a time that no program can set: an engine could slow another one there. It is empty
// if there is none, or where several launches share them at a time.
func (l *Lab) changedCache(dir, key string, record *ledger.Launch, tuning string) string {
	if l.Store == nil || record.Place != nil && tuning != "drawn" {
		return ""
	}
	var ended time.Time
	for _, launch := range l.Store.Launches(store.LaunchFilter{VariantKey: key}) {
		if launch.PlaceName() == record.PlaceName() {
			ended = launch.Started.Add(time.Duration(launch.Seconds * float64(time.Second)))
		}
	}
	if ended.IsZero() {
		return ""
	}
	return source.Root{Dir: dir, Holds: source.HoldsPackages}.Since(ended, func(string) bool { return false })
}

// setAside moves caches away and removes them as far as it can: what a container wrote as
// another user can be moved, but not removed.
func setAside(dir, id string) error {
	old := dir + "-old"
	err := os.MkdirAll(old, 0o755)
	if err == nil {
		err = os.Rename(dir, filepath.Join(old, id))
	}
	_ = os.RemoveAll(old)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// observedTune is the observation of what a launch timed and chose: a digest. It is a
// consequence, in which launches may differ, within an arm too.
const observedTune = "tune"

// observeTune records what the launch timed and chose. In a container it removes that too
// unless it is pinned: from here files of another user could not be.
func (st *Started) observeTune(ctx context.Context) {
	c := st.caches
	if _, plans := st.Record.Observed[observedTune]; plans || c == nil || !st.Record.OK {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, observing)
	defer cancel()
	files, err := timedFiles(c.Dir)
	if err == nil && len(files) == 0 {
		return
	}
	var inside []string
	var content []byte
	var unread error
	for _, file := range files {
		inside = append(inside, path.Join(c.Mount, filepath.ToSlash(file)))
		text, err := os.ReadFile(filepath.Join(c.Dir, file))
		content, unread = append(content, text...), errors.Join(unread, err)
	}
	if errors.Is(unread, fs.ErrPermission) {
		content, unread = st.Inst.Output(ctx, append([]string{"cat"}, inside...)...)
	}
	if c.Tuning == "drawn" && st.How != engine.HowProcess {
		_, _ = st.Inst.Output(ctx, append([]string{"rm", "-f"}, inside...)...)
	}
	if err = errors.Join(err, unread); err != nil {
		if st.Record.Unobserved == nil {
			st.Record.Unobserved = map[string]verdict.Reason{}
		}
		st.Record.Unobserved[observedTune] = verdict.New(code.Unobserved,
			verdict.Text("why", st.Lab.Redact.Text(err.Error())))
		return
	}
	if st.Record.Observed == nil {
		st.Record.Observed = map[string]ledger.Observed{}
	}
	st.Record.Observed[observedTune] = ledger.Observed{
		Value: runtime.Digest(files, content)[:12],
		From:  fmt.Sprintf("files in its caches: %d", len(files)),
	}
}
