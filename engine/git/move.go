package git

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

// fetched is where commits of the remote that are on none of its branches are kept, so
// git does not prune them.
const fetched = "refs/mxflow/remotes"

// request matches forges' names for the commits of a pull or merge request.
var request = regexp.MustCompile(`^(?:refs/)?((?:pull|merge-requests)/[0-9]+/(?:head|merge))$`)

// IsRequest reports whether a name is that of a pull or merge request.
func IsRequest(name string) bool { return request.MatchString(name) }

// FetchRequest fetches the commits of a pull or merge request ("pull/31740/head")
// and returns the last one.
func (r *Repo) FetchRequest(ctx context.Context, remote, name string) (string, error) {
	m := request.FindStringSubmatch(name)
	if m == nil {
		return "", &Error{Kind: UnknownRef, Reason: fmt.Sprintf("%q is not a pull request: write it as pull/31740/head", name)}
	}
	if err := r.checkRemote(ctx, remote); err != nil {
		return "", err
	}
	local := fetched + "/" + remote + "/" + m[1]
	if _, err := r.run(ctx, "fetch", "--no-tags", "--no-write-fetch-head", "--end-of-options", remote, "+refs/"+m[1]+":"+local); err != nil {
		return "", err
	}
	return r.Commit(ctx, local)
}

// Fetched is the commit of a request fetched earlier by FetchRequest; empty if it was
// not.
func (r *Repo) Fetched(ctx context.Context, remote, name string) string {
	if m := request.FindStringSubmatch(name); m != nil {
		return r.Tip(ctx, fetched+"/"+remote+"/"+m[1])
	}
	return ""
}

// Remotes are the names of the repository's remotes.
func (r *Repo) Remotes(ctx context.Context) ([]string, error) { return r.lines(ctx, "remote") }

func (r *Repo) checkRemote(ctx context.Context, remote string) error {
	names, err := r.Remotes(ctx)
	if err != nil {
		return err
	}
	if slices.Contains(names, remote) {
		return nil
	}
	have := "it has none"
	if len(names) > 0 {
		have = "it has " + strings.Join(names, ", ")
	}
	return &Error{Kind: Remote, Reason: fmt.Sprintf("%s has no remote %q (%s): add it with git remote add, or correct the name", r.Top, remote, have)}
}

// RefMove is a remote branch or tag that a fetch added or moved.
type RefMove struct{ Ref, Before, After string }

// Fetch updates the remote branches of a remote, or only the named ones. Local branches
// are left alone.
func (r *Repo) Fetch(ctx context.Context, remote string, branches []string, tags bool) ([]RefMove, error) {
	if err := r.checkRemote(ctx, remote); err != nil {
		return nil, err
	}
	before, err := r.remoteRefs(ctx, remote)
	if err != nil {
		return nil, err
	}
	args := []string{"fetch", "--no-write-fetch-head", "--no-tags"}
	if tags {
		args[2] = "--tags"
	}
	args = append(args, "--end-of-options", remote)
	for _, b := range branches {
		args = append(args, "+refs/heads/"+b+":refs/remotes/"+remote+"/"+b)
	}
	if _, err := r.run(ctx, args...); err != nil {
		return nil, err
	}
	after, err := r.remoteRefs(ctx, remote)
	if err != nil {
		return nil, err
	}
	var moved []RefMove
	for _, ref := range slices.Sorted(maps.Keys(after)) {
		if before[ref] != after[ref] {
			moved = append(moved, RefMove{ref, before[ref], after[ref]})
		}
	}
	return moved, nil
}

func (r *Repo) remoteRefs(ctx context.Context, remote string) (map[string]string, error) {
	list, err := r.lines(ctx, "for-each-ref", "--format=%(objectname) %(refname)", "refs/remotes/"+remote, "refs/tags")
	refs := map[string]string{}
	for _, line := range list {
		sha, ref, _ := strings.Cut(line, " ")
		refs[ref] = sha
	}
	return refs, err
}

// Checkout switches the working tree to a branch, or to a commit with a detached HEAD if
// branch is empty. git refuses if that would overwrite something uncommitted.
func (r *Repo) Checkout(ctx context.Context, branch, commit string) error {
	args := []string{"checkout", "--no-guess", "--detach", commit, "--"}
	if branch != "" {
		args = []string{"checkout", "--no-guess", branch, "--"}
	}
	_, err := r.run(ctx, args...)
	return err
}

// CreateTag creates a tag, with a message if given. force moves an existing one.
func (r *Repo) CreateTag(ctx context.Context, name, commit, message string, force bool) error {
	args := []string{"tag"}
	if force {
		args = append(args, "--force")
	}
	if message != "" {
		args = append(args, "--annotate", "--message="+message)
	}
	_, err := r.run(ctx, append(args, "--end-of-options", name, commit)...)
	return err
}

// Merge merges a commit into the current branch. On conflicts the working tree is
// restored and the error, of kind Conflict, names the files.
func (r *Repo) Merge(ctx context.Context, commit, message string, fastForward bool) error {
	args := []string{"merge", "--no-stat", "--no-autostash"}
	if !fastForward {
		args = append(args, "--no-ff")
	}
	if message != "" {
		args = append(args, "-m", message)
	}
	_, err := r.run(ctx, append(args, commit)...)
	if Is(err, Unrelated) {
		err = &Error{Kind: Conflict, Reason: fmt.Sprintf("%s and the commit checked out in %s have no common history", Short(commit), r.Top)}
		if r.Shallow(ctx) {
			err = &Error{Kind: Shallow, Reason: r.Top + " is a shallow clone and lacks the history that the merge needs: run git fetch --unshallow"}
		}
	}
	return r.orAbort(ctx, err, "merge")
}

// CherryPick applies commits on top of the current branch: all of them or, if one
// conflicts, none. Those whose change is already there are left out.
func (r *Repo) CherryPick(ctx context.Context, commits []string) error {
	if len(commits) == 0 {
		return nil
	}
	_, err := r.run(ctx, append([]string{"cherry-pick", "-x", "--allow-empty"}, commits...)...)
	for err != nil && ctx.Err() == nil && r.InProgress() != "" {
		// A change already present in other commits leaves nothing to commit.
		if s, lookErr := r.Status(ctx); lookErr != nil || len(s.Changed) > 0 {
			break
		}
		_, err = r.run(ctx, "cherry-pick", "--skip")
	}
	return r.orAbort(ctx, err, "cherry-pick")
}

// Missing lists those of the commits in a range or of single commits whose change tip
// lacks: neither the commit nor another one with the same patch. Oldest first within
// each.
func (r *Repo) Missing(ctx context.Context, tip string, specs []string) ([]string, error) {
	var missing []string
	for _, spec := range specs {
		commits, err := r.commits(ctx, spec)
		if err != nil {
			return nil, err
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

// commits are those of a range, oldest first, or a single one.
func (r *Repo) commits(ctx context.Context, spec string) ([]string, error) {
	from, to, isRange := strings.Cut(spec, "..")
	first, err := r.Commit(ctx, from)
	if err != nil || !isRange {
		return []string{first}, err
	}
	last, err := r.Commit(ctx, strings.TrimPrefix(to, "."))
	if err != nil {
		return nil, err
	}
	commits, err := r.lines(ctx, "rev-list", "--reverse", "--no-merges", first+".."+last)
	if err == nil && len(commits) == 0 {
		err = &Error{Kind: UnknownRef, Reason: fmt.Sprintf("there are no commits in %s: a range goes from an older commit, exclusive, to a newer one", spec)}
	}
	return commits, err
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
		return false, &Error{Kind: Other, Reason: fmt.Sprintf("%s is a merge commit, which cannot be picked: merge it (step git_merge), or list its commits", Short(commit))}
	}
	// Only the commit itself is checked, against everything that tip has and the commit's
	// parent does not.
	left, err := r.run(ctx, "rev-list", "--cherry-pick", "--right-only", "--no-merges", tip+"..."+commit, "^"+commit+"^")
	return err == nil && !strings.Contains(left, commit), err
}

// orAbort aborts a conflicting operation, so the working tree is restored, and returns
// the files concerned.
func (r *Repo) orAbort(ctx context.Context, err error, operation string) error {
	if err == nil || r.InProgress() == "" {
		return err
	}
	// Also if the person has given up: a half-finished merge must not be left behind.
	ctx = context.WithoutCancel(ctx)
	files, _ := r.list(ctx, "diff", "--name-only", "--diff-filter=U", "-z")
	_, abortErr := r.run(ctx, operation, "--abort")
	if len(files) == 0 || errors.Is(err, context.Canceled) {
		return errors.Join(err, abortErr)
	}
	failed := &Error{Kind: Conflict, Files: files, Reason: fmt.Sprintf("%s conflicts, and %s was left unchanged; in conflict", operation, r.Top)}
	if abortErr != nil {
		failed.Reason = fmt.Sprintf("%s conflicts, and could not be aborted (%v): clean up %s by hand; in conflict", operation, abortErr, r.Top)
	}
	return failed
}

// Applied reports whether a patch is already in the working tree.
func (r *Repo) Applied(ctx context.Context, patch string) bool {
	_, err := r.run(ctx, "apply", "--reverse", "--check", patch)
	return err == nil
}

// Apply applies a patch file to the working tree, completely or not at all. threeWay
// falls back to a merge if lines have moved; that needs the blobs that the patch was made
// from, and leaves the result in the index too.
func (r *Repo) Apply(ctx context.Context, patch string, threeWay bool) error {
	if !threeWay {
		_, err := r.run(ctx, "apply", "--verbose", patch)
		return rejected(err, r.Top)
	}
	// First in a separate index, where a conflict does no harm.
	aside, err := r.aside(ctx)
	if err != nil {
		return err
	}
	defer aside.remove()
	if _, err := aside.run(ctx, "apply", "--3way", "--cached", patch); err != nil {
		files, _ := aside.list(ctx, "diff", "--cached", "--name-only", "--diff-filter=U", "-z")
		if len(files) > 0 {
			return &Error{Kind: Conflict, Files: files, Reason: "the patch conflicts, and " + r.Top + " was left unchanged; in conflict"}
		}
		return rejected(err, r.Top)
	}
	_, err = r.run(ctx, "apply", "--3way", patch)
	return rejected(err, r.Top)
}

// refused are git apply's lines about files that a patch does not fit.
var refused = regexp.MustCompile(`(?m)^error: (?:patch failed: (.+):[0-9]+|(.+): (?:patch does not apply|does not exist in index|No such file or directory|already exists in (?:index|working directory)|does not match index|cannot read the current contents.*))$`)

// rejected turns git apply's complaint into a conflict with its files.
func rejected(err error, top string) error {
	e, ok := err.(*Error)
	if !ok || e.message == "" {
		return err
	}
	var files []string
	for _, m := range refused.FindAllStringSubmatch(e.message, -1) {
		if file := m[1] + m[2]; !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	switch {
	case len(files) > 0:
		return &Error{Kind: Conflict, Args: e.Args, Exit: e.Exit, Files: files, Reason: "the patch does not apply, and " + top + " was left unchanged; where it does not"}
	case strings.Contains(e.message, "No valid patches in input") || strings.Contains(e.message, "unrecognized input"):
		return &Error{Kind: Conflict, Args: e.Args, Exit: e.Exit, Reason: "the file is not a patch that git can read: make one with git diff or git format-patch"}
	}
	return err
}

// PatchFile is what is wrong with a patch file; nil if it can be read.
func PatchFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return &Error{Kind: Other, Reason: "cannot read the patch: " + err.Error()}
	}
	return f.Close()
}
