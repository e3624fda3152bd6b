package levels

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/mxflow/mxflow/engine/limit"
	"github.com/mxflow/mxflow/engine/trace"
	"github.com/mxflow/mxflow/engine/trace/symbol"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/levels/profiling"
	"github.com/mxflow/mxflow/steps/variant"
)

const Profile = "profile"

// Analysis is where a launch keeps the analysis of its profiles.
const Analysis = Profile + "/" + analysisFile

const analysisFile = "analysis.json"

var profileKind = Kind{
	Schema: profiling.Schema,
	make: func(b *plans.Block) (level, error) {
		c, err := profiling.Of(b)
		return &profiled{Config: c}, err
	},
}

func AnalysisOf(st *store.Store, l *ledger.Launch) (*trace.Analysis, error) {
	text, err := st.Get(l.Left[Analysis])
	if err != nil {
		return nil, fmt.Errorf("the profile of launch %s: %w", l.ID, err)
	}
	a := &trace.Analysis{}
	if err := json.Unmarshal(text, a); err != nil {
		return nil, fmt.Errorf("the profile of launch %s: %w", l.ID, err)
	}
	if a.Format != trace.Format {
		return nil,
			fmt.Errorf("the profile of launch %s has format %q, but this mxflow reads %q", l.ID, a.Format, trace.Format)
	}
	return a, nil
}

// BasisOfLaunch is what a launch's profiles were compared with: without a model or a
// machine if these were unknown.
func BasisOfLaunch(st *store.Store, l *ledger.Launch) (on trace.Basis, err error) {
	var h artifact
	if err := st.ReadArtifact(l, Profile+"/"+artifactFile, &h); err != nil {
		return on, err
	}
	on = basisOf(h.Limit)
	for _, w := range h.Windows {
		on.Context = max(on.Context, w.Context) // the same in all decoding
	}
	return on, nil
}

type profiled struct{ *profiling.Config }

// profileFolders is the folder for the profiles of one launch, as seen by mxflow and by
// the engine.
type profileFolders struct{ folder, inside string }

func (p *profiled) run(ctx context.Context, q *qualification) (*artifact, error) {
	q.answered = true
	windows, err := p.Capture(ctx, q.Started, q.variant.Profiler.Profiler, q.profiles.folder, q.profiles.inside)
	if why := (*verdict.Fault)(nil); errors.As(err, &why) {
		return &artifact{Ended: verdict.Inconclusive, Why: []verdict.Reason{why.Reason.Map(q.Lab.Redact.Text)}}, nil
	}
	return &artifact{Windows: windows, Limit: q.Limit, folder: q.profiles.folder}, err
}

func (p *profiled) complete(q *qualification, a *artifact) error {
	files, err := profiling.FilesBelow(a.folder)
	for _, file := range files {
		var name string
		if err == nil {
			name, err = filepath.Rel(a.folder, file)
		}
		if err == nil {
			err = q.LeaveFile(q.level.Level()+"/"+filepath.ToSlash(name), file)
		}
	}
	a.Windows = mapFiles(a.Windows, a.folder, filepath.Rel)
	return err
}

// judge reads the profiles and looks for the kernels that knobs must show. A running launch
// keeps their analysis.
func (p *profiled) judge(ctx context.Context, e *evidence) (verdict.Verdict, []verdict.Reason, error) {
	if e.Ended != "" {
		return e.Ended, e.Why, nil
	}
	if e.folder == "" {
		var err error
		if e.folder, err = os.MkdirTemp("", "mxflow-profiles-"); err != nil {
			return "", nil, err
		}
		defer os.RemoveAll(e.folder)
		if _, err := restore(e.store, e.launch, e.block.Level()+"/", e.folder, analysisFile, artifactFile); err != nil {
			return "", nil, err
		}
	}
	files, err := profiling.FilesBelow(e.folder)
	if err != nil {
		return "", nil, err
	}
	windows := mapFiles(e.Windows, e.folder, func(folder, file string) (string, error) {
		return filepath.Join(folder, file), nil
	})
	taken, err := p.Analyse(ctx, windows, files)
	if why := (*verdict.Fault)(nil); errors.As(err, &why) {
		return verdict.Inconclusive, []verdict.Reason{why.Reason.Map(e.redact.Text)}, nil
	} else if err != nil {
		return "", nil, err
	}
	if e.derived[analysisFile], err = json.Marshal(profiling.JoinAnalyses(taken)); err != nil {
		return "", nil, err
	}
	said := p.Results(taken, basisOf(e.Limit), e)
	v, proofs := judgeTrace(variant.EvidenceFor(e.plan, e.launch.Knobs), taken)
	if v == verdict.Pass {
		return v, append(said, proofs...), nil
	}
	return v, append(proofs, said...), nil
}

// mapFiles returns windows with their file paths mapped, relative to a folder.
func mapFiles(windows []profiling.Window, folder string,
	path func(folder, file string) (string, error),
) []profiling.Window {
	windows = slices.Clone(windows)
	for i := range windows {
		windows[i].Files = slices.Clone(windows[i].Files)
		for j, file := range windows[i].Files {
			if other, err := path(folder, file); err == nil {
				windows[i].Files[j] = other
			}
		}
	}
	return windows
}

// basisOf is what a launch's steps are compared with; empty if unknown.
func basisOf(known *limit.Basis) (on trace.Basis) {
	if known == nil {
		return on
	}
	machine, err := limit.Of(slices.Sorted(maps.Values(known.GPUs)))
	if err != nil {
		return on
	}
	return trace.Basis{Model: known.Model, Machine: machine}
}

// judgeTrace is the verdict on kernels that must and must not be in profiles. Names that
// a profile hides could be any.
func judgeTrace(wanted []variant.Evidence, taken []profiling.WindowProfile) (verdict.Verdict, []verdict.Reason) {
	v := verdict.Pass
	var against, proofs []verdict.Reason
	graphs := profiling.HiddenGraphs(taken)
	lacking := func(e variant.Evidence, fact verdict.Reason) {
		own := verdict.Fail
		if graphs > 0 {
			own, fact = verdict.Inconclusive, fact.From(verdict.New(code.ProfileHidden, verdict.Int("graphs", graphs)))
		}
		v = verdict.Join(v, own)
		against = append(against, fact)
	}
	for _, e := range wanted {
		find := func(pattern string) (n int, args []verdict.Arg) {
			n, us, longest := profiling.Launches(taken, func(name string) bool { return symbol.Match(pattern, name) })
			return n, []verdict.Arg{
				verdict.Int("launches", n), verdict.Text("kernel", longest.Short),
				verdict.Num("gpu", us, "µs"),
			}
		}
		for _, pattern := range e.MustTrace {
			if n, args := find(pattern); n > 0 {
				proofs = append(proofs, factOf(e, code.Of("trace.seen",
					"{subject} = {value:q}: {glob:q} in the profile ({launches|launch|launches}, {gpu}: {kernel})"),
					append(args, verdict.Text("glob", pattern))...))
			} else {
				lacking(e, factOf(e, code.Of("trace.not_seen",
					"{subject} = {value:q}: {glob:q} must be in the profile but is not"),
					verdict.Text("glob", pattern)))
			}
		}
		for _, pattern := range e.MustNotTrace {
			if n, args := find(pattern); n > 0 {
				v = verdict.Fail
				against = append(against, factOf(e, code.Of("trace.wrongly_seen",
					"{subject} = {value:q}: {glob:q} must not be in the profile but is "+
						"({launches|launch|launches}, {gpu}: {kernel})"),
					append(args, verdict.Text("glob", pattern))...))
			}
		}
		if len(e.MustNotTrace) > 0 && graphs > 0 {
			lacking(e, factOf(e, code.Of("trace.bare", "{subject} = {value:q}: unknown whether any of {globs} ran"),
				verdict.List("globs", e.MustNotTrace)))
		}
	}
	if v == verdict.Pass {
		return v, proofs
	}
	return v, against
}
