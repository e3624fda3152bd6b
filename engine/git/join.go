package git

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// Merge merges a commit into the branch that is checked out. Where files
// conflict, the working tree is put back as it was and the error, of kind
// Conflict, names them.
func (r *Repo) Merge(ctx context.Context, commit, message string, fastForward bool) error {
	args := []string{"merge", "--no-stat", "--no-autostash"}
	if !fastForward {
		args = append(args, "--no-ff")
	}
	if message != "" {
		args = append(args, "-m", message)
	}
	_, err := r.run(ctx, append(args, commit)...)
	if err != nil && strings.Contains(err.Error(), "unrelated histories") {
		err = &Error{Kind: Conflict, Reason: fmt.Sprintf("%s and what is checked out in %s have no common history", Short(commit), r.Top)}
		if r.Shallow(ctx) {
			err = &Error{Kind: Shallow, Reason: r.Top + " is a shallow clone and lacks the history that the merge needs: get it with: git fetch --unshallow"}
		}
	}
	return r.orAbort(ctx, err, "merge")
}

// CherryPick applies commits on top of the branch that is checked out, all of
// them or, where one conflicts, none. Those whose change is there already are
// left out.
func (r *Repo) CherryPick(ctx context.Context, commits []string) error {
	if len(commits) == 0 {
		return nil
	}
	_, err := r.run(ctx, append([]string{"cherry-pick", "-x", "--allow-empty"}, commits...)...)
	for err != nil && ctx.Err() == nil && r.InProgress() != "" {
		// A change that is there already in other commits leaves nothing to commit.
		if empty, lookErr := r.nothingLeft(ctx); lookErr != nil || !empty {
			break
		}
		_, err = r.run(ctx, "cherry-pick", "--skip")
	}
	return r.orAbort(ctx, err, "cherry-pick")
}

func (r *Repo) nothingLeft(ctx context.Context) (bool, error) {
	s, err := r.Status(ctx)
	return err == nil && len(s.Changed) == 0, err
}

// Missing lists those of the commits in a range or of single commits whose
// change tip does not have: neither the commit nor another one with the same
// patch. Oldest first within each.
func (r *Repo) Missing(ctx context.Context, tip string, specs []string) ([]string, error) {
	var missing []string
	for _, spec := range specs {
		var commits []string
		from, to, isRange := strings.Cut(spec, "..")
		if isRange {
			a, err := r.Commit(ctx, from)
			if err != nil {
				return nil, err
			}
			b, err := r.Commit(ctx, strings.TrimPrefix(to, "."))
			if err != nil {
				return nil, err
			}
			if commits, err = lines(r.run(ctx, "rev-list", "--reverse", "--no-merges", a+".."+b)); err != nil {
				return nil, err
			}
			if len(commits) == 0 {
				return nil, &Error{Kind: UnknownRef, Reason: fmt.Sprintf("there are no commits in %s: a range goes from an older commit, which is left out, to a newer one", spec)}
			}
		} else {
			c, err := r.Commit(ctx, spec)
			if err != nil {
				return nil, err
			}
			commits = []string{c}
		}
		for _, c := range commits {
			there, err := r.hasChange(ctx, tip, c)
			if err != nil {
				return nil, err
			}
			if !there && !slices.Contains(missing, c) {
				missing = append(missing, c)
			}
		}
	}
	return missing, nil
}

// hasChange reports whether tip's history has the commit, or one with its patch.
func (r *Repo) hasChange(ctx context.Context, tip, commit string) (bool, error) {
	if r.Contains(ctx, tip, commit) {
		return true, nil
	}
	parents, err := r.run(ctx, "rev-list", "--parents", "-n", "1", commit)
	if err != nil {
		return false, err
	}
	switch len(strings.Fields(parents)) {
	case 1:
		return false, nil // a first commit has no patch to compare
	case 2:
	default:
		return false, &Error{Kind: Other, Reason: fmt.Sprintf("%s is a merge commit, which cannot be picked: merge it (step git_merge), or name the commits in it", Short(commit))}
	}
	// Only the commit itself is asked about, against all that tip has and the
	// commit's parent has not.
	left, err := r.run(ctx, "rev-list", "--cherry-pick", "--right-only", "--no-merges", tip+"..."+commit, "^"+commit+"^")
	return err == nil && !strings.Contains(left, commit), err
}

// orAbort ends an operation that conflicts, so that the working tree is as it
// was, and says which files it was about.
func (r *Repo) orAbort(ctx context.Context, err error, operation string) error {
	if err == nil || r.InProgress() == "" {
		return err
	}
	// Also when the person has given up: half a merge is left to nobody.
	ctx = context.WithoutCancel(ctx)
	files, _ := r.Unmerged(ctx)
	_, abortErr := r.run(ctx, operation, "--abort")
	if len(files) == 0 || errors.Is(err, context.Canceled) {
		return errors.Join(err, abortErr)
	}
	failed := &Error{Kind: Conflict, Files: files, Reason: fmt.Sprintf("%s conflicts, and %s is as it was before; in conflict", operation, r.Top)}
	if abortErr != nil {
		failed.Reason = fmt.Sprintf("%s conflicts, and could not be aborted (%v): see to %s by hand; in conflict", operation, abortErr, r.Top)
	}
	return failed
}
