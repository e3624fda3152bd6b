package steps

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/machine"
	"github.com/mxflow/mxflow/engine/metadata"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
)

var metadataPart = plans.Part{
	Times: plans.AtMost1,
	Schema: plans.Schema{
		Doc: "What else is recorded of every launch. GPUs and their state, driver, image, resolved command, environment, model files and host are recorded in any case, in the launch's YAML file beside its log; where the engine runs on Python, packages and the versions of CUDA, cuDNN and NCCL too. What numbers depend on becomes the launch's fingerprint: arms are compared only where it is the same. What cannot be found out is listed in the file with the reason, and never breaks a launch.",
		Attrs: []plans.Attr{
			{Name: "repos", Type: plans.Map, Doc: "Git trees by name, as the engine sees their paths: commit, branch, and a digest of what differs from it. They are part of the fingerprint."},
			{Name: "packages", Type: plans.Bool, Doc: "Whether to list the Python packages that the engine has. Without it: where the kind of engine, or its command, is a Python program."},
			{Name: "commands", Type: plans.Map, Doc: "Commands by name, run once a launch where the engine lives with `sh -c`, while nothing is measured. What they print is recorded, up to 64 KiB each; it is no part of the fingerprint. One may take a minute."},
		},
		Example: `metadata {
  repos    = { vllm = "/workspace/vllm" }
  commands = { clocks = "nvidia-smi -q -d CLOCK" }
}`,
		Check: func(b *plans.Block) (wrong []plans.AttrError) {
			var c metadataConfig
			if err := b.Decode(&c); err != nil {
				return []plans.AttrError{{Code: "invalid-value", Summary: "Invalid metadata block", Detail: err.Error()}}
			}
			for name, path := range c.Repos {
				if strings.TrimSpace(path) == "" {
					wrong = append(wrong, plans.AttrError{Attr: "repos", Code: "empty-value", Summary: "Empty path", Detail: fmt.Sprintf("repos names %s without a path. Write the folder of its git tree, as the engine sees it.", name)})
				}
			}
			for name, command := range c.Commands {
				if strings.TrimSpace(command) == "" {
					wrong = append(wrong, plans.AttrError{Attr: "commands", Code: "empty-value", Summary: "Empty command", Detail: fmt.Sprintf("commands names %s without a command. Write what sh is to run.", name)})
				}
			}
			return wrong
		},
	},
}

type metadataConfig struct {
	Repos    map[string]string `json:"repos"`
	Packages *bool             `json:"packages"`
	Commands map[string]string `json:"commands"`
}

// metadataLimit bounds all that is asked about one launch.
const metadataLimit = 5 * time.Minute

// describe finds out what a launch runs on and from, and keeps it: as YAML
// beside the log, as an artifact, and what numbers depend on in the record. It
// never fails: what is missing is in the file, and what could not be kept in the
// launch's notes. An engine that has not started answers nothing.
func (l *launchLab) describe(ctx context.Context, s *runtime.Scope, v *variant, st *started) {
	if ctx.Err() != nil {
		return // nothing of this launch is kept
	}
	asked, cancel := context.WithTimeout(ctx, metadataLimit)
	defer cancel()
	doc := l.document(s, v, st)
	if doc.Engine.Version == "" {
		doc.Engine.Version = engineVersion(asked, v, st.inst, doc)
	}
	doc.Pages = infoPages(asked, v, st.inst)
	l.metadata.Collect(asked, l.metadataRequest(v, st), doc)
	st.record.Fingerprint = doc.Fingerprint
	if err := l.keepMetadata(doc, st); err != nil {
		st.record.Notes = append(st.record.Notes, verdict.New(code.NotKept, verdict.Line(err)).On("metadata"))
	}
}

// keepMetadata writes the YAML file, without sensitive values: in the document's
// own texts, and once more in what they became.
func (l *launchLab) keepMetadata(doc *metadata.Document, st *started) error {
	l.Redact.Clean(doc)
	text, err := doc.YAML()
	if err != nil {
		return err
	}
	text = l.Redact.Bytes(text)
	path := filepath.Join(l.RunDir, "launches", runtime.FileName(st.record.ID)+".yaml")
	err = os.WriteFile(path, text, 0o644)
	if l.Store != nil {
		sum, putErr := l.Store.Put(text)
		st.record.Metadata, err = sum, errors.Join(err, putErr)
	}
	return err
}

// document is what is known without asking.
func (l *launchLab) document(s *runtime.Scope, v *variant, st *started) *metadata.Document {
	r := st.record
	doc := &metadata.Document{
		Launch: metadata.Launch{
			ID: r.ID, Session: r.Session, Purpose: r.Purpose, Variant: r.Variant, Ordinal: r.Ordinal,
			Started: r.Started, Boot: r.BootID, Run: s.Run, Plan: l.Plan.Name,
		},
		Engine: metadata.Engine{
			Kind: v.spec.Kind, Launcher: string(v.spec.How()), Version: l.KindVersions[v.spec.Kind], Program: r.Engine["program"],
			Command: slices.Clone(v.spec.Command), Dir: v.spec.Dir, Knobs: v.knobs,
			Env: shownEnv(v.spec.Env), Inherited: inheritedEnv(v.spec), Unset: v.spec.Unset,
		},
		Host: machine.Environment(),
	}
	if st.inst != nil {
		doc.Engine.About = st.inst.About()
	}
	return doc
}

// metadataRequest says what to find out, and how.
func (l *launchLab) metadataRequest(v *variant, st *started) metadata.Request {
	q := metadata.Request{
		SameFiles: v.spec.How() == engine.HowProcess, Dir: v.spec.Dir, GPUs: st.gpu.uuids(), Also: map[string]string{},
		Model: modelOf(v.spec, l.Plan.Engine(v.engine)), Revision: flagOf(v.spec.Command, "--revision"),
		Python: pythonOf(v.spec), Packages: isPython(v.spec),
	}
	q.Env = func(name string) string {
		value, _ := variable(v.spec, name)
		return value
	}
	if d := v.spec.Docker; d != nil {
		q.Volumes = d.Volumes
	}
	if st.inst != nil && v.spec.Endpoint == nil {
		q.Engine = st.inst.Output
		about := st.inst.About()
		q.Image = about["image_digest"]
		if q.Image == "" {
			q.Image = about["image_id"]
		}
		if q.Image != "" {
			q.Also["image"] = q.Image
		}
		if v.spec.Exec != nil {
			// What a running container holds changes.
			q.Image = ""
		}
	}
	if e := l.Plan.Engine(v.engine); e != nil && len(e.Parts["metadata"]) > 0 {
		var c metadataConfig
		if err := e.Parts["metadata"][0].Decode(&c); err == nil {
			q.Repos = c.Repos
			if c.Packages != nil {
				q.Packages = *c.Packages
			}
			q.Commands = map[string][]string{}
			for name, command := range c.Commands {
				q.Commands[name] = []string{"sh", "-c", command}
			}
		}
	}
	return q
}
