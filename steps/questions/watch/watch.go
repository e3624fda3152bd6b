// Package watch asks each night whether what a name refers to, a branch, an image's tag or a file of
// package pins, is worse than the newest version that was not. It resolves names, and writes each session
// as a question for load.Options.Question. It starts nothing; runtime/nights decides.
package watch

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mxflow/mxflow/engine/docker"
	"github.com/mxflow/mxflow/engine/measure"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/plans/lang"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/nights"
	"github.com/mxflow/mxflow/steps/questions/ab"
	"github.com/mxflow/mxflow/steps/questions/arms"
)

// Folders is where the records of watches are, beside the plan.
const Folders = ".mxflow-watch"

// Job is what is watched: exactly one of Ref, Image and Pins.
type Job struct {
	Plan             *plans.Plan
	Ref, Image, Pins string
	// Source is the name of the source that Ref and Pins change; empty for the only one.
	Source string
	// Folder is where the record is, with the pins that were watched.
	Folder string
}

// notInNames is what the name of a folder does not take over.
var notInNames = regexp.MustCompile(`[^-_.0-9a-zA-Z]+`)

// New is the watch of a plan's engine, checked as far as that reads no repository.
func New(p *plans.Plan, ref, image, pins, sourceName string) (*Job, error) {
	j := &Job{Plan: p, Ref: ref, Image: image, Pins: pins, Source: sourceName}
	given := slices.DeleteFunc([]string{ref, image, pins}, func(s string) bool { return s == "" })
	if len(given) == 0 {
		return nil, errors.New("say what to watch: --ref main, --image REPO:nightly or --pins FILE")
	} else if len(given) > 1 {
		return nil, errors.New("--ref, --image and --pins exclude one another: give each a watch of its own")
	}
	if err := arms.HasBaseline(p); err != nil {
		return nil, err
	}
	if len(j.rules()) == 0 {
		return nil, fmt.Errorf("%s: protocol %q measures nothing, so no version is worse than another: give its level "+
			"\"benchmark\" a workload, or the watch block a criterion", p.File, p.Baseline.Protocol)
	}
	var err error
	switch {
	case image != "" && sourceName != "":
		err = errors.New("--repo names the source of --ref and --pins: remove it")
	case image != "" && (image[0] == ':' || strings.ContainsAny(image, "@ ")):
		err = fmt.Errorf("--image: %q is not the name of an image with a tag, such as vllm/vllm-openai:nightly", image)
	case pins != "":
		_, err = arms.PinnedBy(p, sourceName)
	case ref != "":
		_, err = arms.SourceOf(p, sourceName)
	}
	plan := strings.TrimSuffix(filepath.Base(p.File), filepath.Ext(p.File))
	if lang.IsFolder(p.File) {
		plan = p.Name
	}
	j.Folder = filepath.Join(p.Dir, Folders,
		notInNames.ReplaceAllString(plan+"-"+cmp.Or(ref, image, filepath.Base(pins)), "_"))
	return j, err
}

// Name is what is watched.
func (j *Job) Name() string { return cmp.Or(j.Ref, j.Image, j.Pins) }

// Watch is the plan's watch block, or what holds without one.
func (j *Job) Watch() plans.Watch {
	if j.Plan.Watch != nil {
		return *j.Plan.Watch
	}
	return plans.UsualWatch()
}

// Now is the version that the name refers to today.
func (j *Job) Now(ctx context.Context) (ledger.Version, error) { return j.version(ctx, j.Name()) }

// Release is the version of the anchor that the plan names; none if it names none.
func (j *Job) Release(ctx context.Context) (v ledger.Version, err error) {
	name := j.Watch().Anchor
	if name == "" {
		return v, nil
	}
	if j.Pins != "" {
		name = j.Plan.Abs(name)
	}
	if v, err = j.version(ctx, name); err != nil {
		err = fmt.Errorf("watch.anchor: %w", err)
	}
	v.Title = j.Watch().Anchor
	return v, err
}

func (j *Job) version(ctx context.Context, name string) (v ledger.Version, err error) {
	switch {
	case j.Ref != "":
		r, err := arms.Repo(ctx, j.Plan, j.Source)
		if err == nil {
			v.ID, err = r.Commit(ctx, name)
		}
		if err == nil {
			v.Title, err = r.Run(ctx, "log", "-1", "--format=%s", v.ID)
		}
		return v, err
	case j.Image != "":
		pull := "always"
		if e := j.Plan.Engine(j.Plan.Baseline.Engine); e.Launch != nil && e.Launch.Attrs["pull"] == "never" {
			pull = "never"
		}
		v.ID, err = (&docker.Images{}).Now(ctx, name, pull)
		return v, err
	}
	text, err := os.ReadFile(name)
	if err == nil && strings.TrimSpace(string(text)) == "" {
		err = fmt.Errorf("%s is empty", name)
	}
	if err != nil {
		return v, fmt.Errorf("%w: name a file of package pins, a package==version in each line", err)
	}
	sum := sha256.Sum256(text)
	v.ID = "sha256:" + hex.EncodeToString(sum[:])
	kept := j.PinsOf(v)
	if err = os.MkdirAll(filepath.Dir(kept), 0o755); err == nil {
		err = os.WriteFile(kept, text, 0o644)
	}
	return v, err
}

// PinsOf is where the pins of a version are kept.
func (j *Job) PinsOf(v ledger.Version) string {
	return filepath.Join(j.Folder, "pins", strings.TrimPrefix(v.ID, "sha256:")+".txt")
}

// Pin is what a file that pins a version holds.
func (j *Job) Pin(v ledger.Version) ([]byte, error) {
	if j.Pins != "" {
		return os.ReadFile(j.PinsOf(v))
	}
	return []byte(v.ID + "\n"), nil
}

// Variant is the name of a version in questions and on record.
func Variant(v ledger.Version) string { return "v_" + v.Short() }

func (j *Job) arm(v ledger.Version, marks map[string]string) (arm arms.Arm, err error) {
	arm = arms.Arm{Name: Variant(v), Env: marks}
	switch {
	case j.Ref != "":
		arm.Ref = v.ID
	case j.Image != "":
		arm.Image = v.ID
	default:
		arm.Pins, err = filepath.Abs(j.PinsOf(v))
	}
	return arm, err
}

// Start asks only whether a version passes what comes before measuring.
func (j *Job) Start(v ledger.Version) (string, error) {
	arm, err := j.arm(v, nil)
	if err != nil {
		return "", err
	}
	return (&arms.Question{Plan: j.Plan, Arms: []arms.Arm{arm}, Source: j.Source}).HCL()
}

// fresh is a variable that no engine reads: launches with another value of it are other ones.
const fresh = "MXFLOW_NIGHT"

// Question asks whether the candidate breaks a rule against a version. The second session of a night is at a
// stricter rate of false alarms, in launches of its own: night is its number.
func (j *Job) Question(a nights.Ask, against, candidate ledger.Version, night int) (string, error) {
	var marks map[string]string
	if a.Again {
		marks = map[string]string{fresh: fmt.Sprintf("%d, %s again", night, a.Against)}
	}
	base, err := j.arm(against, marks)
	if err != nil {
		return "", err
	}
	own, err := j.arm(candidate, marks)
	if err != nil {
		return "", err
	}
	w := &arms.Writer{}
	if d := j.Plan.Decision; a.Again {
		w.Line("decision {\nfalse_pass = %v\nfalse_fail = %v\nlaunches = { min = %d, max = %d }\n}\n", d.FalsePass,
			min(d.FalseFail, nights.AgainFail), d.Min, d.Max)
	}
	w.Line("phase \"watch\" {\nfeature %s {\nset = { %s = %s }\naccept = []", arms.HCL(own.Name), arms.Knob,
		arms.HCL(own.Name))
	for _, r := range j.rules() {
		w.Line("\ncriterion %s {\nrule = %s\n}", arms.HCL(r.Name), arms.HCL(r.Expr))
	}
	w.Line("}\n}")
	q := &arms.Question{Plan: j.Plan, Arms: []arms.Arm{base, own}, Source: j.Source, Phases: string(w.Format())}
	return q.HCL()
}

// rules are the plan's, or not much less of each metric of speed.
func (j *Job) rules() (list []*plans.Rule) {
	if list = j.Watch().Criteria; len(list) > 0 {
		return list
	}
	level := j.Plan.Protocol(j.Plan.Baseline.Protocol).Level(plans.BenchmarkLevel)
	if level == nil {
		return nil
	}
	add := func(address string, better measure.Better) {
		rule := fmt.Sprintf("%s.gain >= -%g%%", address, 100*ab.NotWorse)
		if better == measure.Lower {
			rule = fmt.Sprintf("%s.change <= %g%%", address, 100*ab.NotWorse)
		}
		if better != measure.Neither {
			list = append(list, &plans.Rule{Name: address, Expr: rule})
		}
	}
	for _, m := range j.Plan.UnderTest().CommandMetrics() {
		add(m.Address(), m.Better)
	}
	for _, sent := range j.Plan.SentWorkloads(level) {
		w := j.Plan.Workload(sent)
		for _, c := range w.Cells() {
			if w.Capacity != nil {
				add(c.Address+".capacity", measure.Higher)
				continue
			}
			add(c.Address+".tg", measure.Higher)
			add(c.Address+".pp", measure.Higher)
			add(c.Address+".ttft", measure.Lower)
		}
	}
	return list
}

// Broken is a rule for a search by what a decision did not pass: the first rule or level that failed;
// empty if it was neither.
func Broken(d *ledger.Decision) string {
	for _, l := range d.Levels {
		if l.Verdict == "fail" && l.Name != plans.BenchmarkLevel {
			return fmt.Sprintf("levels.%s == 'pass'", l.Name)
		}
	}
	for _, r := range d.Rules {
		if r.Verdict == "fail" {
			return r.Expr
		}
	}
	return ""
}
