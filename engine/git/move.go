package git

import (
	"context"
	"fmt"
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

// FetchBranch updates the remote branch of a remote's branch, and returns its commit.
// Local branches are left alone.
func (r *Repo) FetchBranch(ctx context.Context, remote, branch string) (string, error) {
	tracking := "refs/remotes/" + remote + "/" + branch
	if _, err := r.run(ctx, "fetch", "--no-tags", "--no-write-fetch-head", "--end-of-options", remote, "+refs/heads/"+branch+":"+tracking); err != nil {
		return "", err
	}
	return r.Commit(ctx, tracking)
}

// Checkout switches the working tree to a branch. git refuses if that would overwrite
// something uncommitted.
func (r *Repo) Checkout(ctx context.Context, branch string) error {
	_, err := r.run(ctx, "checkout", "--no-guess", branch, "--")
	return err
}

// CreateTag creates a tag, with a message if given.
func (r *Repo) CreateTag(ctx context.Context, name, commit, message string) error {
	args := []string{"tag"}
	if message != "" {
		args = append(args, "--annotate", "--message="+message)
	}
	_, err := r.run(ctx, append(args, "--end-of-options", name, commit)...)
	return err
}
