package steps

import (
	"context"

	"github.com/mxflow/mxflow/engine/git"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
)

var gitCherryPickKind = gitKind(
	"Applies commits on top of the branch that is checked out: all of them, or none where one conflicts; then it fails, names the files, and leaves the repository as it was. Commits whose change is there already are left out.",
	`step "git_cherry_pick" "sinks" {
  repo    = "~/projects/vllm"
  branch  = "mxfp4_v2"
  commits = ["a1b2c3d", "main..attention-sinks"]
}`,
	func(*Site) gitAction { return &gitCherryPick{} },
	plans.Attr{Name: "commits", Type: plans.Strings, Required: true, Doc: "Commits in this order, and ranges such as `main..topic`: what topic has and main has not, oldest first, without merges."},
	plans.Attr{Name: "branch", Type: plans.String, Doc: "The branch that has to be checked out. Without it, whatever is."},
)

type gitCherryPick struct {
	Commits []string `json:"commits"`
	Branch  string   `json:"branch"`
}

func (c *gitCherryPick) do(ctx context.Context, r *git.Repo) (string, []verdict.Reason, error) {
	head, branch, err := onBranch(ctx, r, c.Branch)
	if err != nil {
		return "", nil, err
	}
	missing, err := r.Missing(ctx, head, c.Commits)
	if err != nil {
		return "", nil, err
	}
	if len(missing) == 0 {
		return branch + "@" + head, didTo(orHead(branch), code.HasAll, at(ctx, r, head)), nil
	}
	if err := r.Settled(ctx); err != nil {
		return "", nil, err
	}
	if err := r.CherryPick(ctx, missing); err != nil {
		return "", nil, err
	}
	after, _, err := r.Head(ctx)
	reasons := didTo(orHead(branch), code.RefMoved, verdict.Text("before", head), verdict.Text("after", after))
	for i, sha := range missing {
		if i == 10 {
			reasons = append(reasons, verdict.New(code.AndMore, verdict.Int("more", len(missing)-i)))
			break
		}
		reasons = append(reasons, verdict.New(code.Picked, at(ctx, r, sha)))
	}
	return branch + "@" + after, reasons, err
}

// holds looks for the picked result first: a commit whose conflicting
// neighbourhood changed since is there all the same.
func (c *gitCherryPick) holds(ctx context.Context, r *git.Repo, goal string) verdict.Reason {
	branch, result := cutGoal(goal)
	tip := tipOf(ctx, r, branch)
	if tip == "" {
		return verdict.New(code.RefGone).On(orHead(branch))
	}
	missing, err := r.Missing(ctx, tip, c.Commits)
	switch {
	case err != nil:
		// What was picked may have lost its name since; the result has not.
		if r.Contains(ctx, tip, result) {
			return verdict.Reason{}
		}
		return verdict.New(code.GitRefused, verdict.Err(err))
	case len(missing) > 0:
		return verdict.New(code.ChangeLacking, verdict.Text("commit", git.Short(missing[0]))).On(orHead(branch))
	}
	return verdict.Reason{}
}
