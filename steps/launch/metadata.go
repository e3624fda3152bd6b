package launch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/machine"
	"github.com/mxflow/mxflow/engine/observe"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/internal/group"
	"github.com/mxflow/mxflow/internal/redact"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/steps/variant"
)

const (
	// metadataLimit bounds all queries about one launch, and maxInfo a page that is kept, in
	// bytes.
	metadataLimit = 5 * time.Minute
	maxInfo       = 64 << 10
)

// describe collects what a launch runs on and from, and keeps it: as YAML beside the log,
// as an artifact, and what numbers depend on in the record. It never fails: what is
// missing is noted in the file, and what could not be kept in the launch's notes. An
// engine that has not started answers nothing.
func (l *Lab) describe(ctx context.Context, s *runtime.Scope, v *variant.Variant, st *Started) {
	if ctx.Err() != nil {
		return // nothing of this launch is kept
	}
	asked, cancel := context.WithTimeout(ctx, metadataLimit)
	defer cancel()
	r := st.Record
	doc := &machine.Document{
		Launch: machine.LaunchData{
			ID: r.ID, Session: r.Session, Purpose: r.Purpose, Variant: r.Variant, Ordinal: r.Ordinal,
			Started: r.Started, Boot: machine.BootID(), Run: s.Run, Plan: l.Variants.Plan.Name,
		},
		Engine: machine.EngineData{
			Kind: v.Spec.Kind, Launcher: string(v.Spec.How()), Version: l.Variants.KindVersions[v.Spec.Kind],
			Program: r.Engine["program"],
			Command: slices.Clone(v.Spec.Command), Dir: v.Spec.Dir, Knobs: v.Knobs,
			Env: shownEnv(v.Spec.Env), Inherited: inheritedEnv(v.Spec), Unset: v.Spec.Unset,
		},
		Host: machine.Environment(),
	}
	if st.Inst != nil {
		doc.Engine.About = st.Inst.About()
	}
	if doc.Engine.Version == "" {
		doc.Engine.Version = engineVersion(asked, v, st.Inst, doc)
	}
	if st.Inst != nil && st.Inst.Exit() == nil {
		// Pages on which the engine reports what runs and how. One that does not answer, or
		// not in JSON, is left out: not every version has every page.
		doc.Pages = map[string]string{}
		for _, path := range variant.KindOf(v.Spec).Info {
			text, err := observe.Page(asked, st.Inst.Access(), path)
			var line bytes.Buffer
			if err == nil && len(text) <= maxInfo && json.Compact(&line, text) == nil {
				doc.Pages[path] = line.String()
			}
		}
	}
	machine.Collect(asked, l.metadataRequest(v, st), doc)
	if doc.Model != nil && v.Spec.How() == engine.HowProcess {
		l.usedMu.Lock()
		l.models[st.Record.ID] = doc.Model.Path
		l.usedMu.Unlock()
	}
	st.Limit = limitBy(v, st, doc)
	if on := st.Record.Place; on != nil && len(on.GPUs) > 0 && doc.Fingerprint["gpu"] != "" {
		// Which of several identical GPUs it ran on is in its place.
		var models []string
		for _, g := range st.GPU.gpus {
			models = append(models, g.Name)
		}
		doc.Fingerprint["gpu"] = strings.Join(models, ", ")
	}
	if on := st.Record.Place; on != nil && on.Host != "" {
		delete(doc.Fingerprint, "host") // its place says which
	}
	st.Record.Fingerprint = doc.Fingerprint
	// The YAML file is redacted: the document's own texts, and once more the result.
	l.Redact.Clean(doc)
	text, err := doc.YAML()
	if err == nil {
		text = l.Redact.Bytes(text)
		err = os.WriteFile(filepath.Join(l.RunDir, "launches", runtime.FileName(st.Record.ID)+".yaml"), text, 0o644)
		if l.Store != nil {
			sum, putErr := l.Store.Put(text)
			st.Record.Metadata, err = sum, errors.Join(err, putErr)
		}
	}
	if err != nil {
		st.Record.Notes = append(st.Record.Notes, verdict.New(code.NotKept, verdict.Line(err)).On("metadata"))
	}
}

// metadataRequest is what to collect, and how.
func (l *Lab) metadataRequest(v *variant.Variant, st *Started) machine.MetadataRequest {
	q := machine.MetadataRequest{
		GPUs: st.GPU.UUIDs(), Also: map[string]string{}, Engine: st.here,
		Model:    variant.ModelOf(v.Spec, l.Variants.Plan.Engine(v.Engine)),
		Revision: variant.FlagOf(v.Spec.Command, "--revision"),
		Python:   variant.PythonOf(v.Spec), Packages: variant.IsPython(v.Spec),
	}
	if st.Inst != nil && v.Spec.Endpoint == nil {
		q.Engine = st.Inst.Output
		about := st.Inst.About()
		if image := cmp.Or(about["image_digest"], about["image_id"]); image != "" {
			q.Also["image"] = image
		}
	}
	if e := l.Variants.Plan.Engine(v.Engine); e != nil && len(e.Parts["metadata"]) > 0 {
		var c variant.Metadata
		if err := e.Parts["metadata"][0].Decode(&c); err == nil {
			q.Repos, q.Commands = c.Repos, c.Commands
			if c.Packages != nil {
				q.Packages = *c.Packages
			}
		}
	}
	return q
}

// Foresee is what the record of a launch would have of what it runs on and from, as far as that is known
// without one: nothing of what lives in a container that does not run, or of what the engine reports.
func (l *Lab) Foresee(ctx context.Context, v *variant.Variant) *ledger.Launch {
	record := &ledger.Launch{Variant: v.Name, Block: v.Engine, Engine: map[string]string{}}
	for _, s := range v.Spec.Sources {
		record.Engine["source."+s.Name+".commit"] = s.Commit
	}
	for _, t := range v.Spec.Trees {
		setTree(record, t.Name, ledger.Tree{Hash: t.Hash})
	}
	st := &Started{Lab: l, Record: record}
	if v.Spec.How() == engine.HowProcess {
		st.here = func(ctx context.Context, argv ...string) ([]byte, error) {
			cmd := group.Command(ctx, argv[0], argv[1:]...)
			cmd.Env = os.Environ()
			for name, value := range sorted.All(v.Spec.Env) {
				cmd.Env = append(cmd.Env, name+"="+value)
			}
			if !engine.Marked(v.Spec.Dir) {
				cmd.Dir = v.Spec.Dir
			}
			return cmd.Output()
		}
	}
	doc := &machine.Document{
		Engine: machine.EngineData{Version: l.Variants.KindVersions[v.Spec.Kind]}, Host: machine.Environment(),
	}
	asked, cancel := context.WithTimeout(ctx, metadataLimit)
	defer cancel()
	machine.Collect(asked, l.metadataRequest(v, st), doc)
	record.Fingerprint = doc.Fingerprint
	for _, name := range []string{"gpu", "driver"} {
		if value := doc.Host[name]; value != "" {
			record.Fingerprint[name] = value
		}
	}
	return record
}

// inheritedNames are variables that engines and their libraries react to.
var inheritedNames = regexp.MustCompile(
	`^(PATH|LD_LIBRARY_PATH|LD_PRELOAD|PYTHONPATH|VIRTUAL_ENV|CONDA_PREFIX|(CUDA|NVIDIA|HIP|HSA|ROCR|ROCM|RCCL|MIOPEN|AITER|NCCL|CUBLAS|CUDNN|TORCH|PYTORCH|TRITON|VLLM|SGLANG|SGL|FLASHINFER|TRTLLM|TLLM|GGML|LLAMA|OLLAMA|HF|TRANSFORMERS|OMP|MKL|OPENBLAS|NUMBA|MALLOC|GLIBC|MXFLOW_EMBEDDED)_\w+)$`)

// inheritedEnv is the part of mxflow's environment that a process sees and that engines
// react to.
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

// shownEnv is a copy of env without the values of variables with secret names.
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

func engineVersion(ctx context.Context, v *variant.Variant, inst engine.Instance, doc *machine.Document) string {
	pattern := variant.KindOf(v.Spec).Version
	switch {
	case inst == nil:
		doc.Lack("engine.version", "the engine did not start")
		return ""
	case pattern.Path == "" && len(pattern.Log) == 0:
		doc.Lack("engine.version", "engines of this kind do not report it")
		return ""
	}
	pattern.Name, pattern.Type = "version", kinds.TypeString
	for _, o := range observe.All(ctx, inst, "", []kinds.Pattern{pattern}) {
		if version, ok := o.Value.(string); ok {
			return version
		}
		doc.Lack("engine.version", o.Missing)
	}
	return ""
}
