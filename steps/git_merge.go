package steps

import (
	"context"
	"strings"

	"github.com/mxflow/mxflow/engine/git"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
)

var gitMergeKind = gitKind(
	"Merges a commit into the branch that is checked out. Where files conflict it fails, names them, and leaves the repository as it was.",
	`step "git_merge" "kernels" {
  repo   = "~/projects/vllm"
  branch = "mxfp4_v2"
  from   = "upstream/main"
}`,
	func(*Site) gitAction { return &gitMerge{} },
	plans.Attr{Name: "from", Type: plans.String, Required: true, Doc: "What is merged: a branch, a tag, a SHA, a branch of a remote. When it moves, the step runs again."},
	plans.Attr{Name: "branch", Type: plans.String, Doc: "The branch that has to be checked out. Without it, whatever is."},
	plans.Attr{Name: "message", Type: plans.String, Doc: "Message of the merge commit. Without it, git's own."},
	plans.Attr{Name: "fast_forward", Type: plans.Bool, Default: true, Doc: "Moves the branch along where it has nothing of its own; false always makes a merge commit."},
)

type gitMerge struct {
	From        string `json:"from"`
	Branch      string `json:"branch"`
	Message     string `json:"message"`
	FastForward bool   `json:"fast_forward"`
}

func (c *gitMerge) do(ctx context.Context, r *git.Repo) (string, []verdict.Reason, error) {
	head, branch, err := onBranch(ctx, r, c.Branch)
	if err != nil {
		return "", nil, err
	}
	from, err := r.Commit(ctx, c.From)
	if err != nil {
		return "", nil, err
	}
	if r.Contains(ctx, head, from) {
		return branch + "@" + from, didTo(orHead(branch), code.HasAlready, at(ctx, r, from), verdict.Text("from", c.From)), nil
	}
	if err := r.Settled(ctx); err != nil {
		return "", nil, err
	}
	if err := r.Merge(ctx, from, c.Message, c.FastForward); err != nil {
		return "", nil, err
	}
	after, _, err := r.Head(ctx)
	return branch + "@" + from, didTo(orHead(branch), code.Merged, at(ctx, r, from), verdict.Text("from", c.From), verdict.Text("before", head), verdict.Text("after", after)), err
}

func (c *gitMerge) holds(ctx context.Context, r *git.Repo, goal string) verdict.Reason {
	branch, merged := cutGoal(goal)
	tip := tipOf(ctx, r, branch)
	if tip == "" || !r.Contains(ctx, tip, merged) {
		return verdict.New(code.RefLacks, verdict.Text("commit", git.Short(merged))).On(orHead(branch))
	}
	if now, err := r.Commit(ctx, c.From); err == nil && !r.Contains(ctx, tip, now) {
		return verdict.New(code.RefMoved, verdict.Text("before", git.Short(merged)), verdict.Text("after", git.Short(now))).On(c.From)
	}
	return verdict.Reason{}
}

// cutGoal takes "branch@commit" apart; the branch is empty for a detached HEAD.
func cutGoal(goal string) (branch, commit string) {
	i := strings.LastIndexByte(goal, '@')
	return goal[:max(i, 0)], goal[i+1:]
}

func orHead(branch string) string {
	if branch == "" {
		return "HEAD"
	}
	return "branch " + branch
}
