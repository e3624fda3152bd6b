package steps

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/machine"
	"github.com/mxflow/mxflow/engine/metadata"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/steps/variant"
)

// metadataLimit bounds all that is asked about one launch.
const metadataLimit = 5 * time.Minute

// describe finds out what a launch runs on and from, and keeps it: as YAML
// beside the log, as an artifact, and what numbers depend on in the record. It
// never fails: what is missing is in the file, and what could not be kept in the
// launch's notes. An engine that has not started answers nothing.
func (l *launchLab) describe(ctx context.Context, s *runtime.Scope, v *variant.Variant, st *started) {
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
func (l *launchLab) document(s *runtime.Scope, v *variant.Variant, st *started) *metadata.Document {
	r := st.record
	doc := &metadata.Document{
		Launch: metadata.Launch{
			ID: r.ID, Session: r.Session, Purpose: r.Purpose, Variant: r.Variant, Ordinal: r.Ordinal,
			Started: r.Started, Boot: r.BootID, Run: s.Run, Plan: l.Plan.Name,
		},
		Engine: metadata.Engine{
			Kind: v.Spec.Kind, Launcher: string(v.Spec.How()), Version: l.KindVersions[v.Spec.Kind], Program: r.Engine["program"],
			Command: slices.Clone(v.Spec.Command), Dir: v.Spec.Dir, Knobs: v.Knobs,
			Env: shownEnv(v.Spec.Env), Inherited: inheritedEnv(v.Spec), Unset: v.Spec.Unset,
		},
		Host: machine.Environment(),
	}
	if st.inst != nil {
		doc.Engine.About = st.inst.About()
	}
	return doc
}

// metadataRequest says what to find out, and how.
func (l *launchLab) metadataRequest(v *variant.Variant, st *started) metadata.Request {
	q := metadata.Request{
		SameFiles: v.Spec.How() == engine.HowProcess, Dir: v.Spec.Dir, GPUs: st.gpu.uuids(), Also: map[string]string{},
		Model: variant.ModelOf(v.Spec, l.Plan.Engine(v.Engine)), Revision: variant.FlagOf(v.Spec.Command, "--revision"),
		Python: variant.PythonOf(v.Spec), Packages: variant.IsPython(v.Spec),
	}
	q.Env = func(name string) string {
		value, _ := variant.Variable(v.Spec, name)
		return value
	}
	if d := v.Spec.Docker; d != nil {
		q.Volumes = d.Volumes
	}
	if st.inst != nil && v.Spec.Endpoint == nil {
		q.Engine = st.inst.Output
		about := st.inst.About()
		q.Image = about["image_digest"]
		if q.Image == "" {
			q.Image = about["image_id"]
		}
		if q.Image != "" {
			q.Also["image"] = q.Image
		}
		if v.Spec.Exec != nil {
			// What a running container holds changes.
			q.Image = ""
		}
	}
	if e := l.Plan.Engine(v.Engine); e != nil && len(e.Parts["metadata"]) > 0 {
		var c variant.Metadata
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
