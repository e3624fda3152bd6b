// Package reproduce asks whether the decisions of a record come out again: it says what differs here from
// what they were made of, and compares them with those of an apply of the same plan in fresh launches.
// It starts nothing.
package reproduce

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/engine/source"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/internal/sorted"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/decide"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/replay"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps"
	"github.com/mxflow/mxflow/steps/launch"
)

// Job is a record whose decisions are to be made again.
type Job struct {
	first *store.Store
	// Run is the newest run of its plan, and Plan what that applied.
	Run  *ledger.RunView
	Plan *plans.Plan
	// Decisions are those that passed or failed, in the plan's order.
	Decisions []*ledger.Decision
	Of        ledger.Reproduces
	Lock      []byte
	kept      *replay.Replay
}

// New is a job on a verified record, which stays the caller's.
func New(first *store.Store, checked ledger.Report, signer string) (*Job, error) {
	run, err := first.Run("latest")
	if err != nil || run.Start == nil {
		return nil, fmt.Errorf("%s: no plan was applied in it, so there is nothing to reproduce", first.LedgerName())
	}
	j := &Job{
		first: first, Run: run, Decisions: decided(first), kept: replay.New(first, steps.Registry(), nil),
		Of: ledger.Reproduces{Root: checked.Root.String(), Records: checked.Records, SignedBy: signer, Run: run.ID},
	}
	if len(j.Decisions) == 0 {
		return nil, fmt.Errorf("%s: none of its decisions passed or failed, so there is nothing to reproduce",
			first.LedgerName())
	}
	plan, why := j.kept.Plan(run.ID)
	if !why.IsZero() {
		return nil, fmt.Errorf("%s: %s", first.LedgerName(), why.String())
	}
	j.Plan = plan
	var lock bytes.Buffer
	if err := first.Export(&lock, signer, true); err != nil {
		return nil, err
	}
	j.Lock = lock.Bytes()
	return j, nil
}

// Nodes are what is decided again.
func (j *Job) Nodes() (ids []string) {
	for _, d := range j.Decisions {
		ids = append(ids, d.Node)
	}
	return ids
}

// Unpack writes the plan below a folder, and returns what to load. A plan that is there already is
// replaced by the same.
func (j *Job) Unpack(dir string) (string, error) { return j.kept.Unpack(j.Run.ID, dir) }

// Inputs are those of the plan's run.
func (j *Job) Inputs() *plans.Inputs { return j.kept.RecordedInputs(j.Run.ID) }

// SameQuestion returns an error if a plan asks something else of the nodes than the record answers.
func (j *Job) SameQuestion(p *plans.Plan) error {
	goals := decide.Goals(p)
	for node, was := range sorted.All(j.Run.Start.Goals) {
		if is, has := goals[node]; !has || runtime.Digest(is) != runtime.Digest(was) {
			return fmt.Errorf("%s: the rules of %s are not those of the record, so it asks something else: apply it "+
				"instead, or restore them", p.File, node)
		}
	}
	return nil
}

// Ahead is what differs here as far as it is known before a launch, and what cannot be had here, each
// with what to do.
func (j *Job) Ahead(ctx context.Context, lab *steps.Lab, p *plans.Plan, tool string) (
	differs []decide.Condition, missing []string,
) {
	was, is := madeOf(j.first, j.Decisions), decide.Made{
		Tool: tool, Arms: map[string]*ledger.Launch{}, Files: map[string]map[string]string{}, Ahead: true,
	}
	was.Tool = j.Run.Start.Tool
	lack := func(format string, args ...any) {
		if text := fmt.Sprintf(format, args...); !slices.Contains(missing, text) {
			missing = append(missing, text)
		}
	}
	const where = "name the plan where it is (mxflow reproduce FILE PLAN), or set its variable (--var)"
	for name, then := range sorted.All(was.Arms) {
		v, err := lab.Variants.Resolve(nil, then.Variant, then.Block, then.Knobs)
		if err != nil {
			lack("%s: %v", then.Variant, err)
			continue
		}
		for _, s := range v.Spec.Sources {
			if s.Problem != "" {
				lack("engine source %s: %s; %s", s.Name, s.Problem, where)
			}
		}
		if at := v.Spec.ModelPath; at != "" {
			if _, err := os.Stat(p.Path(at)); err != nil {
				lack("model %s: it does not exist here; %s", at, where)
			}
		}
		if v.Spec.How() == engine.HowProcess && !engine.Marked(v.Spec.Dir) {
			j.programs(v.Spec, then, lab.Variants.Program(ctx, v.Spec), func(path string) {
				lack("engine program %s: it does not exist here; %s", path, where)
			})
		}
		now := lab.Launches.Foresee(ctx, v)
		if gpu := then.Fingerprint["gpu"]; gpu != "" && now.Fingerprint["gpu"] == "" {
			lack("GPU: %s there, none here", gpu)
		}
		is.Arms[name], is.Files[name] = now, filesOf(v.Spec.Identity)
	}
	return decide.Conditions(was, is, j.Of.Settings, j.Of.Accept), missing
}

// programs tells of the program of a command and of the files named in it that the first launch ran and
// that are not here.
func (j *Job) programs(spec engine.Spec, then *ledger.Launch, program string, lack func(path string)) {
	if program == "missing" {
		lack(spec.Command[0])
	}
	ran := launch.UsedBy(j.first, then).Named.Files
	for _, word := range spec.Command[min(1, len(spec.Command)):] {
		_, err := os.Stat(filepath.Join(spec.Dir, word))
		if err != nil && !filepath.IsAbs(word) && slices.ContainsFunc(ran, func(f source.File) bool {
			return strings.HasSuffix(f.Path, "/"+filepath.Clean(word))
		}) {
			lack(word)
		}
	}
}

// Of is what came of reproducing another record in this one, by its newest run; nil if it reproduces none.
func Of(st *store.Store) (*decide.Reproduction, error) {
	run, err := st.Run("latest")
	if err != nil || run.Start == nil || run.Start.Reproduces == nil {
		return nil, nil
	}
	of := run.Start.Reproduces
	first, err := st.Reproduced(of)
	if err != nil {
		return nil, fmt.Errorf("the lock of the record that it reproduces: %w", err)
	}
	defer first.Close()
	then, err := first.Run(of.Run)
	if err != nil || then.Start == nil {
		return nil, errors.Join(fmt.Errorf("the record that it reproduces has no run %s", of.Run), err)
	}
	here, locked, all := map[string]*ledger.Decision{}, map[string]verdict.Reason{}, []*ledger.Decision{}
	for _, r := range report.RowsOf(st, time.Now()) {
		if locked[r.Node] = r.Locked; r.InForce() {
			here[r.Node], all = r.Decided.Decision, append(all, r.Decided.Decision)
		}
	}
	decisions := decided(first)
	was, is := madeOf(first, decisions), madeOf(st, all)
	was.Tool, is.Tool = then.Start.Tool, run.Start.Tool
	made := decide.Reproduce(decisions, here, locked, decide.Conditions(was, is, of.Settings, of.Accept))
	made.Of = *of
	return &made, nil
}

// decided are the features and gates of a record that stand, and passed or failed.
func decided(st *store.Store) (all []*ledger.Decision) {
	for _, r := range report.RowsOf(st, time.Now()) {
		if r.InForce() && r.Feature+r.Gate != "" &&
			(r.Decided.Verdict == verdict.Pass || r.Decided.Verdict == verdict.Fail) {
			all = append(all, r.Decided.Decision)
		}
	}
	return all
}

// madeOf are a launch of each arm of decisions and what it ran; of those that were never measured, the
// launch that qualified them.
func madeOf(st *store.Store, decisions []*ledger.Decision) decide.Made {
	m := decide.Made{Arms: map[string]*ledger.Launch{}, Files: map[string]map[string]string{}}
	add := func(variant string, l *ledger.Launch) {
		name := variant + " on " + l.Block
		if m.Arms[name] == nil {
			m.Arms[name], m.Files[name] = l, filesOf(launch.UsedBy(st, l).Named)
		}
	}
	for _, a := range report.ArmsOf(st, decisions...) {
		add(a.Variant, a.Launches[0])
	}
	for _, d := range decisions {
		for _, id := range d.Launches {
			if l, ok := st.LaunchByID(id); ok && l.OK {
				add(l.Variant, l)
			}
		}
	}
	return m
}

// filesOf are what an identity names, by name wherever it is: the digest of a file, the version of a
// package, the digest of another folder.
func filesOf(id source.Identity) map[string]string {
	out := map[string]string{}
	add := func(name, is string) {
		if out[name] != "" && out[name] != is {
			is = out[name] + ", " + is
		}
		out[name] = is
	}
	for _, f := range id.Files {
		if filepath.Base(f.Path) != "mxflow" { // whose version counts
			add(filepath.Base(f.Path), short(f.Digest))
		}
	}
	for _, f := range id.Folders {
		name := filepath.Base(f.Dir) + "/"
		if f.Package != "" {
			name = f.Package
		}
		add(name, strings.TrimSpace(f.Version+" "+short(f.List)))
	}
	return out
}

func short(digest string) string { return digest[:min(12, len(digest))] }
