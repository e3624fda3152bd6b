package work

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/mxflow/mxflow/engine/git"
	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
	"github.com/mxflow/mxflow/plans"
	"github.com/mxflow/mxflow/runtime"
)

var gitMergeKind = gitKind(
	"Merges a commit into the checked-out branch. If files conflict, it fails, names them, and leaves the repository as it was.",
	`step "git_merge" "kernels" {
  repo   = "~/projects/vllm"
  branch = "mxfp4_v2"
  from   = "upstream/main"
}`,
	func(*Site) gitAction { return &gitMerge{} },
	plans.Attr{Name: "from", Type: plans.String, Required: true, Doc: "What is merged: a branch, a tag, a SHA, a branch of a remote. When it moves, the step runs again."},
	plans.Attr{Name: "branch", Type: plans.String, Doc: "The branch that must be checked out. Without it, any."},
	plans.Attr{Name: "message", Type: plans.String, Doc: "Message of the merge commit. Without it, git's own."},
	plans.Attr{Name: "fast_forward", Type: plans.Bool, Default: true, Doc: "Fast-forwards if possible; false always makes a merge commit."},
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

// cutGoal splits "branch@commit"; the branch is empty for a detached HEAD.
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

var gitCherryPickKind = gitKind(
	"Applies commits on top of the checked-out branch: all, or none if one conflicts; then it fails, names the files, and leaves the repository as it was. Commits whose change is already there are skipped.",
	`step "git_cherry_pick" "sinks" {
  repo    = "~/projects/vllm"
  branch  = "mxfp4_v2"
  commits = ["a1b2c3d", "main..attention-sinks"]
}`,
	func(*Site) gitAction { return &gitCherryPick{} },
	plans.Attr{Name: "commits", Type: plans.Strings, Required: true, Doc: "Commits in this order, and ranges such as `main..topic`: commits in topic but not in main, oldest first, without merges."},
	plans.Attr{Name: "branch", Type: plans.String, Doc: "The branch that must be checked out. Without it, any."},
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

// holds looks for the picked result first: a commit whose conflicting surroundings have
// changed since is there all the same.
func (c *gitCherryPick) holds(ctx context.Context, r *git.Repo, goal string) verdict.Reason {
	branch, result := cutGoal(goal)
	tip := tipOf(ctx, r, branch)
	if tip == "" {
		return verdict.New(code.RefGone).On(orHead(branch))
	}
	missing, err := r.Missing(ctx, tip, c.Commits)
	switch {
	case err != nil:
		// The picked ref may be gone; the result is not.
		if r.Contains(ctx, tip, result) {
			return verdict.Reason{}
		}
		return verdict.New(code.GitRefused, verdict.Err(err))
	case len(missing) > 0:
		return verdict.New(code.ChangeLacking, verdict.Text("commit", git.Short(missing[0]))).On(orHead(branch))
	}
	return verdict.Reason{}
}

var gitApplyKind = gitKind(
	"Applies a patch file to the files of the repository, entirely or not at all; nothing is committed. A patch that is already applied is left alone.",
	`step "git_apply" "tuning" {
  repo  = "~/projects/vllm"
  patch = "patches/moe-tiles.patch"
}`,
	func(l *Site) gitAction { return &gitApply{site: l} },
	plans.Attr{Name: "patch", Type: plans.String, Required: true, Doc: "The patch, as from git diff or git format-patch, relative to the plan's folder. Its paths start at the repository's root."},
	plans.Attr{Name: "three_way", Type: plans.Bool, Default: false, Doc: "Merges if lines have moved. This needs the versions that the patch was made from, and stages the result."},
)

type gitApply struct {
	site     *Site
	Patch    string `json:"patch"`
	ThreeWay bool   `json:"three_way"`
}

// input is the patch itself: another one under the same name is another step.
func (c *gitApply) input() string { return runtime.FileDigest(c.site.Plan.Abs(c.Patch)) }

func (c *gitApply) do(ctx context.Context, r *git.Repo) (string, []verdict.Reason, error) {
	path := c.site.Plan.Abs(c.Patch)
	if err := git.PatchFile(path); err != nil {
		return "", nil, err
	}
	head, _, err := r.Head(ctx)
	if err != nil {
		return "", nil, err
	}
	if r.Applied(ctx, path) {
		return head, didTo(c.Patch, code.PatchAlready, verdict.Text("at", git.Short(head))), nil
	}
	if err := r.Idle(); err != nil {
		return "", nil, err
	}
	if err := r.Apply(ctx, path, c.ThreeWay); err != nil {
		return "", nil, err
	}
	return head, didTo(c.Patch, code.PatchApplied, verdict.Text("sha256", c.input()), at(ctx, r, head)), nil
}

func (c *gitApply) holds(ctx context.Context, r *git.Repo, _ string) verdict.Reason {
	if r.Applied(ctx, c.site.Plan.Abs(c.Patch)) {
		return verdict.Reason{}
	}
	return verdict.New(code.PatchGone, verdict.Text("repo", filepath.Base(r.Top))).On(c.Patch)
}
