package git

import (
	"context"
	"fmt"
	"regexp"
	"strings"
)

// fetched is where commits of the remote that belong to no branch of it are
// kept, so that git does not clean them away.
const fetched = "refs/mxflow/remotes"

// request is how forges name the commits of a pull or merge request.
var request = regexp.MustCompile(`^(?:refs/)?((?:pull|merge-requests)/[0-9]+/(?:head|merge))$`)

// IsRequest reports whether a name is that of a pull or merge request.
func IsRequest(name string) bool { return request.MatchString(name) }

// FetchRequest fetches the commits of a pull or merge request ("pull/31740/head")
// and returns the last one.
func (r *Repo) FetchRequest(ctx context.Context, remote, name string) (string, error) {
	m := request.FindStringSubmatch(name)
	if m == nil {
		return "", &Error{Kind: UnknownRef, Reason: fmt.Sprintf("%q is no pull request: it is written as pull/31740/head", name)}
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

// Fetched is the commit of a request that FetchRequest fetched before; empty
// where it did not.
func (r *Repo) Fetched(ctx context.Context, remote, name string) string {
	if m := request.FindStringSubmatch(name); m != nil {
		return r.ref(ctx, fetched+"/"+remote+"/"+m[1])
	}
	return ""
}

// Remotes are the names of the repository's remotes.
func (r *Repo) Remotes(ctx context.Context) ([]string, error) { return lines(r.run(ctx, "remote")) }

func (r *Repo) checkRemote(ctx context.Context, remote string) error {
	names, err := r.Remotes(ctx)
	if err != nil {
		return err
	}
	for _, n := range names {
		if n == remote {
			return nil
		}
	}
	have := "it has none"
	if len(names) > 0 {
		have = "it has " + strings.Join(names, ", ")
	}
	return &Error{Kind: Remote, Reason: fmt.Sprintf("%s has no remote %q (%s): add it with git remote add, or correct the name", r.Top, remote, have)}
}

// Moved is a remote branch or tag that a fetch brought or moved.
type Moved struct{ Ref, Before, After string }

// Fetch updates the remote branches of a remote, or only the named ones. Local
// branches are left alone.
func (r *Repo) Fetch(ctx context.Context, remote string, branches []string, tags bool) ([]Moved, error) {
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
	var moved []Moved
	for _, ref := range sortedKeys(after) {
		if before[ref] != after[ref] {
			moved = append(moved, Moved{ref, before[ref], after[ref]})
		}
	}
	return moved, nil
}

func (r *Repo) remoteRefs(ctx context.Context, remote string) (map[string]string, error) {
	list, err := lines(r.run(ctx, "for-each-ref", "--format=%(objectname) %(refname)", "refs/remotes/"+remote, "refs/tags"))
	refs := map[string]string{}
	for _, line := range list {
		sha, ref, _ := strings.Cut(line, " ")
		refs[ref] = sha
	}
	return refs, err
}

// Checkout switches the working tree to a branch, or to a commit with a detached
// HEAD where branch is empty. git refuses where that would overwrite something
// that is not committed.
func (r *Repo) Checkout(ctx context.Context, branch, commit string) error {
	if branch != "" {
		_, err := r.run(ctx, "checkout", "--no-guess", branch, "--")
		return err
	}
	_, err := r.run(ctx, "checkout", "--no-guess", "--detach", commit, "--")
	return err
}

// CreateTag makes a tag, with a message where it has one. force moves one that
// is there.
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
