// Package arms asks something else of a plan's engine than its phases do: its baseline in
// several versions, by commit of a source, image or package pins, as HCL for
// load.Options.Question. It starts nothing and decides nothing.
package arms

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/docker"
	"github.com/mxflow/mxflow/engine/kinds"
	"github.com/mxflow/mxflow/engine/source"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/steps/variant"
)

// Knob is the knob whose values are the arms of a question.
const Knob = "arm"

// PinsVariable is the variable in which a build finds its file of package pins.
const PinsVariable = "MXFLOW_PINS"

// Arm is one version of an engine, by exactly one of what follows the name.
type Arm struct {
	// Name is that of the knob's value.
	Name string `json:"name"`
	// Ref is a revision of the source.
	Ref string `json:"ref,omitempty"`
	// Image is of a container, and Pins the path of a file that the source's build installs
	// packages by.
	Image string `json:"image,omitempty"`
	Pins  string `json:"pins,omitempty"`
	// Set are knobs of the plan at other values than the baseline's.
	Set map[string]string `json:"set,omitempty"`
	// Env sets variables; an arm that is as the baseline has none of all these.
	Env map[string]string `json:"env,omitempty"`
}

// Question is what is asked of a plan: its baseline at the first arm, and phases in HCL
// whose features set Knob to the others.
type Question struct {
	Plan *plans.Plan
	Arms []Arm
	// Source is the name of the source that Ref and Pins change; empty for the only one.
	Source string
	Phases string
}

// HasBaseline returns an error for a plan without a baseline, which every question is about.
func HasBaseline(p *plans.Plan) error {
	if p.Baseline == nil {
		return fmt.Errorf("%s: the plan has no baseline, which is what is measured: add a baseline with engine and "+
			"protocol", p.File)
	}
	return nil
}

// HCL is the question as text. An error says what the plan's engine lacks for it.
func (q *Question) HCL() (string, error) {
	base, w := q.Plan.Baseline, &Writer{}
	w.Line("baseline {\nengine = engine.%s\nprotocol = protocol.%s", base.Engine, base.Protocol)
	set := maps.Clone(base.Set)
	for name, value := range q.Arms[0].Set {
		if set == nil {
			set = map[string]string{}
		}
		set[name] = value
	}
	w.Table("set", set)
	w.List("accept_fingerprint", base.AcceptFingerprint)
	w.Line("}\n")
	if !q.Knobbed() {
		return string(w.Format()) + q.Phases, nil
	}
	w.Line("knob %q {\ndefault = %s", Knob, HCL(q.Arms[0].Name))
	for _, a := range q.Arms {
		w.Line("\nvalue %s {", HCL(a.Name))
		w.Table("env", a.Env)
		if a.Image != "" && len(q.Plan.Engine(base.Engine).Parts["docker"]) == 0 {
			return "", fmt.Errorf("engine.%s runs in no container of its own: give it a docker block with an image",
				base.Engine)
		}
		w.Text("image", a.Image)
		if a.Ref != "" || a.Pins != "" {
			if err := q.source(w, a); err != nil {
				return "", err
			}
		}
		w.Line("}")
	}
	w.Line("}\n\n%s", q.Phases)
	return string(w.Format()), nil
}

// Knobbed reports whether the arms differ in more than knobs of the plan, so there is a Knob.
func (q *Question) Knobbed() bool {
	return slices.ContainsFunc(q.Arms, func(a Arm) bool { return a.Ref+a.Image+a.Pins != "" || a.Env != nil })
}

// source writes the source of an arm: the plan's own with another revision, or with another
// file of pins for its build.
func (q *Question) source(w *Writer, a Arm) error {
	of, err := SourceOf(q.Plan, q.Source)
	if a.Pins != "" {
		of, err = PinnedBy(q.Plan, q.Source)
	}
	if err != nil {
		return err
	}
	w.Line("source %s {", HCL(of.Name))
	if a.Ref != "" {
		of.Ref = a.Ref
	}
	w.Text("ref", of.Ref)
	if a.Pins != "" {
		env := map[string]string{PinsVariable: a.Pins}
		maps.Copy(env, of.Env)
		w.Table("env", env)
		w.List("inputs", append(of.Inputs, a.Pins))
	}
	w.Line("}")
	return nil
}

// Folder makes a folder for what belongs to no source tree around it.
func Folder(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*\n"), 0o644)
}

// Images are the images of A and B, of which the second may be a tag or digest of the first's
// repository.
func Images(given []string) ([]string, error) {
	if len(given) != 2 {
		return nil,
			fmt.Errorf("--image is given %s: give A and B, as in --image vllm/vllm-openai:v0.26.0 --image :nightly",
				verdict.Count(len(given), "time"))
	}
	a, b := strings.TrimSpace(given[0]), strings.TrimSpace(given[1])
	if strings.HasPrefix(b, ":") || strings.HasPrefix(b, "@") {
		b = kinds.Untagged(a) + b
	}
	for _, image := range []string{a, b} {
		if image == "" || image[0] == ':' || image[0] == '@' {
			return nil, fmt.Errorf("--image: %q is not the name of an image", image)
		}
	}
	if docker.SameImage(a, b) {
		return nil, fmt.Errorf("both images are %s: there is nothing to compare", a)
	}
	return []string{a, b}, nil
}

// SourceOf is the source of a name in the baseline's engine; the only one if the name is
// empty.
func SourceOf(p *plans.Plan, name string) (*variant.SourceConfig, error) {
	var found []*variant.SourceConfig
	var names []string
	for _, b := range p.Engine(p.Baseline.Engine).Parts["source"] {
		of := &variant.SourceConfig{Name: b.Name}
		if err := b.Decode(of); err != nil {
			return nil, err
		}
		if names = append(names, b.Name); name == "" || b.Name == name {
			found = append(found, of)
		}
	}
	switch {
	case len(names) == 0:
		return nil,
			fmt.Errorf("engine.%s is not built from a source: add a source block with repo, ref and build to it",
				p.Baseline.Engine)
	case len(found) == 0:
		return nil,
			fmt.Errorf("engine.%s has no source %q, only %s", p.Baseline.Engine, name, strings.Join(names, ", "))
	case len(found) > 1:
		return nil, fmt.Errorf("engine.%s has several sources: name one of %s with --repo", p.Baseline.Engine,
			strings.Join(names, ", "))
	}
	return found[0], nil
}

// PinnedBy is that source if its build installs package pins.
func PinnedBy(p *plans.Plan, name string) (*variant.SourceConfig, error) {
	of, err := SourceOf(p, name)
	if err == nil && !strings.Contains(fmt.Sprint(of.Build), PinsVariable) {
		err = fmt.Errorf("the build of source %q installs no pins: let it read the file $%s, as uv pip install -r "+
			"$%s does", of.Name, PinsVariable, PinsVariable)
	}
	return of, err
}

// Repo is the repository of that source.
func Repo(ctx context.Context, p *plans.Plan, name string) (*source.Repo, error) {
	of, err := SourceOf(p, name)
	if err != nil {
		return nil, err
	}
	return source.OpenRepo(ctx, p.Abs(of.Repo))
}
