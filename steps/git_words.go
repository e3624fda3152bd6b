package steps

import (
	"context"
	"fmt"

	"github.com/mxflow/mxflow/engine/git"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

// didTo is what a step did to a branch, a tag, a folder.
func didTo(subject string, c code.Code, args ...verdict.Arg) []verdict.Reason {
	return []verdict.Reason{verdict.New(c, args...).On(subject)}
}

// at is where a reason says that something is.
func at(ctx context.Context, r *git.Repo, commit string) verdict.Arg {
	return verdict.Text("at", named(ctx, r, commit))
}

// named is a commit with its subject line.
func named(ctx context.Context, r *git.Repo, commit string) string {
	if subject := r.Subject(ctx, commit); subject != "" {
		return fmt.Sprintf("%s (%s)", commit, subject)
	}
	return commit
}

// onBranch is an error where another branch is checked out than the plan wants;
// empty wants none in particular.
func onBranch(ctx context.Context, r *git.Repo, want string) (head, branch string, err error) {
	head, branch, err = r.Head(ctx)
	switch {
	case err != nil:
		return head, branch, err
	case head == "":
		return head, branch, &git.Error{Kind: git.UnknownRef, Reason: r.Top + " has no commits yet"}
	case want != "" && branch != want:
		is := "branch " + branch
		if branch == "" {
			is = "no branch (detached at " + git.Short(head) + ")"
		}
		err = &git.Error{Kind: git.Busy, Reason: fmt.Sprintf("%s is on %s, and the plan wants branch %s: check it out first (step git_checkout)", r.Top, is, want)}
	}
	return head, branch, err
}

// tipOf is the commit of a goal's branch, or of HEAD where it names none.
func tipOf(ctx context.Context, r *git.Repo, branch string) string {
	if branch != "" {
		return r.Branch(ctx, branch)
	}
	head, _, _ := r.Head(ctx)
	return head
}
