package steps

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/mxflow/mxflow/engine"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans/redact"
	"github.com/mxflow/mxflow/runtime"
	"github.com/mxflow/mxflow/runtime/ledger"
	"github.com/mxflow/mxflow/runtime/store"
	"github.com/mxflow/mxflow/steps/variant"
)

// recordTrees hashes the trees of a launch and keeps what is not committed. A
// declared tree that cannot be hashed is a failed launch; one that mxflow only
// noticed is a note.
func (l *launchLab) recordTrees(ctx context.Context, v *variant.Variant, record *ledger.Launch) error {
	for _, t := range v.Spec.Trees {
		state, err := l.recordTree(ctx, t)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && t.Noticed:
			record.Notes = append(record.Notes, verdict.New(code.TreeUnrecorded, verdict.Err(err)).On(t.Path))
			continue
		case err != nil:
			return failed("tree "+t.Name, "be hashed", "%v", err)
		}
		if t.Freeze {
			if was := l.lastTree(t.Name, state.Path); was != nil && was.Hash != state.Hash {
				return &verdict.Fault{Reason: verdict.New(code.TreeFrozen, l.difference(ctx, *was, state).args()...).On(t.Name)}
			}
		}
		setTree(record, t.Name, state)
	}
	return nil
}

func (l *launchLab) recordTree(ctx context.Context, t engine.Tree) (out ledger.Tree, err error) {
	file, err := os.CreateTemp("", "mxflow-diff-*")
	if err != nil {
		return out, err
	}
	defer os.Remove(file.Name())
	state, err := variant.Snapshot(ctx, t, file)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return out, err
	}
	out = ledger.Tree{Path: t.Path, Commit: state.Commit, Hash: state.Hash}
	if state.Clean || l.Store == nil {
		return out, nil
	}
	if err := redact.File(file.Name(), l.Redact); err != nil {
		return out, fmt.Errorf("sensitive values cannot be taken out of its diff: %w", err)
	}
	out.Diff, err = l.Store.PutFile(file.Name())
	return out, err
}

// lastTree is how a tree was at the latest launch on record that went well; nil
// where it was at none.
func (l *launchLab) lastTree(name, path string) *ledger.Tree {
	if l.Store == nil {
		return nil
	}
	for _, launch := range slices.Backward(l.Store.Launches(store.LaunchFilter{OK: true})) {
		if t, ok := launch.Trees[name]; ok && t.Path == path && t.Hash != "" {
			return &t
		}
	}
	return nil
}

// treesChanged says for `mxflow plan` which tree is why a node is measured
// again; no fact where none is.
func (l *launchLab) treesChanged(s *runtime.Scope, vs ...*variant.Variant) verdict.Reason {
	for _, v := range vs {
		for _, t := range v.Spec.Trees {
			was := l.lastTree(t.Name, t.Path)
			if was == nil || was.Hash == t.Hash {
				continue
			}
			if t.Problem != "" {
				return verdict.New(code.TreeUnhashed, verdict.Text("error", t.Problem)).On(t.Name)
			}
			changed, _ := runtime.Ask(s, "diff "+t.Path+was.Hash+t.Hash, func(ctx context.Context) (changes, error) {
				return l.differenceNow(ctx, *was, t)
			})
			return verdict.New(code.TreeChanged, changed.args()...).On(t.Name)
		}
	}
	return verdict.Reason{}
}
